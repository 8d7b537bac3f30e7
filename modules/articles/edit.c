/*
 * PUT and PATCH /articles/:id, where the layer has edit = true.
 *
 * One write merges what the body gives into what is there: of those who edit
 * an article at the same time each changes what the one before it left.  With
 * a condition that names editions the article is read first, and written if
 * nobody has changed it in between; if somebody has, all of it again.
 *
 * PATCH takes a merge patch (RFC 7396) of what PUT takes: members that are
 * there are changed, the others stay, those of author too; null takes one
 * away, so what is required cannot be null.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "answer.h"
#include "base/clock.h"
#include "write.h"

#define ROUNDS 20 /* of reading and writing, while others edit it too */

struct edit {
    struct ask ask;
    struct draft given; /* by the body */
    struct store_value id;
    struct article article; /* as it has become */
    int64_t edition, author_edition;
    int64_t now;
    size_t shown_at; /* the step that shows it */
    int rounds;      /* 0: there is no condition to look at */
};

static void look(struct edit *e);

/* ---- the answers ---- */

static enum http_result
answer_taken(struct ask *a)
{
    return answer_refuse(a->request, ARTICLES_REFUSED_TITLE, 409, ANSWER_TAKEN,
                         "another article has this title");
}

static enum http_result
answer_edited(struct ask *a)
{
    const struct edit *e = (const struct edit *)a;
    struct http_request *r = a->request;
    bool envelope = a->layer->settings->envelope;
    struct article_links links = { STR_NONE, STR_NONE };
    struct tag tag;
    struct buf *body = answer_body();

    metric_add(&articles_metrics[ARTICLES_CHANGED], ARTICLES_EDITED, 1);
    tag_of_item(&tag, e->edition, e->author_edition, a->format, envelope);
    http_set_header(r, "ETag", str_from(tag.text));
    if (envelope) {
        links.self = answer_link(r, STR_NONE);
    }
    int written =
        a->format->write_article(body, &e->article, envelope ? &links : NULL);

    return answer_send(a, 200, body, written);
}

/* ---- writing ---- */

static void
take(struct edit *e, const struct store_value *cells)
{
    e->article = ask_take_article(e->ask.request->pool, cells);
    if (e->given.has_content) {
        e->article.content = e->given.content;
    }
    e->edition = cells[ITEM_EDITION].n;
    e->author_edition = cells[ITEM_AUTHOR_EDITION].n;
}

static void
on_written(void *arg, const struct store_result *r)
{
    struct edit *e = arg;

    if (!ask_decided(&e->ask, r)) {
        return;
    }
    if (r->status == STORE_OK && r->answer[e->shown_at].rows > 0) {
        take(e, r->answer[e->shown_at].cells);
        ask_go_on(&e->ask, answer_edited);
    } else if (r->status == STORE_CONFLICT) {
        ask_go_on(&e->ask, answer_taken);
    } else if (e->rounds == 0) {
        ask_go_on(&e->ask, answer_missing);
    } else if (e->rounds < ROUNDS) {
        look(e);
    } else {
        ask_go_on(&e->ask, answer_race);
    }
}

/* If it has that edition; NULL: whichever it has. */
static void
write_it(struct edit *e, struct store_value edition)
{
    struct write_steps *w = pool_zero(e->ask.request->pool, sizeof(*w));
    const struct draft *d = &e->given;
    struct store_value *v;

    if (d->author_id != 0) {
        write_author(w, d, e->now);
    }
    v = write_step(w, SQL_EDIT, 10, true);
    write_article(v, d, ask_edition());
    v[7] = e->id;
    v[8] = edition;
    v[9] = store_int(e->now);
    if (d->author_id == 0 && d->author_name.len > 0) {
        write_name(w, d, e->id, e->now);
    }
    e->shown_at = w->count;
    v = write_step(w, SQL_EDITED, 2, false);
    v[0] = e->id;
    v[1] = store_int(!d->has_content);
    e->ask.call = store_write(w->steps, w->count, NULL, on_written, e);
}

/* ---- reading ---- */

static void
on_looked(void *arg, const struct store_result *r)
{
    struct edit *e = arg;
    const struct store_value *cells;
    struct tag tag;

    if (!ask_succeeded(&e->ask, r)) {
        return;
    }
    if (r->answer[0].rows == 0) {
        ask_go_on(&e->ask, answer_missing);
        return;
    }
    cells = r->answer[0].cells;
    tag_of_item(&tag, cells[ITEM_EDITION].n, cells[ITEM_AUTHOR_EDITION].n,
                e->ask.format, e->ask.layer->settings->envelope);
    if (!tag_is_expected(e->ask.request, &tag) ||
        tag_is_known(e->ask.request, &tag)) {
        ask_go_on(&e->ask, answer_condition);
        return;
    }
    write_it(e, cells[ITEM_EDITION]);
}

static void
look(struct edit *e)
{
    e->rounds++;
    e->ask.call =
        store_read(&articles_statements[SQL_ITEM], &e->id, 1, on_looked, e);
}

/* ---- requests ---- */

static enum http_result
serve(struct http_request *r, void *state, bool patch)
{
    struct edit *e = r->context;

    if (e != NULL) {
        return e->ask.answer(&e->ask);
    }
    if (!answer_may_write(r, state)) {
        return HTTP_DONE;
    }
    e = ask_begin(r, state, sizeof(*e));
    if (!answer_choose(&e->ask)) {
        return HTTP_DONE;
    }
    e->id = store_int(0);
    if (!ask_id(r, &e->id.n)) {
        return answer_not_found(r);
    }
    if (!input_take(r, state, patch, &e->given)) {
        return HTTP_DONE;
    }
    e->now = clock_wall_ms() / 1000;
    if (tag_is_asked_for(r)) {
        look(e);
    } else {
        write_it(e, (struct store_value){ .type = STORE_NULL });
    }
    return HTTP_WAIT;
}

enum http_result
articles_put(struct http_request *r, void *state)
{
    return serve(r, state, false);
}

enum http_result
articles_patch(struct http_request *r, void *state)
{
    return serve(r, state, true);
}

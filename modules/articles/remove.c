/*
 * DELETE /articles/:id.
 *
 * With If-Match or If-None-Match the article is looked at first, and removed
 * only if it still is what was looked at.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "answer.h"

#define ROUNDS 5 /* of looking and removing, while others edit it */

struct removal {
    struct ask ask;
    struct store_value id, edition;
    int rounds;
};

static void look(struct removal *d);

/* ---- the answers ---- */

static enum http_result
answer_removed(struct ask *a)
{
    answer_set_headers(a->request);
    return http_reply(a->request, 204, NULL, STR_NONE);
}

/* ---- what the store says ---- */

static void
on_removed(void *arg, const struct store_result *r)
{
    struct removal *d = arg;

    if (!ask_decided(&d->ask, r)) {
        return;
    }
    if (r->status == STORE_OK) {
        metric_add(&articles_metrics[ARTICLES_CHANGED], ARTICLES_DELETED, 1);
        ask_go_on(&d->ask, answer_removed);
    } else if (d->rounds == 0) {
        ask_go_on(&d->ask, answer_missing);
    } else if (d->rounds < ROUNDS) {
        look(d);
    } else {
        ask_go_on(&d->ask, answer_race);
    }
}

static void
remove_it(struct removal *d, enum articles_statement how, size_t count)
{
    const struct store_value params[] = { d->id, d->edition };
    const struct store_step step = { &articles_statements[how], params, count,
                                     true };

    d->ask.call = store_write(&step, 1, NULL, on_removed, d);
}

static void
on_looked(void *arg, const struct store_result *r)
{
    struct removal *d = arg;
    const struct store_value *cells;
    struct tag tag;

    if (!ask_succeeded(&d->ask, r)) {
        return;
    }
    if (r->answer[0].rows == 0) {
        ask_go_on(&d->ask, answer_missing);
        return;
    }
    cells = r->answer[0].cells;
    d->edition = cells[ITEM_EDITION];
    tag_of_item(&tag, d->edition.n, cells[ITEM_AUTHOR_EDITION].n, d->ask.format,
                d->ask.layer->settings->envelope);
    if (!tag_is_expected(d->ask.request, &tag) ||
        tag_is_known(d->ask.request, &tag)) {
        ask_go_on(&d->ask, answer_condition);
        return;
    }
    remove_it(d, SQL_REMOVE_EDITION, 2);
}

static void
look(struct removal *d)
{
    d->rounds++;
    d->ask.call =
        store_read(&articles_statements[SQL_ITEM], &d->id, 1, on_looked, d);
}

enum http_result
articles_remove(struct http_request *r, void *state)
{
    struct removal *d = r->context;

    if (d != NULL) {
        return d->ask.answer(&d->ask);
    }
    if (!answer_may_write(r, state)) {
        return HTTP_DONE;
    }
    d = ask_begin(r, state, sizeof(*d));
    d->ask.format = article_formats[0];
    d->id = store_int(0);
    if (!ask_id(r, &d->id.n)) {
        return answer_not_found(r);
    }
    if (tag_is_asked_for(r)) {
        look(d);
    } else {
        remove_it(d, SQL_REMOVE, 1);
    }
    return HTTP_WAIT;
}

/*
 * POST /articles.
 *
 * All that a new article needs is one write: its author, if there is none of
 * that id yet, the article, and a record for its Idempotency-Key.  The database
 * keeps titles unique.
 *
 * The record has those parts of the answer that are not in the body, which has
 * to be the same when it comes again.  Only created articles have one: a client
 * that was refused may try again.  A key that is used twice at the same time
 * creates one article, and both get the answer.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <string.h>

#include "answer.h"
#include "base/clock.h"
#include "net/sha256.h"
#include "write.h"

#define KEY_MAX 255 /* bytes of an Idempotency-Key */
#define HEX_DIGEST (2 * DIGEST_SHA256 + 1)

struct post {
    struct ask ask;
    struct draft draft;
    int64_t edition;
    int64_t now;   /* s since 1970 */
    bool keyed;    /* with an Idempotency-Key */
    bool replayed; /* it had been created before */
    char key[HEX_DIGEST], print[HEX_DIGEST];
    size_t added_at,
        author_at; /* the steps with the article's id, its author */
    struct article article;
    int64_t author_edition;
};

/* ---- the answers ---- */

static enum http_result
answer_created(struct ask *a)
{
    const struct post *p = (const struct post *)a;
    struct http_request *r = a->request;
    bool envelope = a->layer->settings->envelope;
    struct str path = answer_item_path(r, p->article.id);
    const struct article_links links = { path, STR_NONE };
    struct tag tag;
    struct buf *body = answer_body();

    metric_add(&articles_metrics[ARTICLES_CHANGED],
               p->replayed ? ARTICLES_REPLAYED : ARTICLES_CREATED, 1);
    tag_of_item(&tag, p->edition, p->author_edition, a->format, envelope);
    http_set_header(r, "ETag", str_from(tag.text));
    http_set_header(r, "Location", http_absolute(r, path));
    if (p->replayed) {
        http_set_header(r, "Idempotent-Replayed", STR("true"));
    }
    int written =
        a->format->write_article(body, &p->article, envelope ? &links : NULL);

    return answer_send(a, 201, body, written);
}

static enum http_result
answer_taken(struct ask *a)
{
    return answer_refuse(a->request, ARTICLES_REFUSED_TITLE, 409, ANSWER_TAKEN,
                         "an article with this title exists");
}

static enum http_result
answer_other_body(struct ask *a)
{
    return answer_refuse(a->request, ARTICLES_REFUSED_KEY, 422,
                         "Idempotency-Key was used with another body", NULL);
}

/* ---- what the store says ---- */

static void
on_posted(void *arg, const struct store_result *r)
{
    struct post *p = arg;
    const struct store_value *cells;
    struct str content = p->draft.content;

    if (!ask_succeeded(&p->ask, r)) {
        return;
    }
    if (r->answer[0].rows == 0) {
        ask_go_on(&p->ask, answer_taken);
        return;
    }
    cells = r->answer[0].cells;
    if (!str_eq(cells[POSTED_PRINT].s, str_from(p->print))) {
        ask_go_on(&p->ask, answer_other_body);
        return;
    }
    cells += POSTED_ITEM;
    p->article = (struct article){
        .id = cells[ITEM_ID].n,
        .title = p->draft.title,
        .content = content,
        .author = ask_take_author(p->ask.request->pool, &cells[ITEM_AUTHOR_ID]),
        .created_at = cells[ITEM_CREATED_AT].n,
        .updated_at = cells[ITEM_UPDATED_AT].n,
    };
    p->edition = cells[ITEM_EDITION].n;
    p->author_edition = cells[ITEM_AUTHOR_EDITION].n;
    p->replayed = true;
    ask_go_on(&p->ask, answer_created);
}

static int64_t
oldest_post(const struct post *p)
{
    return p->now - p->ask.layer->settings->idempotency_time / 1000;
}

static void
look_for_post(struct post *p)
{
    const struct store_value params[] = { store_text(str_from(p->key)),
                                          store_int(oldest_post(p)) };

    p->ask.call =
        store_read(&articles_statements[SQL_POSTED], params, 2, on_posted, p);
}

static void
on_added(void *arg, const struct store_result *r)
{
    struct post *p = arg;
    const struct draft *d = &p->draft;
    const struct store_value *author;

    if (!ask_decided(&p->ask, r)) {
        return;
    }
    if (r->status != STORE_OK && p->keyed) {
        look_for_post(p);
        return;
    }
    if (r->status != STORE_OK) {
        ask_go_on(&p->ask, answer_taken);
        return;
    }
    author = r->answer[p->author_at].cells;
    p->article = (struct article){
        .id = r->answer[p->added_at].cells[0].n,
        .title = d->title,
        .content = d->content,
        .author = ask_take_author(p->ask.request->pool, author),
        .created_at = d->created_at,
        .updated_at = d->updated_at,
    };
    p->author_edition = author[AUTHOR_EDITION].n;
    ask_go_on(&p->ask, answer_created);
}

/* ---- what it is asked ---- */

static void
add(struct post *p)
{
    struct write_steps *w = pool_zero(p->ask.request->pool, sizeof(*w));
    struct store_value *v;

    if (p->keyed) {
        v = write_step(w, SQL_FORGET_POSTS, 2, false);
        v[0] = store_text(str_from(p->key));
        v[1] = store_int(oldest_post(p));
    }
    write_author(w, &p->draft, p->now);
    p->added_at = w->count;
    write_article(write_step(w, SQL_ADD, 7, false), &p->draft, p->edition);
    p->author_at = w->count;
    write_step(w, SQL_AUTHOR, 1, false)[0] = store_int(p->draft.author_id);
    if (p->keyed) {
        v = write_step(w, SQL_REMEMBER_POST, 4, true);
        v[0] = store_text(str_from(p->key));
        v[1] = store_text(str_from(p->print));
        v[2] = store_int(p->now);
        v[3] = store_text(p->draft.title);
    }
    p->ask.call = store_write(w->steps, w->count, NULL, on_added, p);
}

/* Of a text, and of what has the digest at the end of sum. */
static void
write_digest(char dst[HEX_DIGEST], struct str a, uint8_t sum[2 * DIGEST_SHA256])
{
    digest_sha256(a.ptr, a.len, sum);
    digest_sha256(sum, 2 * DIGEST_SHA256, sum);
    str_hex(dst, sum, DIGEST_SHA256);
}

/* False: it is answered 400.  The key is kept as a digest, with whom the auth
 * filter let in: one user's is not another's. */
static bool
take_key(struct post *p)
{
    struct http_request *r = p->ask.request;
    const struct str *key = http_header(r, "Idempotency-Key");
    const struct str *type = http_header(r, "Content-Type");
    uint8_t sum[2 * DIGEST_SHA256];

    if (key == NULL) {
        return true;
    }
    if (key->len == 0 || key->len > KEY_MAX) {
        answer_refuse(r, ARTICLES_REFUSED_KEY, 400,
                      "Idempotency-Key must have 1 to 255 bytes", NULL);
        return false;
    }
    p->keyed = true;
    digest_sha256(key->ptr, key->len, sum + DIGEST_SHA256);
    write_digest(p->key, r->user, sum);
    input_digest(r, sum + DIGEST_SHA256);
    write_digest(p->print, type != NULL ? *type : STR_NONE, sum);
    return true;
}

enum http_result
articles_post(struct http_request *r, void *state)
{
    struct post *p = r->context;
    struct draft *d;

    if (p != NULL) {
        return p->ask.answer(&p->ask);
    }
    if (!answer_may_write(r, state)) {
        return HTTP_DONE;
    }
    p = ask_begin(r, state, sizeof(*p));
    d = &p->draft;
    if (!answer_choose(&p->ask) || !input_take(r, state, false, d) ||
        !take_key(p)) {
        return HTTP_DONE;
    }
    p->now = clock_wall_ms() / 1000;
    p->edition = ask_edition();
    d->created_at = d->has_created_at ? d->created_at : p->now;
    d->updated_at = d->has_updated_at ? d->updated_at : p->now;
    d->has_created_at = d->has_updated_at = true;
    add(p);
    return HTTP_WAIT;
}

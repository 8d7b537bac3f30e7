/*
 * Requests that wait for the store, and rows as articles and authors.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "ask.h"

#include "answer.h"
#include "base/rand.h"
#include "net/sha256.h"

static void
on_cancel(void *arg)
{
    struct ask *a = arg;

    if (a->call != NULL) {
        store_cancel(&a->call);
    }
}

void *
ask_begin(struct http_request *r, void *state, size_t size)
{
    struct ask *a = pool_zero(r->pool, size);

    if (str_ends(r->path, STR("/"))) { /* links lead to where it is without */
        r->path = str_first(r->path, r->path.len - 1);
    }
    a->request = r;
    a->layer = state;
    r->context = a;
    http_on_cancel(r, on_cancel, a);
    return a;
}

void
ask_go_on(struct ask *a, enum http_result (*answer)(struct ask *a))
{
    a->answer = answer;
    http_resume(a->request);
}

void
ask_answer(struct ask *a, enum http_result (*answer)(struct ask *a))
{
    a->answer = answer;
    http_resume_now(a->request);
}

static enum http_result
answer_failed(struct ask *a)
{
    return answer_refuse_store(a->request, a->status);
}

bool
ask_decided(struct ask *a, const struct store_result *r)
{
    a->call = NULL;
    a->status = r->status;
    if (r->status == STORE_OK || r->status == STORE_CONFLICT ||
        r->status == STORE_MISSING) {
        return true;
    }
    ask_go_on(a, answer_failed);
    return false;
}

bool
ask_succeeded(struct ask *a, const struct store_result *r)
{
    if (!ask_decided(a, r)) {
        return false;
    }
    if (r->status != STORE_OK) {
        ask_go_on(a, answer_failed);
    }
    return r->status == STORE_OK;
}

/* ---- the secret ---- */

struct secret_wait { /* in the request's pool */
    struct ask *ask;
    void (*done)(struct ask *a);
};

static void
on_secret(void *arg, const struct store_result *r)
{
    const struct secret_wait *w = arg;
    struct ask *a = w->ask;

    if (!ask_succeeded(a, r)) {
        return;
    }
    if (r->answer[0].rows == 0) { /* somebody has deleted it */
        a->status = STORE_FAILED;
        ask_go_on(a, answer_failed);
        return;
    }
    if (a->layer->secret == NULL) { /* requests may ask together */
        struct str secret = r->answer[0].cells[0].s;

        a->layer->secret = digest_key_new(secret.ptr, secret.len);
    }
    w->done(a);
}

bool
ask_secret(struct ask *a, void (*done)(struct ask *a))
{
    struct secret_wait *w;

    if (a->layer->secret != NULL) {
        return false;
    }
    w = pool_alloc(a->request->pool, sizeof(*w));
    *w = (struct secret_wait){ a, done };
    a->call =
        store_read(&articles_statements[SQL_SECRET], NULL, 0, on_secret, w);
    return true;
}

/* ---- rows ---- */

struct author
ask_author(const struct store_value *cells)
{
    return (struct author){
        .id = cells[AUTHOR_ID].n,
        .name = cells[AUTHOR_NAME].s,
        .created_at = cells[AUTHOR_CREATED_AT].n,
        .updated_at = cells[AUTHOR_UPDATED_AT].n,
    };
}

struct article
ask_article(const struct store_value *cells)
{
    return (struct article){
        .id = cells[ITEM_ID].n,
        .title = cells[ITEM_TITLE].s,
        .content = cells[ITEM_CONTENT].s,
        .author = ask_author(&cells[ITEM_AUTHOR_ID]),
        .created_at = cells[ITEM_CREATED_AT].n,
        .updated_at = cells[ITEM_UPDATED_AT].n,
    };
}

struct author
ask_take_author(struct pool *pool, const struct store_value *cells)
{
    struct author a = ask_author(cells);

    a.name = pool_str(pool, a.name);
    return a;
}

struct article
ask_take_article(struct pool *pool, const struct store_value *cells)
{
    struct article a = ask_article(cells);

    a.title = pool_str(pool, a.title);
    a.content = pool_str(pool, a.content);
    a.author.name = pool_str(pool, a.author.name);
    return a;
}

bool
ask_id(const struct http_request *r, int64_t *id)
{
    return str_to_int(http_param(r, "id"), 1, INT64_MAX, id);
}

int64_t
ask_edition(void)
{
    uint64_t n;

    rand_bytes(&n, sizeof(n));
    return (int64_t)(n >> 1);
}

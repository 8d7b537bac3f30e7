/*
 * A request that nobody sent, for the search alone.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/explain.h"

#include "http/exchange.h"
#include "http/path.h"

struct exchange *
http_explain(struct pool *pool, const struct http_question *q)
{
    struct http_connection *c = pool_zero(pool, sizeof(*c));
    struct exchange *x = pool_zero(pool, sizeof(*x));

    c->server = q->server;
    x->c = c;
    x->is_test = true;
    x->head.path = q->path;
    x->head.query = q->query;
    x->pub.pool = pool;
    x->pub.method = STR("GET");
    x->pub.scheme = q->scheme;
    x->pub.host = q->host;
    x->pub.query = q->query;
    x->pub.request_id = STR("0");
    return http_path_decode(pool, q->path, &x->pub.path) == 0 ? x : NULL;
}

static void
set_answer(const struct exchange *x, struct http_step *out)
{
    out->kind = HTTP_STEP_ANSWER;
    out->status = x->reject;
    out->to = x->redirect;
    out->reason = x->reject_text != NULL ? str_from(x->reject_text) : STR_NONE;
}

void
http_explain_next(struct exchange *x, struct http_step *out)
{
    enum http_sought sought;

    if (x->entered) { /* no layer had an answer */
        x->entered = false;
        x->location++;
    }
    sought = http_find(x);
    *out = (struct http_step){
        .location = x->pub.location,
        .path = x->pub.path,
        .query = x->pub.query,
        .layers_path = x->pub.route_path,
    };
    switch (sought) {
    case HTTP_SOUGHT_LOCATION:
        out->kind = HTTP_STEP_LOCATION;
        break;
    case HTTP_SOUGHT_PATH:
        out->kind = HTTP_STEP_REWRITE;
        break;
    case HTTP_SOUGHT_ANSWER:
        set_answer(x, out);
        break;
    case HTTP_SOUGHT_NOTHING:
        out->kind = HTTP_STEP_END;
        break;
    }
}

bool
http_explain_group(const struct exchange *x, size_t i, struct str *name,
                   struct str *value)
{
    const struct http_groups *g = &x->groups;

    if (g->pattern == NULL || i >= regex_groups(g->pattern)) {
        return false;
    }
    *name = regex_group_name(g->pattern, i);
    *value = g->match->groups[i];
    return true;
}

bool
http_explain_return(const struct exchange *x, const struct http_return *r,
                    struct str *to)
{
    *to = STR_NONE;
    return r->to == NULL || http_text_write(x, r->to, HTTP_IN_URL, to);
}

/*
 * Rewrites and returns.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/rewrite.h"

#include "http/filter/filter.h"
#include "http/path.h"

void
http_end_with_redirect(struct exchange *x, int status, struct str to)
{
    x->reject = status;
    x->redirect = to;
}

static enum http_rewritten
end(struct exchange *x, enum http_refusal why)
{
    http_filter_reject(x, why, http_refusal_text(why));
    return HTTP_REWROTE_ENDED;
}

/* The request's own arguments behind those of the rule, unless it ends in
 * '?'. */
static struct str
join_query(struct exchange *x, bool has_own, struct str own)
{
    if (!has_own) {
        return x->pub.query;
    }
    if (own.len == 0 || x->pub.query.len == 0) {
        return own;
    }
    return pool_printf(x->pub.pool, "%.*s&%.*s", STR_ARGS(own),
                       STR_ARGS(x->pub.query));
}

static enum http_rewritten
apply(struct exchange *x, const struct http_rewrite *rule)
{
    struct str to, path, query;
    bool has_own;

    if (!http_text_write(x, rule->to, HTTP_IN_URL, &to)) {
        return end(x, REFUSE_TEXT_LONG);
    }
    has_own = str_find(to, '?', 0) < to.len;
    path = str_cut(&to, '?');
    query = join_query(x, has_own, to);
    if (rule->then != HTTP_THEN_LAST) {
        http_end_with_redirect(
            x, rule->then == HTTP_THEN_REDIRECT ? 302 : 301,
            pool_printf(x->pub.pool, "%.*s%s%.*s", STR_ARGS(path),
                        query.len > 0 ? "?" : "", STR_ARGS(query)));
        return HTTP_REWROTE_ENDED;
    }
    if (++x->rewritten > HTTP_REWRITES_MAX) {
        return end(x, REFUSE_REWRITES);
    }
    if (!str_starts(path, STR("/")) ||
        http_path_decode(x->pub.pool, path, &x->pub.path) == -1) {
        return end(x, REFUSE_PATH);
    }
    x->pub.query = query;
    return HTTP_REWROTE;
}

enum http_rewritten
http_rewrite(struct exchange *x, const struct http_rewrite *rules, size_t count)
{
    struct regex_match m;
    const struct http_groups before = x->groups;

    for (size_t i = 0; i < count; i++) {
        enum http_rewritten result;

        switch (regex_match(rules[i].pattern, x->pub.path, &m)) {
        case REGEX_LIMIT:
            return end(x, REFUSE_PATTERN);
        case REGEX_YES:
            x->groups = (struct http_groups){ rules[i].pattern, &m };
            result = apply(x, &rules[i]);
            x->groups = before;
            return result;
        case REGEX_NO:
            break;
        }
    }
    return HTTP_REWROTE_NOT;
}

bool
http_is_rewritten(const struct http_request *r)
{
    return exchange_of(r)->rewritten > 0;
}

/* ---- a slash more or less ---- */

/* Whether the client wrote the last segment of path as it is.  Another one may
 * have been taken for it: "/a/x//", "/a%2Fx", "/a/x/.". */
static bool
is_written(struct http_request *r, struct str path, bool slash)
{
    struct str written = http_written_path(r), decoded;

    if (slash && !str_ends(written, STR("/"))) {
        return false;
    }
    written = http_path_last(str_first(written, written.len - slash));
    return http_path_decode(r->pool,
                            pool_join(r->pool, STRS(STR("/"), written)),
                            &decoded) == 0 &&
           str_eq(str_skip(decoded, 1), http_path_last(path));
}

struct str
http_slash_location(struct http_request *r)
{
    bool slash = str_ends(r->path, STR("/"));
    struct str path = str_first(r->path, r->path.len - slash);
    bool near = !http_is_rewritten(r) && is_written(r, path, slash);

    path = http_path_encode(r->pool, near ? http_path_last(path) : path);
    return pool_printf(r->pool, "%s%.*s%s%s%.*s",
                       !near   ? ""
                       : slash ? "../"
                               : "./",
                       STR_ARGS(path), slash ? "" : "/",
                       r->query.len > 0 ? "?" : "", STR_ARGS(r->query));
}

/* ---- return ---- */

static enum http_result
on_return(struct http_request *r, void *state)
{
    const struct http_return *s = state;
    struct exchange *x = exchange_of(r);

    struct str to = STR_NONE, text = STR_NONE;

    if ((s->to != NULL && !http_text_write(x, s->to, HTTP_IN_URL, &to)) ||
        (s->text != NULL && !http_text_write(x, s->text, s->place, &text))) {
        http_filter_answer(x, REFUSE_TEXT_LONG,
                           http_refusal_text(REFUSE_TEXT_LONG));
        return HTTP_DONE;
    }
    if (s->to != NULL) {
        http_set_header(r, "Location", to);
    }
    return http_reply(r, s->status, s->text != NULL ? s->type : NULL, text);
}

const struct http_route http_return_routes[] = {
    { .method = "*", .path = "/*", .handler = on_return },
    { .path = NULL },
};

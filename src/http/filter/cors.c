/*
 * CORS: the origins that may read an answer, and the answers to preflight
 * requests.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/filter/cors.h"

#include "http/filter/filter.h"

#define ASKED_MAX 1024 /* bytes of Access-Control-Request-Headers */

/* ---- origins ---- */

static bool
is_host_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-';
}

static bool
all_host_chars(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (!is_host_char(s.ptr[i])) {
            return false;
        }
    }
    return s.len > 0;
}

/* Cuts off the part in front of the host and port. */
static bool
cut_scheme(struct str *rest, struct str *scheme)
{
    *scheme = str_cut(rest, ':');
    if (!str_starts(*rest, STR("//"))) {
        return false;
    }
    *rest = str_skip(*rest, 2);
    return str_eq(*scheme, STR("http")) || str_eq(*scheme, STR("https"));
}

int
cors_check_origin(struct str origin, struct errmsg *err)
{
    struct str host = origin, port, scheme;
    int64_t number;

    if (str_eq(origin, STR("*"))) {
        return 0;
    }
    if (cut_scheme(&host, &scheme)) {
        port = host;
        host = str_cut(&port, ':');
        if (str_starts(host, STR("*."))) {
            host = str_skip(host, 2);
        }
        if (all_host_chars(host) &&
            (port.len == 0 || str_to_int(port, 1, 65535, &number))) {
            return 0;
        }
    }
    return errmsg_set(err,
                      "\"%.*s\" must be \"*\", \"https://HOST\", "
                      "\"https://*.HOST\" (or http), with \":PORT\" where a "
                      "browser's address has one, in small letters",
                      STR_ARGS(origin));
}

static int
check_token(struct str s, const char *what, struct errmsg *err)
{
    for (size_t i = 0; i < s.len; i++) {
        if (!http_is_token((unsigned char)s.ptr[i])) {
            return errmsg_set(err, "\"%.*s\" is no %s", STR_ARGS(s), what);
        }
    }
    return s.len > 0 ? 0 : errmsg_set(err, "a %s is not empty", what);
}

int
cors_check_method(struct str method, struct errmsg *err)
{
    return check_token(method, "method", err);
}

int
cors_check_header(struct str header, struct errmsg *err)
{
    return check_token(header, "header name", err);
}

bool
cors_is_any(const struct http_cors *c)
{
    for (size_t i = 0; i < c->origin_count; i++) {
        if (str_eq(c->origins[i], STR("*"))) {
            return true;
        }
    }
    return false;
}

/* "https://a.b.example.com" under "https://" and "*.example.com". */
static bool
matches_below(struct str pattern, struct str origin)
{
    size_t star = str_find(pattern, '*', 0);
    struct str head = str_first(pattern, star);
    struct str tail = str_skip(pattern, star + 1);

    return star < pattern.len && origin.len > head.len + tail.len &&
           str_starts(origin, head) && str_ends(origin, tail) &&
           all_host_chars(
               str_of(origin.ptr + head.len, origin.len - head.len - tail.len));
}

bool
cors_allows(const struct http_cors *c, struct str origin)
{
    for (size_t i = 0; i < c->origin_count; i++) {
        struct str pattern = c->origins[i];

        if (str_eq(pattern, STR("*")) || str_eq(pattern, origin) ||
            matches_below(pattern, origin)) {
            return true;
        }
    }
    return false;
}

/* ---- the filter ---- */

void
http_cors_headers(struct exchange *x)
{
    const struct http_cors *c = x->pub.location->cors;
    const struct str *origin;
    bool any;

    if (c == NULL) {
        return;
    }
    origin = http_header(&x->pub, "Origin");
    any = cors_is_any(c);
    if (!any) { /* a cache must not give one origin's answer to another
                 */
        http_set_header(&x->pub, "Vary", STR("Origin"));
    }
    if (origin == NULL || !cors_allows(c, *origin)) {
        return;
    }
    http_set_header(&x->pub, "Access-Control-Allow-Origin",
                    any ? STR("*") : *origin);
    if (c->credentials) {
        http_set_header(&x->pub, "Access-Control-Allow-Credentials",
                        STR("true"));
    }
    if (c->exposed.len > 0) {
        http_set_header(&x->pub, "Access-Control-Expose-Headers", c->exposed);
    }
}

static bool
is_name_list(struct str list)
{
    struct errmsg ignored;

    while (list.len > 0) {
        struct str name = str_trim(str_cut(&list, ','));

        if (name.len > 0 && cors_check_header(name, &ignored) == -1) {
            return false;
        }
    }
    return true;
}

/* "*" does not stand for Authorization, and for nothing at all with
 * credentials: the names that were asked for are said again. */
static void
allow_headers(struct exchange *x, const struct http_cors *c)
{
    const struct str *asked =
        http_header(&x->pub, "Access-Control-Request-Headers");

    if (!str_eq(c->headers, STR("*"))) {
        if (c->headers.len > 0) {
            http_set_header(&x->pub, "Access-Control-Allow-Headers",
                            c->headers);
        }
        return;
    }
    if (asked != NULL && asked->len <= ASKED_MAX && is_name_list(*asked)) {
        http_set_header(&x->pub, "Access-Control-Allow-Headers", *asked);
    }
    http_set_header(&x->pub, "Vary", STR("Access-Control-Request-Headers"));
}

enum filter_result
http_cors_preflight(struct exchange *x)
{
    const struct http_cors *c = x->pub.location->cors;
    const struct str *origin = http_header(&x->pub, "Origin");

    if (c == NULL || origin == NULL || !str_eq(x->pub.method, STR("OPTIONS")) ||
        http_header(&x->pub, "Access-Control-Request-Method") == NULL) {
        return FILTER_PASS;
    }
    if (!cors_allows(c, *origin)) {
        return http_filter_reject(x, REFUSE_ORIGIN,
                                  "pages of this origin may not ask here");
    }
    http_set_header(&x->pub, "Access-Control-Allow-Methods", c->methods);
    allow_headers(x, c);
    http_set_header(&x->pub, "Access-Control-Max-Age",
                    pool_printf(x->pub.pool, "%lld", (long long)c->max_age));
    x->reject = 204;
    return FILTER_REJECT;
}

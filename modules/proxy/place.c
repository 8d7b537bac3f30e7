/*
 * Where a request stands for its client, and where for the server.
 *
 * Both paths end alike.  Their beginnings may differ: uri stands there in place
 * of the location's path, and a version that was chosen by the path is left
 * out.  Addresses in the answer go the same way back.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "exchange.h"
#include "http/path.h"

/* The part of the path that uri stands for. */
static struct str
location_of(const struct proxy_exchange *x)
{
    const struct http_location *l = x->r->location;

    if (l->kind == HTTP_PATH_EXACT && x->layer->settings->uri.len > 0) {
        return l->exact;
    }
    return l->path.len > 1 ? l->path : STR_NONE;
}

/* Bytes of `rest` in front of what is behind the version; 0: none was chosen by
 * the path.  A path that ends with the version has "/" behind it, and a slash
 * at the end of rest may be nothing to the location (trailing_slash). */
static size_t
length_to_leave_out(const struct proxy_exchange *x, struct str rest)
{
    const struct http_api *a = x->r->api;

    while (a != NULL && a->behind.len == 0) {
        a = a->outer;
    }
    if (a == NULL || !x->layer->settings->strip) {
        return 0;
    }
    if (!str_ends(rest, a->behind) && str_ends(rest, STR("/"))) {
        rest = str_first(rest, rest.len - 1);
    }
    return str_ends(rest, a->behind) ? rest.len - a->behind.len : rest.len;
}

/* The client's own words behind `front`; false: it wrote that in another way,
 * or its words there do not stand for `rest` by themselves. */
static bool
written_behind(const struct proxy_exchange *x, struct str front,
               struct str rest, struct str *out)
{
    struct str raw = http_written_path(x->r), path;

    for (size_t i = 0; i < front.len; i++) {
        int high = -1, low = -1;
        size_t n = raw.len > 0 && raw.ptr[0] == '%' ? 3 : 1;

        if (n == 3 && raw.len >= 3) {
            high = str_hex_digit(raw.ptr[1]);
            low = str_hex_digit(raw.ptr[2]);
        }
        if (raw.len < n || (n == 1 ? raw.ptr[0]
                                   : (char)((unsigned)high << 4 |
                                            (unsigned)low)) != front.ptr[i]) {
            return false;
        }
        raw = str_skip(raw, n);
    }
    *out = raw;
    return raw.len == 0 ? rest.len == 0
                        : http_path_decode(x->r->pool, raw, &path) == 0 &&
                              str_eq(path, rest);
}

/* As the server gets it where no uri stands for a part of it. */
static struct str
path_as_it_came(const struct proxy_exchange *x, struct str location,
                struct str left_out, struct str rest)
{
    struct pool *pool = x->r->pool;
    struct str front = pool_join(pool, STRS(location, left_out));
    bool may = x->layer->settings->raw_path && !http_is_rewritten(x->r);
    struct str raw;

    if (may && left_out.len == 0) {
        return http_written_path(x->r);
    }
    if (!may || !written_behind(x, front, rest, &raw)) {
        raw = http_path_encode(pool, rest);
    }
    raw = pool_join(pool, STRS(http_path_encode(pool, location), raw));
    return raw.len > 0 ? raw : STR("/");
}

static struct str
path_behind_uri(const struct proxy_exchange *x, struct str rest)
{
    struct str uri = x->layer->settings->uri;

    rest = http_path_encode(x->r->pool, rest);
    if (str_ends(uri, STR("/")) && str_starts(rest, STR("/"))) {
        rest = str_skip(rest, 1);
    }
    return pool_join(x->r->pool, STRS(uri, rest));
}

void
proxy_place_find(struct proxy_exchange *x)
{
    struct proxy_place *p = &x->place;
    struct pool *pool = x->r->pool;
    struct str uri = x->layer->settings->uri, location = location_of(x);
    struct str rest = str_skip(x->r->path, location.len), left_out;

    left_out = str_first(rest, length_to_leave_out(x, rest));
    rest = str_skip(rest, left_out.len);
    p->without_version = left_out.len > 0;
    p->client =
        http_path_encode(pool, pool_join(pool, STRS(location, left_out)));
    if (uri.len > 0) {
        p->server = str_first(uri, uri.len - (str_ends(uri, STR("/")) ? 1 : 0));
        p->path = path_behind_uri(x, rest);
    } else {
        p->server = http_path_encode(pool, location);
        p->path = path_as_it_came(x, location, left_out, rest);
    }
}

/* The members of a list, each of which stands in front of the next. */
static struct str
prefix_of_proxies(const struct proxy_exchange *x)
{
    const struct http_request *r = x->r;
    struct str list = STR_NONE, all = STR_NONE;

    if (http_is_trusted(r)) {
        list = http_header_list(r->pool, r->headers, r->header_count,
                                STR("X-Forwarded-Prefix"));
    }
    while (list.len > 0) {
        struct str one = str_trim(str_cut(&list, ','));

        while (str_ends(one, STR("/"))) {
            one = str_first(one, one.len - 1);
        }
        if (one.len > 0) {
            all = pool_join(r->pool, STRS(all, one));
        }
    }
    return all;
}

struct str
proxy_place_prefix(const struct proxy_exchange *x)
{
    const struct proxy_place *p = &x->place;
    struct str front = prefix_of_proxies(x);

    return str_eq(p->client, p->server)
               ? front
               : pool_join(x->r->pool, STRS(front, p->client));
}

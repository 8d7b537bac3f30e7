/*
 * Which headers go on, and which are for one connection.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "exchange.h"

#include <string.h>

static bool
is_one_of(struct str words, struct str name)
{
    while (words.len > 0) {
        if (str_eq_nocase(str_cut(&words, ' '), name)) {
            return true;
        }
    }
    return false;
}

bool
header_is_hop(struct str connection, struct str name)
{
    return is_one_of(STR("Connection Keep-Alive Proxy-Connection TE "
                         "Transfer-Encoding Upgrade Content-Length "
                         "Proxy-Authorization HTTP2-Settings"),
                     name) ||
           (connection.len > 0 && http_has_word(connection, name));
}

int
header_write(struct buf *b, struct str name, struct str value)
{
    char *to = (char *)buf_reserve(b, name.len + value.len + 4);

    if (to == NULL) {
        return -1;
    }
    memcpy(to, name.ptr, name.len);
    to += name.len;
    *to++ = ':';
    *to++ = ' ';
    memcpy(to, value.ptr, value.len);
    to += value.len;
    *to++ = '\r';
    *to++ = '\n';
    buf_commit(b, name.len + value.len + 4);
    return 0;
}

/* RFC 9110, 6.5.1: none that frames, routes, authenticates, changes the request
 * or says how the body is to be read; and none of those that we vouch for. */
bool
header_is_trailer(struct str connection, struct str name)
{
    return !header_is_hop(connection, name) &&
           !is_one_of(
               STR("Trailer Host "
                   "Content-Encoding Content-Type Content-Range Expect "
                   "Range If-Match If-None-Match If-Modified-Since "
                   "If-Unmodified-Since If-Range Max-Forwards "
                   "Cache-Control Pragma Age Date Expires Location "
                   "Retry-After Vary Authorization Proxy-Authenticate "
                   "WWW-Authenticate Cookie Set-Cookie "
                   "Forwarded X-Real-IP X-Request-ID traceparent tracestate"),
               name) &&
           !str_eq_nocase(str_first(name, 12), STR("X-Forwarded-")) &&
           !str_eq_nocase(str_first(name, 6), STR("X-API-"));
}

struct str
header_join(struct pool *pool, const struct http_header *all, size_t count,
            struct str name)
{
    struct str list = STR_NONE;
    size_t len = 0, found = 0, at = 0;
    char *to;

    for (size_t i = 0; i < count; i++) {
        if (str_eq_nocase(all[i].name, name)) {
            list = all[i].value;
            len += list.len + 2;
            found++;
        }
    }
    if (found < 2) {
        return list;
    }
    to = pool_alloc(pool, len + 1);
    for (size_t i = 0; i < count; i++) {
        if (str_eq_nocase(all[i].name, name)) {
            at = str_append(to, len + 1, at, all[i].value);
            at = str_append(to, len + 1, at, STR(", "));
        }
    }
    return str_of(to, at - 2);
}

bool
header_named(const struct conf_strings *names, struct str name)
{
    for (size_t i = 0; i < names->count; i++) {
        struct str rest = names->items[i];

        if (str_eq_nocase(str_cut(&rest, ':'), name)) {
            return true;
        }
    }
    return false;
}

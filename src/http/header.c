/*
 * Looking things up in a request.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "http/http.h"
#include "http/path.h"

const struct str *
http_header(const struct http_request *r, const char *name)
{
    struct str wanted = str_from(name);

    for (size_t i = 0; i < r->header_count; i++) {
        if (str_eq_nocase(r->headers[i].name, wanted)) {
            return &r->headers[i].value;
        }
    }
    return NULL;
}

struct str
http_header_list(struct pool *pool, const struct http_header *all, size_t count,
                 struct str name)
{
    struct str list = STR_NONE;
    size_t len = 0, found = 0, at = 0;
    char *to;

    for (size_t i = 0; i < count; i++) {
        if (all[i].value.len > 0 && str_eq_nocase(all[i].name, name)) {
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
        if (all[i].value.len > 0 && str_eq_nocase(all[i].name, name)) {
            at = str_append(to, len + 1, at, all[i].value);
            at = str_append(to, len + 1, at, STR(", "));
        }
    }
    return str_of(to, at - 2);
}

bool
http_has_word(struct str list, struct str word)
{
    while (list.len > 0) {
        if (str_eq_nocase(str_trim(str_cut(&list, ',')), word)) {
            return true;
        }
    }
    return false;
}

/* Written out: a head has twenty of them. */
int
http_add_line(struct buf *b, struct str name, struct str value)
{
    size_t len = name.len + value.len + 4;
    uint8_t *to = buf_reserve(b, len);

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
    *to = '\n';
    buf_commit(b, len);
    return 0;
}

struct str
http_param(const struct http_request *r, const char *name)
{
    struct str wanted = str_from(name);

    for (size_t i = 0; i < r->param_count; i++) {
        if (str_eq(r->params[i].name, wanted)) {
            return r->params[i].value;
        }
    }
    return STR_NONE;
}

bool
http_query(struct http_request *r, const char *name, struct str *value)
{
    struct str rest = r->query, wanted = str_from(name);

    while (rest.len > 0) {
        struct str raw = str_cut(&rest, '&');
        struct str key = str_cut(&raw, '=');

        if (http_query_is(key, wanted)) {
            *value = http_query_decode(r->pool, raw);
            return true;
        }
    }
    return false;
}

size_t
http_query_count(struct http_request *r, const char *name, struct str *raw)
{
    struct str rest = r->query, wanted = str_from(name);
    size_t n = 0;

    while (rest.len > 0) {
        struct str value = str_cut(&rest, '&');
        struct str key = str_cut(&value, '=');

        if (http_query_is(key, wanted)) {
            *raw = value;
            n++;
        }
    }
    return n;
}

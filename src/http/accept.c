/*
 * Quality values, members of Accept and content codings.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/accept.h"
#include "http/exchange.h"
#include "http/head_scan.h"

/* "0.85": 850; what is no quality value is 1000. */
static int
quality_value(struct str value)
{
    int part = 0;

    if (value.len == 0 || value.len > 5 ||
        (value.ptr[0] != '0' && value.ptr[0] != '1') ||
        (value.len > 1 && value.ptr[1] != '.')) {
        return 1000;
    }
    for (size_t i = 2; i < 5; i++) {
        char c = i < value.len ? value.ptr[i] : '0';

        if (c < '0' || c > '9') {
            return 1000;
        }
        part = 10 * part + c - '0';
    }
    return value.ptr[0] == '1' ? 1000 : part;
}

int
http_quality(struct str params)
{
    while (params.len > 0) {
        struct str value = str_trim(str_cut(&params, ';'));
        struct str name = str_trim(str_cut(&value, '='));

        if (str_eq_nocase(name, STR("q"))) {
            return quality_value(value);
        }
    }
    return 1000;
}

/* ---- media ranges ---- */

/* These go on from at and return where they ended. */

static size_t
skip_token(struct str s, size_t at)
{
    while (at < s.len && http_is_token((unsigned char)s.ptr[at])) {
        at++;
    }
    return at;
}

static size_t
skip_space(struct str s, size_t at)
{
    while (at < s.len && (s.ptr[at] == ' ' || s.ptr[at] == '\t')) {
        at++;
    }
    return at;
}

/* Up to a ';' or ',' that stands in no quoted string. */
static size_t
skip_value(struct str s, size_t at)
{
    bool quoted = false;

    for (; at < s.len; at++) {
        char c = s.ptr[at];

        if (quoted && c == '\\') {
            at++;
        } else if (c == '"') {
            quoted = !quoted;
        } else if (!quoted && (c == ';' || c == ',')) {
            return at;
        }
    }
    return s.len;
}

/* The parameters of a member, to its end; its quality. */
static size_t
read_params(struct str s, size_t at, int *quality)
{
    *quality = -1;
    at = skip_value(s, at);
    while (at < s.len && s.ptr[at] == ';') {
        size_t name = skip_space(s, at + 1);

        at = skip_value(s, name);
        if (*quality < 0 && at > name + 1 && (s.ptr[name] | 0x20) == 'q' &&
            s.ptr[name + 1] == '=') {
            struct str value = { s.ptr + name + 2, at - name - 2 };

            *quality = quality_value(str_trim(value));
        }
    }
    if (*quality < 0) {
        *quality = 1000;
    }
    return at;
}

bool
http_media_next(struct str *list, struct http_media *out)
{
    const struct str s = *list;

    for (size_t at = 0; at < s.len; at++) { /* behind the comma */
        size_t start = at = skip_space(s, at);
        size_t slash = skip_token(s, start);
        size_t end = slash < s.len ? skip_token(s, slash + 1) : slash;
        bool good = end > slash + 1 && slash > start && s.ptr[slash] == '/';

        at = skip_space(s, good ? end : start);
        good &= at == s.len || s.ptr[at] == ';' || s.ptr[at] == ',';
        at = read_params(s, at, &out->quality);
        if (good) {
            out->next = NULL;
            out->name = (struct str){ s.ptr + start, end - start };
            out->major = (unsigned)(slash - start);
            *list = str_skip(s, at + 1);
            return true;
        }
    }
    *list = STR_NONE;
    return false;
}

/* Adds the members of one header behind the last; the new last. */
static const struct http_media **
add_members(struct exchange *x, struct str list, const struct http_media **last)
{
    struct http_media m;

    while (http_media_next(&list, &m)) {
        struct http_media *kept = pool_alloc(x->pub.pool, sizeof(*kept));

        *kept = m;
        *last = kept;
        last = &kept->next;
    }
    return last;
}

const struct http_media *
http_accept_members(const struct http_request *r)
{
    struct exchange *x = exchange_of(r);
    const struct http_media **last = &x->accept;

    for (size_t i = 0; !x->accept_read && i < r->header_count; i++) {
        if (str_eq_nocase(r->headers[i].name, STR("Accept"))) {
            last = add_members(x, r->headers[i].value, last);
        }
    }
    x->accept_read = true;
    return x->accept;
}

/* ---- content codings ---- */

/* Quality of a coding in one field; -1 when it is not named. */
static int
quality_in(struct str list, struct str coding)
{
    while (list.len > 0) {
        struct str params = str_cut(&list, ',');
        struct str name = str_trim(str_cut(&params, ';'));

        if (str_eq_nocase(name, coding)) {
            return http_quality(params);
        }
    }
    return -1;
}

static int
quality_of(const struct http_request *r, struct str coding)
{
    for (size_t i = 0; i < r->header_count; i++) {
        if (str_eq_nocase(r->headers[i].name, STR("Accept-Encoding"))) {
            int quality = quality_in(r->headers[i].value, coding);

            if (quality >= 0) {
                return quality;
            }
        }
    }
    return -1;
}

bool
http_accepts_gzip(const struct http_request *r)
{
    int gzip = quality_of(r, STR("gzip"));

    if (gzip < 0) {
        gzip = quality_of(r, STR("x-gzip")); /* 8.4.1.3: the same */
    }
    if (gzip < 0) {
        gzip = quality_of(r, STR("*"));
    }
    return gzip > 0 && gzip >= quality_of(r, STR("identity"));
}

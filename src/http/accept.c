/*
 * Quality values and content codings.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/accept.h"
#include "http/scan.h"

/* "0.85": 850; what is no quality value is 1000. */
static int
quality_value(struct str value)
{
    struct str before = str_cut(&value, '.');
    int64_t whole, part = 0;

    if (!str_to_int(before, 0, 1, &whole) || value.len > 3 ||
        (value.len > 0 && !str_to_int(value, 0, 999, &part))) {
        return 1000;
    }
    for (size_t i = value.len; i < 3; i++) {
        part *= 10;
    }
    return whole == 1 ? 1000 : (int)part;
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

static struct str
take_token(struct str *from)
{
    size_t n = 0;

    while (n < from->len && http_is_token((unsigned char)from->ptr[n])) {
        n++;
    }
    struct str token = str_first(*from, n);

    *from = str_skip(*from, n);
    return token;
}

static void
skip_space(struct str *from)
{
    while (from->len > 0 && (from->ptr[0] == ' ' || from->ptr[0] == '\t')) {
        *from = str_skip(*from, 1);
    }
}

/* Up to a ';' or ',' that stands in no quoted string. */
static void
skip_value(struct str *from)
{
    bool quoted = false;
    size_t n = 0;

    for (; n < from->len; n++) {
        char c = from->ptr[n];

        if (quoted && c == '\\') {
            n++;
        } else if (c == '"') {
            quoted = !quoted;
        } else if (!quoted && (c == ';' || c == ',')) {
            break;
        }
    }
    *from = str_skip(*from, n);
}

/* The parameters of a member, to its end; its quality. */
static int
take_params(struct str *from)
{
    int quality = -1;

    skip_value(from);
    while (from->len > 0 && from->ptr[0] == ';') {
        *from = str_skip(*from, 1);
        skip_space(from);
        struct str start = *from;
        struct str name = take_token(from);

        skip_value(from);
        if (quality < 0 && name.len == 1 && (name.ptr[0] | 0x20) == 'q') {
            struct str value = str_first(start, start.len - from->len);

            str_cut(&value, '=');
            quality = quality_value(str_trim(value));
        }
    }
    return quality < 0 ? 1000 : quality;
}

bool
http_media_next(struct str *list, struct http_media *out)
{
    while (list->len > 0) {
        skip_space(list);
        struct str start = *list;

        out->major = take_token(list);
        bool slash = list->len > 0 && list->ptr[0] == '/';

        *list = str_skip(*list, slash ? 1 : 0);
        out->minor = take_token(list);
        out->name = str_first(start, start.len - list->len);
        skip_space(list);
        bool whole =
            list->len == 0 || list->ptr[0] == ';' || list->ptr[0] == ',';

        out->quality = take_params(list);
        *list = str_skip(*list, 1); /* the comma */
        if (slash && whole && out->major.len > 0 && out->minor.len > 0) {
            return true;
        }
    }
    return false;
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

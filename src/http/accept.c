/*
 * Quality values and content codings.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/accept.h"

int
http_quality(struct str params)
{
    while (params.len > 0) {
        struct str value = str_trim(str_cut(&params, ';'));
        struct str name = str_trim(str_cut(&value, '='));
        int64_t whole, part = 0;

        if (!str_eq_nocase(name, STR("q"))) {
            continue;
        }
        struct str digits = value;
        struct str before = str_cut(&digits, '.');

        if (!str_to_int(before, 0, 1, &whole) || digits.len > 3 ||
            (digits.len > 0 && !str_to_int(digits, 0, 999, &part))) {
            return 1000;
        }
        for (size_t i = digits.len; i < 3; i++) {
            part *= 10;
        }
        return whole == 1 ? 1000 : (int)part;
    }
    return 1000;
}

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

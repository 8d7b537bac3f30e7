/*
 * Ranges from a header.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/file/range.h"

/* Digits and nothing else; a number that is too big is as good as the
 * biggest.  False when it is not a number. */
static bool
to_position(struct str s, int64_t *out)
{
    int64_t n = 0;

    if (s.len == 0) {
        return false;
    }
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9') {
            return false;
        }
        int64_t digit = s.ptr[i] - '0';

        n = n > (INT64_MAX - digit) / 10 ? INT64_MAX : n * 10 + digit;
    }
    *out = n;
    return true;
}

/* "first-last", "first-" or "-count" of size bytes: 1 and *range, 0 when it
 * lies behind the end, -1 when it is malformed. */
static int
to_range(struct str spec, int64_t size, struct http_range *range)
{
    size_t dash = str_find(spec, '-', 0);
    struct str before = str_trim(str_first(spec, dash));
    struct str behind = str_trim(str_skip(spec, dash + 1));
    int64_t first = 0, last = INT64_MAX;

    if (dash == spec.len) {
        return -1;
    }
    if (before.len == 0) {
        if (!to_position(behind, &last)) {
            return -1;
        }
        first = last < size ? size - last : 0;
        *range = (struct http_range){ first, size - first };
        return range->len > 0;
    }
    if (!to_position(before, &first) ||
        (behind.len > 0 && !to_position(behind, &last)) || last < first) {
        return -1;
    }
    if (first >= size) {
        return 0;
    }
    last = last < size ? last : size - 1;
    *range = (struct http_range){ first, last - first + 1 };
    return 1;
}

/* 14.1.2: what counts from the end is there even in an empty file, but has
 * no range that could be named. */
static bool
is_suffix(struct str list)
{
    return str_starts(str_trim(list), STR("-"));
}

enum http_range_result
http_range_parse(struct str value, int64_t size,
                 struct http_range ranges[HTTP_RANGES_MAX], size_t *count)
{
    struct str list = value;
    struct str unit = str_cut(&list, '=');
    int64_t asked = 0;
    size_t n = 0, specs = 0;

    if (!str_eq_nocase(str_trim(unit), STR("bytes")) ||
        (size == 0 && is_suffix(list))) {
        return HTTP_RANGE_WHOLE;
    }
    while (list.len > 0) {
        struct str spec = str_trim(str_cut(&list, ','));
        struct http_range range = { 0, 0 };

        if (spec.len == 0) {
            continue;
        }
        int fits = to_range(spec, size, &range);

        if (fits < 0 || ++specs > HTTP_RANGES_MAX) {
            return HTTP_RANGE_WHOLE;
        }
        if (range.len > size - asked) { /* they overlap: whole is less */
            return HTTP_RANGE_WHOLE;
        }
        if (fits > 0) {
            ranges[n++] = range;
            asked += range.len;
        }
    }
    *count = n;
    if (n > 0) {
        return HTTP_RANGE_PARTS;
    }
    return specs > 0 ? HTTP_RANGE_NONE : HTTP_RANGE_WHOLE;
}

/*
 * Millionths and their texts.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "conf/decimal.h"

#include "conf/value.h"

#define PLACES 6

/* Up to six digits behind the point, as if there were six. */
static bool
read_places(struct str s, int64_t *out)
{
    int64_t n = 0;

    if (s.len > PLACES || (s.len > 0 && !str_to_int(s, 0, INT64_MAX, &n))) {
        return false;
    }
    for (size_t i = s.len; i < PLACES; i++) {
        n *= 10;
    }
    *out = n;
    return true;
}

bool
decimal_read(struct str s, int64_t *out)
{
    bool is_negative = s.len > 0 && s.ptr[0] == '-';
    struct str places = str_skip(s, is_negative);
    struct str whole = str_cut(&places, '.');
    int64_t n, rest;

    if (!str_to_int(whole, 0, DECIMAL_MAX, &n) || !read_places(places, &rest)) {
        return false;
    }
    n = n * DECIMAL_ONE + rest;
    *out = is_negative ? -n : n;
    return true;
}

bool
decimal_of(double n, int64_t *out)
{
    double scaled = n * DECIMAL_ONE;

    if (!(n >= -DECIMAL_MAX && n <= DECIMAL_MAX)) {
        return false;
    }
    *out = (int64_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
    return true;
}

bool
decimal_of_scalar(const struct scalar *v, int64_t *out)
{
    if (v->kind == SCALAR_INT) {
        return decimal_of((double)v->number, out);
    }
    *out = v->number;
    return v->is_fraction ||
           (v->kind == SCALAR_STRING && decimal_read(v->text, out));
}

void
decimal_print(int64_t millionths, struct buf *out)
{
    uint64_t n =
        millionths < 0 ? 0 - (uint64_t)millionths : (uint64_t)millionths;
    unsigned rest = (unsigned)(n % DECIMAL_ONE);
    int places = PLACES;

    while (places > 1 && rest % 10 == 0) {
        rest /= 10;
        places--;
    }
    buf_printf(out, "%s%llu.%0*u", millionths < 0 ? "-" : "",
               (unsigned long long)(n / DECIMAL_ONE), places, rest);
}

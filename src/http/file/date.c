/*
 * The preferred form, that of RFC 850 and that of asctime():
 *
 *   Sun, 06 Nov 1994 08:49:37 GMT
 *   Sunday, 06-Nov-94 08:49:37 GMT
 *   Sun Nov  6 08:49:37 1994
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/file/date.h"

#include <string.h>

#include "base/clock.h"

#define DAY_S 86400

struct parts {
    int64_t day, month, year, hour, minute, second;
};

/* ---- reading a piece off the front ---- */

static bool
take_number(struct str *s, size_t digits, int64_t max, int64_t *out)
{
    bool good =
        s->len >= digits && str_to_int(str_first(*s, digits), 0, max, out);

    *s = str_skip(*s, digits);
    return good;
}

static bool
take_text(struct str *s, const char *text)
{
    struct str wanted = str_from(text);
    bool good = str_starts(*s, wanted);

    *s = str_skip(*s, wanted.len);
    return good;
}

static bool
take_month(struct str *s, int64_t *month)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

    for (size_t i = 0; i < 12; i++) {
        if (str_starts(*s, str_of(names + i * 3, 3))) {
            *month = (int64_t)i + 1;
            *s = str_skip(*s, 3);
            return true;
        }
    }
    return false;
}

static bool
take_time(struct str *s, struct parts *p)
{
    return take_number(s, 2, 23, &p->hour) && take_text(s, ":") &&
           take_number(s, 2, 59, &p->minute) && take_text(s, ":") &&
           take_number(s, 2, 60, &p->second); /* 60: a leap second */
}

/* ---- the forms; the name of the day is gone ---- */

static bool
read_preferred(struct str s, struct parts *p)
{
    return take_text(&s, ", ") && take_number(&s, 2, 31, &p->day) &&
           take_text(&s, " ") && take_month(&s, &p->month) &&
           take_text(&s, " ") && take_number(&s, 4, 9999, &p->year) &&
           take_text(&s, " ") && take_time(&s, p) && str_eq(s, STR(" GMT"));
}

static int64_t
year_now(void)
{
    return 1970 + clock_wall_ms() / 1000 / DAY_S * 100 / 36525;
}

static bool
read_rfc850(struct str s, struct parts *p)
{
    if (!take_text(&s, ", ") || !take_number(&s, 2, 31, &p->day) ||
        !take_text(&s, "-") || !take_month(&s, &p->month) ||
        !take_text(&s, "-") || !take_number(&s, 2, 99, &p->year) ||
        !take_text(&s, " ") || !take_time(&s, p) || !str_eq(s, STR(" GMT"))) {
        return false;
    }
    int64_t now = year_now();

    p->year += now - now % 100;
    if (p->year > now + 50) {
        p->year -= 100;
    }
    return true;
}

static bool
read_asctime(struct str s, struct parts *p)
{
    bool padded;

    if (!take_text(&s, " ") || !take_month(&s, &p->month) ||
        !take_text(&s, " ")) {
        return false;
    }
    padded = str_starts(s, STR(" "));
    s = str_skip(s, padded ? 1 : 0);
    return take_number(&s, padded ? 1 : 2, 31, &p->day) && take_text(&s, " ") &&
           take_time(&s, p) && take_text(&s, " ") &&
           take_number(&s, 4, 9999, &p->year) && s.len == 0;
}

/* ---- from parts to seconds ---- */

static int64_t
days_in_month(const struct parts *p)
{
    static const int64_t days[12] = { 31, 28, 31, 30, 31, 30,
                                      31, 31, 30, 31, 30, 31 };
    bool leap = p->year % 4 == 0 && (p->year % 100 != 0 || p->year % 400 == 0);

    return days[p->month - 1] + (p->month == 2 && leap);
}

/* Days since 1970 of a date in the Gregorian calendar; years begin in March
 * here, so that the day of a leap year is their last. */
static int64_t
days_since_1970(const struct parts *p)
{
    int64_t year = p->month > 2 ? p->year : p->year - 1;
    int64_t month = p->month > 2 ? p->month - 3 : p->month + 9;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t in_era = year - era * 400;
    int64_t in_year = (153 * month + 2) / 5 + p->day - 1;

    return era * 146097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year -
           719468;
}

static struct str
without_day_name(struct str s)
{
    static const char *const names[] = { "Sunday",    "Monday",   "Tuesday",
                                         "Wednesday", "Thursday", "Friday",
                                         "Saturday" };

    for (size_t i = 0; i < 7; i++) {
        struct str name = str_from(names[i]);

        if (str_starts(s, name)) {
            return str_skip(s, name.len);
        }
        if (str_starts(s, str_first(name, 3))) {
            return str_skip(s, 3);
        }
    }
    return STR_NONE;
}

bool
http_date_parse(struct str text, int64_t *seconds)
{
    struct str rest = without_day_name(text);
    struct parts p = { 0 };

    if (!read_preferred(rest, &p) && !read_rfc850(rest, &p) &&
        !read_asctime(rest, &p)) {
        return false;
    }
    if (p.day < 1 || p.day > days_in_month(&p)) {
        return false;
    }
    *seconds =
        days_since_1970(&p) * DAY_S + p.hour * 3600 + p.minute * 60 + p.second;
    return true;
}

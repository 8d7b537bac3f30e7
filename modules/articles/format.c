/*
 * The table of forms, and times as all of them have them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format.h"

#include <string.h>

const struct article_format *const article_formats[] = {
    &article_format_json,
    &article_format_xml,
    &article_format_text_xml,
    NULL,
};

const struct http_format article_accepts[] = {
    { "json", "application/json" },
    { "xml", "application/xml" },
    { "xml", "text/xml" },
    { .name = NULL },
};

static bool
takes(const struct article_format *f, struct str type, bool patch)
{
    size_t slash = str_find(type, '/', 0);
    struct str suffix = str_from(f->suffix);

    if (str_eq_nocase(type, str_from(f->type))) {
        return true;
    }
    if (str_eq_nocase(type, STR("application/json-patch+json"))) {
        return false; /* a list of operations (RFC 6902), no article */
    }
    if (f->patch_type != NULL && str_eq_nocase(type, str_from(f->patch_type))) {
        return patch;
    }
    return slash < type.len && type.len > slash + 1 + suffix.len &&
           str_eq_nocase(str_skip(type, type.len - suffix.len), suffix);
}

enum article_read
article_read(const struct article_format *f, struct pool *pool, struct str body,
             struct article_input *in, struct errmsg *err)
{
    void *reader = f->begin(pool);

    f->feed(reader, body, true);
    return f->read(pool, reader, in, err);
}

const struct article_format *
article_format_of_body(struct str content_type, bool patch)
{
    struct str type = str_trim(str_cut(&content_type, ';'));

    if (type.len == 0) {
        return article_formats[0];
    }
    for (size_t i = 0; article_formats[i] != NULL; i++) {
        if (takes(article_formats[i], type, patch)) {
            return article_formats[i];
        }
    }
    return NULL;
}

struct str
article_types(struct pool *pool, bool patch)
{
    struct str list = STR_NONE;

    for (size_t i = 0; article_formats[i] != NULL; i++) {
        const struct article_format *f = article_formats[i];

        list = pool_printf(pool, "%.*s%s%s", STR_ARGS(list), i > 0 ? ", " : "",
                           f->type);
        if (patch && f->patch_type != NULL) {
            list = pool_printf(pool, "%.*s, %s", STR_ARGS(list), f->patch_type);
        }
    }
    return list;
}

/* ---- times ---- */

#define DAY 86400
#define DATES_KEPT 16
#define FIRST_SECOND (-62135596800) /* 0001-01-01T00:00:00Z */
#define LAST_SECOND 253402300799    /* 9999-12-31T23:59:59Z */

/* Days from 1970-01-01 to a day of the Gregorian calendar, whose years here
 * begin with March so that the leap day is the last. */
static int64_t
days_of(int64_t year, int64_t month, int64_t day)
{
    int64_t y = month > 2 ? year : year - 1;
    int64_t month_from_march = month > 2 ? month - 3 : month + 9;
    int64_t cycle = y / 400, of_cycle = y % 400;
    int64_t of_year = (153 * month_from_march + 2) / 5 + day - 1;

    return cycle * 146097 + of_cycle * 365 + of_cycle / 4 - of_cycle / 100 +
           of_year - 719468;
}

/* The way back. */
static void
date_of(int64_t days, uint32_t *year, uint32_t *month, uint32_t *day)
{
    uint32_t since = (uint32_t)(days + 719468); /* 0000-03-01; never negative */
    uint32_t cycle = since / 146097, rest = since % 146097;
    uint32_t y = (rest - rest / 1460 + rest / 36524 - rest / 146096) / 365;
    uint32_t of_year = rest - (365 * y + y / 4 - y / 100);
    uint32_t m = (5 * of_year + 2) / 153;

    *day = of_year - (153 * m + 2) / 5 + 1;
    *month = m < 10 ? m + 3 : m - 9;
    *year = y + cycle * 400 + (*month <= 2 ? 1 : 0);
}

static void
put_two(char *dst, uint32_t n)
{
    dst[0] = (char)('0' + n / 10);
    dst[1] = (char)('0' + n % 10);
}

static void
write_date(char dst[ARTICLE_TIME_TEXT], int64_t days)
{
    uint32_t year, month, day;

    date_of(days, &year, &month, &day);
    memcpy(dst, "0000-00-00T00:00:00Z", ARTICLE_TIME_TEXT);
    put_two(dst, year / 100);
    put_two(dst + 2, year % 100);
    put_two(dst + 5, month);
    put_two(dst + 8, day);
}

/* Pages have many times, most of them of few days, whose dates are kept. */
static const char *
date_text(int64_t days)
{
    static struct {
        int64_t days;
        char text[ARTICLE_TIME_TEXT]; /* "": not used yet */
    } dates[DATES_KEPT], *d;

    d = &dates[(uint64_t)days % DATES_KEPT];
    if (d->days != days || d->text[0] == '\0') {
        d->days = days;
        write_date(d->text, days);
    }
    return d->text;
}

struct str
article_time_write(char dst[ARTICLE_TIME_TEXT], int64_t s)
{
    if (s < FIRST_SECOND || s > LAST_SECOND) { /* not from us */
        s = s < FIRST_SECOND ? FIRST_SECOND : LAST_SECOND;
    }
    int64_t days = (s - FIRST_SECOND) / DAY + FIRST_SECOND / DAY;
    uint32_t of_day = (uint32_t)(s - days * DAY);

    memcpy(dst, date_text(days), ARTICLE_TIME_TEXT);
    put_two(dst + 11, of_day / 3600);
    put_two(dst + 14, of_day / 60 % 60);
    put_two(dst + 17, of_day % 60);
    return str_of(dst, ARTICLE_TIME_TEXT - 1);
}

/* Takes a number of so many digits off s. */
static bool
take_number(struct str *s, size_t digits, int64_t max, int64_t *n)
{
    if (s->len < digits || *s->ptr == '-' ||
        !str_to_int(str_first(*s, digits), 0, max, n)) {
        return false;
    }
    *s = str_skip(*s, digits);
    return true;
}

static bool
take_char(struct str *s, char upper, char lower)
{
    if (s->len == 0 || (*s->ptr != upper && *s->ptr != lower)) {
        return false;
    }
    *s = str_skip(*s, 1);
    return true;
}

static bool
take_date(struct str *s, int64_t *seconds)
{
    static const int8_t lengths[] = { 31, 29, 31, 30, 31, 30,
                                      31, 31, 30, 31, 30, 31 };
    int64_t year, month, day;

    if (!take_number(s, 4, 9999, &year) || !take_char(s, '-', '-') ||
        !take_number(s, 2, 12, &month) || !take_char(s, '-', '-') ||
        !take_number(s, 2, 31, &day) || year == 0 || month == 0 || day == 0 ||
        day > lengths[month - 1]) {
        return false;
    }
    if (month == 2 && day == 29 &&
        (year % 4 != 0 || (year % 100 == 0 && year % 400 != 0))) {
        return false;
    }
    *seconds = days_of(year, month, day) * DAY;
    return true;
}

static bool
take_clock(struct str *s, bool with_seconds, int64_t *seconds)
{
    int64_t hour, minute, second = 0;

    if (!take_number(s, 2, 23, &hour) || !take_char(s, ':', ':') ||
        !take_number(s, 2, 59, &minute)) {
        return false;
    }
    if (with_seconds &&
        (!take_char(s, ':', ':') || !take_number(s, 2, 59, &second))) {
        return false;
    }
    *seconds = hour * 3600 + minute * 60 + second;
    return true;
}

static bool
skip_fraction(struct str *s)
{
    size_t n = 0;

    if (!take_char(s, '.', '.')) {
        return true;
    }
    while (n < s->len && s->ptr[n] >= '0' && s->ptr[n] <= '9') {
        n++;
    }
    *s = str_skip(*s, n);
    return n > 0;
}

static bool
take_offset(struct str *s, int64_t *seconds)
{
    bool minus;

    if (take_char(s, 'Z', 'z')) {
        *seconds = 0;
        return true;
    }
    minus = take_char(s, '-', '-');
    if ((!minus && !take_char(s, '+', '+')) || !take_clock(s, false, seconds)) {
        return false;
    }
    *seconds = minus ? -*seconds : *seconds;
    return true;
}

bool
article_time_read(struct str text, int64_t *s)
{
    int64_t date, of_day, offset;

    if (!take_date(&text, &date) || !take_char(&text, 'T', 't') ||
        !take_clock(&text, true, &of_day) || !skip_fraction(&text) ||
        !take_offset(&text, &offset) || text.len > 0) {
        return false;
    }
    *s = date + of_day - offset;
    return *s >= FIRST_SECOND && *s <= LAST_SECOND;
}

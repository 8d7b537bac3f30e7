/*
 * Time.  Dates are computed here and not by gmtime_r(): that takes a lock of
 * the C library, which a fork() beside a thread that logs would leave locked
 * in the child.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

#define DAY_MS (24 * 60 * 60 * 1000)

struct date {
    int64_t year;
    int month, day; /* from 1 */
    int weekday;    /* 0: Sunday */
    int hour, minute, second, ms;
};

static int64_t
read_us(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t
clock_ms(void)
{
    return read_us(CLOCK_MONOTONIC) / 1000;
}

int64_t
clock_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

int64_t
clock_wall_ms(void)
{
    return read_us(CLOCK_REALTIME) / 1000;
}

int64_t
clock_wall_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME_COARSE, &t);
    return t.tv_sec;
}

/* The year, month and day of a day counted from 1970-01-01.  Years are
 * taken to begin with March, so that the day that comes and goes is the
 * last one of a year. */
static void
date_from_days(struct date *d, int64_t days)
{
    int64_t since = days + 719468; /* from 0000-03-01 */
    int64_t era = (since >= 0 ? since : since - 146096) / 146097;
    int in_era = (int)(since - era * 146097); /* 400 years have 146097 days */
    int year =
        (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    int in_year = in_era - (365 * year + year / 4 - year / 100);
    int month = (5 * in_year + 2) / 153; /* 0: March */

    d->day = in_year - (153 * month + 2) / 5 + 1;
    d->month = month < 10 ? month + 3 : month - 9;
    d->year = era * 400 + year + (d->month <= 2);
    d->weekday = (int)(((days + 4) % 7 + 7) % 7); /* day 0: a Thursday */
}

static struct date
date_of(int64_t wall_ms)
{
    int64_t days = wall_ms / DAY_MS - (wall_ms % DAY_MS < 0);
    int rest = (int)(wall_ms - days * DAY_MS);
    struct date d;

    date_from_days(&d, days);
    d.ms = rest % 1000;
    d.second = rest / 1000 % 60;
    d.minute = rest / 60000 % 60;
    d.hour = rest / 3600000;
    return d;
}

static const char *
month_name(int month)
{
    static const char names[12][4] = {
        "Jan", "Feb", "Mar", "Apr", "May", "Jun",
        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"
    };

    return names[month - 1];
}

void
clock_iso8601(char *dst, size_t size, int64_t wall_ms)
{
    struct date d = date_of(wall_ms);

    snprintf(dst, size, "%04lld-%02d-%02dT%02d:%02d:%02d.%03dZ",
             (long long)d.year, d.month, d.day, d.hour, d.minute, d.second,
             d.ms);
}

void
clock_http_date(char *dst, size_t size, int64_t wall_ms)
{
    static const char days[7][4] = { "Sun", "Mon", "Tue", "Wed",
                                     "Thu", "Fri", "Sat" };
    struct date d = date_of(wall_ms);

    snprintf(dst, size, "%s, %02d %s %04lld %02d:%02d:%02d GMT",
             days[d.weekday], d.day, month_name(d.month), (long long)d.year,
             d.hour, d.minute, d.second);
}

void
clock_log_date(char *dst, size_t size, int64_t wall_ms)
{
    struct date d = date_of(wall_ms);

    snprintf(dst, size, "%02d/%s/%04lld:%02d:%02d:%02d +0000", d.day,
             month_name(d.month), (long long)d.year, d.hour, d.minute,
             d.second);
}

/*
 * Dates, checked against the C library's.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static void
test_seconds(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++) {
        int64_t before = clock_wall_ms() - 10, s = clock_wall_s();

        assert_in_range(s, before / 1000, clock_wall_ms() / 1000);
    }
}

static void
test_known(void **state)
{
    char text[40];

    (void)state;
    clock_iso8601(text, 25, 1767323045678); /* 2026-01-02T03:04:05.678 */
    assert_string_equal(text, "2026-01-02T03:04:05.678Z");
    clock_http_date(text, 30, 1767323045678);
    assert_string_equal(text, "Fri, 02 Jan 2026 03:04:05 GMT");
    clock_log_date(text, 27, 1767323045678);
    assert_string_equal(text, "02/Jan/2026:03:04:05 +0000");
    clock_iso8601(text, 25, 0);
    assert_string_equal(text, "1970-01-01T00:00:00.000Z");
    clock_iso8601(text, 25, -1);
    assert_string_equal(text, "1969-12-31T23:59:59.999Z");
    clock_http_date(text, 30, 784111777000); /* the example of RFC 9110 */
    assert_string_equal(text, "Sun, 06 Nov 1994 08:49:37 GMT");
    clock_iso8601(text, 25, 951782400000);
    assert_string_equal(text, "2000-02-29T00:00:00.000Z");
}

static void
test_against_library(void **state)
{
    (void)state;
    /* Steps of 19.3 days over the years 1900 to 2500. */
    for (int64_t t = -2208988800; t < 16725225600; t += 1667521) {
        char ours[40], theirs[40];
        time_t seconds = (time_t)t;
        struct tm tm;

        clock_http_date(ours, sizeof(ours), t * 1000);
        gmtime_r(&seconds, &tm);
        strftime(theirs, sizeof(theirs), "%a, %d %b %Y %H:%M:%S GMT", &tm);
        assert_string_equal(ours, theirs);
    }
}

static void
test_small_buffer(void **state)
{
    char text[6] = "zzzzz";

    (void)state;
    clock_iso8601(text, 5, 0);
    assert_string_equal(text, "1970");
}

static void
test_running(void **state)
{
    int64_t us = clock_us(), ms = clock_ms();

    (void)state;
    assert_true(ms >= us / 1000);
    assert_true(ms - us / 1000 < 10000);
    assert_true(clock_us() >= us);
    assert_true(clock_wall_ms() / 1000 - (int64_t)time(NULL) >= -1);
    assert_true(clock_wall_ms() / 1000 - (int64_t)time(NULL) <= 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seconds),
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_against_library),
        cmocka_unit_test(test_small_buffer),
        cmocka_unit_test(test_running),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

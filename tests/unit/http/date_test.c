/*
 * Dates in the three forms of RFC 9110, 5.6.7.
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
#include "http/file/date.h"

static int64_t
seconds(const char *text)
{
    int64_t s = -1;

    return http_date_parse(str_from(text), &s) ? s : -1;
}

static void
test_three_forms(void **state)
{
    (void)state;
    assert_int_equal(seconds("Sun, 06 Nov 1994 08:49:37 GMT"), 784111777);
    assert_int_equal(seconds("Sunday, 06-Nov-94 08:49:37 GMT"), 784111777);
    assert_int_equal(seconds("Sun Nov  6 08:49:37 1994"), 784111777);
    assert_int_equal(seconds("Wed Nov 16 08:49:37 1994"), 784975777);
    assert_int_equal(seconds("Thu, 01 Jan 1970 00:00:00 GMT"), 0);
}

static void
test_as_we_write_them(void **state)
{
    char text[32];

    (void)state;
    for (int64_t s = 0; s < 4102444800; s += 86400 * 29 + 3607) {
        clock_http_date(text, sizeof(text), s * 1000);
        assert_int_equal(seconds(text), s);
    }
}

static void
test_days_that_exist(void **state)
{
    (void)state;
    assert_int_equal(seconds("Thu, 29 Feb 2024 00:00:00 GMT"), 1709164800);
    assert_int_equal(seconds("Wed, 29 Feb 2023 00:00:00 GMT"), -1);
    assert_int_equal(seconds("Mon, 29 Feb 2100 00:00:00 GMT"), -1);
    assert_int_equal(seconds("Tue, 29 Feb 2000 00:00:00 GMT"), 951782400);
    assert_int_equal(seconds("Sun, 31 Apr 2023 00:00:00 GMT"), -1);
    assert_int_equal(seconds("Sun, 00 Nov 1994 08:49:37 GMT"), -1);
}

/* A year of two digits is not more than 50 years ahead. */
static void
test_two_digits(void **state)
{
    int64_t now = clock_wall_ms() / 1000, year = 31556952;

    (void)state;
    for (int y = 0; y < 100; y++) {
        char text[] = "Sunday, 06-Nov-00 08:49:37 GMT";

        text[15] = (char)('0' + y / 10);
        text[16] = (char)('0' + y % 10);
        int64_t s = 0;

        assert_true(http_date_parse(str_from(text), &s));
        assert_true(s < now + 51 * year && s > now - 51 * year);
    }
}

static void
test_not_dates(void **state)
{
    static const char *const texts[] = {
        "",
        "0",
        "yesterday",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 CET",
        "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Now 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT ",
        "Son, 06 Nov 1994 08:49:37 GMT",
        "Sun Nov  6 08:49:37 19945",
        "Sun Nov 6 08:49:37 1994",
        "Sunday, 06-Nov-1994 08:49:37 GMT",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(seconds(texts[i]), -1);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_three_forms),
        cmocka_unit_test(test_as_we_write_them),
        cmocka_unit_test(test_days_that_exist),
        cmocka_unit_test(test_two_digits),
        cmocka_unit_test(test_not_dates),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

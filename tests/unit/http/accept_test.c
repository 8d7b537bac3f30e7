/*
 * Quality values and Accept-Encoding.
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

#include "http/accept.h"

static bool
accepts(const char *value)
{
    struct http_header field = { STR("accept-encoding"), str_from(value) };
    struct http_request r = { .headers = &field, .header_count = 1 };

    return http_accepts_gzip(&r);
}

static void
test_gzip(void **state)
{
    struct http_request none = { .header_count = 0 };

    (void)state;
    assert_false(http_accepts_gzip(&none));
    assert_true(accepts("gzip"));
    assert_true(accepts("GZIP"));
    assert_true(accepts("x-gzip"));
    assert_true(accepts("gzip, deflate, br, zstd"));
    assert_true(accepts("br;q=1.0, gzip;q=0.8, *;q=0.1"));
    assert_true(accepts("*"));
    assert_true(accepts("gzip;q=0.001"));
    assert_true(accepts("deflate, *;q=0.5"));
}

static void
test_no_gzip(void **state)
{
    (void)state;
    assert_false(accepts(""));
    assert_false(accepts("identity"));
    assert_false(accepts("br, deflate"));
    assert_false(accepts("gzip;q=0"));
    assert_false(accepts("gzip;q=0.000"));
    assert_false(accepts("gzip; q=0, *"));
    assert_false(accepts("*;q=0"));
    assert_false(accepts("gzipped"));
    assert_false(accepts("gzip;q=0.5, identity;q=1"));
}

static void
test_quality(void **state)
{
    (void)state;
    assert_int_equal(http_quality(STR("")), 1000);
    assert_int_equal(http_quality(STR("q=0.8")), 800);
    assert_int_equal(http_quality(STR(" level=1 ; Q=0.25")), 250);
    assert_int_equal(http_quality(STR("q=1.000")), 1000);
    assert_int_equal(http_quality(STR("q=0")), 0);
    assert_int_equal(http_quality(STR("q=x")), 1000);
    assert_int_equal(http_quality(STR("q=0.1234")), 1000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_no_gzip),
        cmocka_unit_test(test_quality),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

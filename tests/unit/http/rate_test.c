/*
 * How rates are written.
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

#include "http/filter/rate.h"

static void
test_rates(void **state)
{
    static const char *const bad[] = {
        "",     "10",    "/s",    "0/s",   "10/",       "10/d",
        "-1/s", "10/ s", "1.5/s", "10/s ", "1000001/s", "10 /s",
    };
    struct errmsg err;
    int64_t us;

    (void)state;
    assert_int_equal(rate_parse(STR("10/s"), &us, &err), 0);
    assert_int_equal(us, 100000);
    assert_int_equal(rate_parse(STR("600/m"), &us, &err), 0);
    assert_int_equal(us, 100000);
    assert_int_equal(rate_parse(STR("1/h"), &us, &err), 0);
    assert_true(us == (int64_t)3600 * 1000000);
    assert_int_equal(rate_parse(STR("1000000/s"), &us, &err), 0);
    assert_int_equal(us, 1);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (rate_check(str_from(bad[i]), &err) == 0) {
            fail_msg("\"%s\" was taken", bad[i]);
        }
    }
}

static void
test_keys(void **state)
{
    enum rate_key key;
    struct str header;
    struct errmsg err;

    (void)state;
    assert_int_equal(rate_parse_key(STR("address"), &key, &header, &err), 0);
    assert_int_equal(key, RATE_ADDRESS);
    assert_int_equal(rate_parse_key(STR("location"), &key, &header, &err), 0);
    assert_int_equal(key, RATE_LOCATION);
    assert_int_equal(rate_parse_key(STR("header:X-Key"), &key, &header, &err),
                     0);
    assert_int_equal(key, RATE_HEADER);
    assert_true(str_eq(header, STR("X-Key")));
    assert_int_equal(rate_check_key(STR("header:"), &err), -1);
    assert_int_equal(rate_check_key(STR("cookie:x"), &err), -1);
    assert_int_equal(rate_check_key(STR(""), &err), -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

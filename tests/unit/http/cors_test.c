/*
 * Which origins are allowed.
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

#include "http/filter/cors.h"

static struct str list[] = {
    { "https://a.example", 17 },
    { "https://*.b.example", 19 },
    { "http://localhost:3000", 21 },
};
static const struct http_cors some = { .origins = list, .origin_count = 3 };

static void
test_origins(void **state)
{
    static const char *const good[] = {
        "https://a.example",
        "https://x.b.example",
        "https://x.y-1.b.example",
        "http://localhost:3000",
    };
    static const char *const bad[] = {
        "",
        "null",
        "*",
        "http://a.example",
        "https://a.example:443",
        "https://a.example.evil.example",
        "https://xa.example",
        "https://A.example",
        "https://b.example",
        "https://.b.example",
        "https://xb.example",
        "https://evil.example/.b.example",
        "https://evil.example#.b.example",
        "https://evil.example:1.b.example",
        "https://u@x.b.example",
        "http://x.b.example",
        "http://localhost:30001",
        "http://localhost",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(cors_allows(&some, str_from(good[i])));
    }
    for (size_t i = 1; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (cors_allows(&some, str_from(bad[i]))) {
            fail_msg("%s was allowed", bad[i]);
        }
    }
    assert_false(cors_is_any(&some));
}

static void
test_settings(void **state)
{
    static const char *const bad[] = {
        "",
        "a.example",
        "https://",
        "https://*",
        "https://a.example/",
        "https://A.example",
        "ftp://a.example",
        "https://*a.example",
        "https://a.*.example",
        "https://a.example:0",
        "https://a.example:x",
        "null",
        "https://a b",
        "https://**.a.example",
    };
    struct errmsg err;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(cors_check_origin(list[i], &err), 0);
    }
    assert_int_equal(cors_check_origin(STR("*"), &err), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (cors_check_origin(str_from(bad[i]), &err) == 0) {
            fail_msg("%s was taken", bad[i]);
        }
    }
    assert_int_equal(cors_check_header(STR("X-Mine"), &err), 0);
    assert_int_equal(cors_check_header(STR("X Mine"), &err), -1);
    assert_int_equal(cors_check_header(STR("X-Mine, X"), &err), -1);
    assert_int_equal(cors_check_method(STR("GET\r\n"), &err), -1);
    assert_int_equal(cors_check_method(STR(""), &err), -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_origins),
        cmocka_unit_test(test_settings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

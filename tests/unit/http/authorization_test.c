/*
 * The Authorization header.
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

#include "http/filter/authorization.h"

static struct pool *pool;

static int
set_up(void **state)
{
    (void)state;
    pool = pool_new(256);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    pool_free(&pool);
    return 0;
}

static struct authorization
parse(const char *value)
{
    struct authorization a;

    authorization_parse(pool, str_from(value), &a);
    return a;
}

static void
test_basic(void **state)
{
    struct authorization a = parse("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");

    (void)state;
    assert_int_equal(a.kind, AUTHORIZATION_BASIC);
    assert_true(str_eq(a.user, STR("Aladdin")));
    assert_true(str_eq(a.password, STR("open sesame")));
    a = parse("bAsIc   YTpiOmM="); /* a:b:c */
    assert_int_equal(a.kind, AUTHORIZATION_BASIC);
    assert_true(str_eq(a.user, STR("a")));
    assert_true(str_eq(a.password, STR("b:c")));
    a = parse("Basic Og=="); /* : */
    assert_int_equal(a.kind, AUTHORIZATION_BASIC);
    assert_int_equal(a.user.len + a.password.len, 0);
}

static void
test_bearer(void **state)
{
    struct authorization a = parse("Bearer abc.DEF-_~+/==");

    (void)state;
    assert_int_equal(a.kind, AUTHORIZATION_BEARER);
    assert_true(str_eq(a.token, STR("abc.DEF-_~+/==")));
    assert_int_equal(parse("BEARER x").kind, AUTHORIZATION_BEARER);
    assert_int_equal(parse("Digest username=\"a\"").kind, AUTHORIZATION_OTHER);
    assert_int_equal(parse("Negotiate").kind, AUTHORIZATION_OTHER);
}

static void
test_malformed(void **state)
{
    static const char *const bad[] = {
        "",
        " ",
        "Bearer",
        "Bearer ",
        "Bearer a b",
        "Bearer a=b",
        "Bearer =",
        "Bearer \"a\"",
        "Bearer a,b",
        "Basic",
        "Basic YQ==",     /* no colon */
        "Basic YTpi\tx",  /* rubbish behind it */
        "Basic YTpiCg==", /* a newline in the password */
        "Basic AGE6Yg==", /* NUL in the user */
        "Basic YTpiYw=",
        "B/sic YTpi",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (parse(bad[i]).kind != AUTHORIZATION_BAD) {
            fail_msg("\"%s\" was taken", bad[i]);
        }
    }
}

static void
test_size(void **state)
{
    static char big[AUTHORIZATION_MAX + 2] = "Bearer ";

    (void)state;
    for (size_t i = 7; i < sizeof(big) - 1; i++) {
        big[i] = 'a';
    }
    assert_int_equal(parse(big).kind, AUTHORIZATION_BAD);
    big[AUTHORIZATION_MAX] = '\0';
    assert_int_equal(parse(big).kind, AUTHORIZATION_BEARER);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_basic),
        cmocka_unit_test(test_bearer),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_size),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}

/*
 * Paths and query values, decoded and encoded.
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

#include <string.h>

#include "http/path.h"

static const struct {
    const char *raw, *path; /* NULL: refused */
} decoded[] = {
    { "/", "/" },
    { "/a", "/a" },
    { "/a/", "/a/" },
    { "/a/b.c", "/a/b.c" },
    { "/a%20b", "/a b" },
    { "/%41%5a%7e", "/AZ~" },
    { "/a+b", "/a+b" },
    { "/%c3%a4", "/\xc3\xa4" },
    { "/%ff", "/\xff" },
    { "//", "/" },
    { "//a///b//", "/a/b/" },
    { "/.", "/" },
    { "/./a/./b/.", "/a/b/" },
    { "/a/..", "/" },
    { "/a/../", "/" },
    { "/a/../b", "/b" },
    { "/a/b/../c", "/a/c" },
    { "/a/b/..", "/a/" },
    { "/a/b/../..", "/" },
    { "/a//../b", "/b" },
    { "/...", "/..." },
    { "/.a/..b/c.", "/.a/..b/c." },
    { "/a%2fb", "/a/b" },
    { "/a%2F..%2Fb", "/b" },
    { "/a/%2e%2e/b", "/b" },
    { "/a/.%2E/b", "/b" },
    { "/%252e%252e/", "/%2e%2e/" }, /* once only */
    { "/a%5c..%5cb", "/a\\..\\b" },
    { "/..", NULL },
    { "/../a", NULL },
    { "/a/../../b", NULL },
    { "/%2e%2e/a", NULL },
    { "/..%2fa", NULL },
    { "/%2e%2e%2fa", NULL },
    { "//../a", NULL },
    { "/%", NULL },
    { "/%4", NULL },
    { "/a%4", NULL },
    { "/%zz", NULL },
    { "/%4g", NULL },
    { "/%00", NULL },
    { "/a%00.html", NULL },
    { "/%0a", NULL },
    { "/%0d%0aX:", NULL },
    { "/%7f", NULL },
    { "%2f", "/" },
    { "a", NULL },
    { "", NULL },
};

static void
test_decode(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(decoded) / sizeof(decoded[0]); i++) {
        struct pool *pool = pool_new(256);
        struct str path = STR_NONE;
        int rc = http_path_decode(pool, str_from(decoded[i].raw), &path);

        if (decoded[i].path == NULL) {
            assert_int_equal(rc, -1);
        } else if (rc == -1 || strcmp(path.ptr, decoded[i].path) != 0 ||
                   path.len != strlen(decoded[i].path)) {
            fail_msg("%s: %s", decoded[i].raw, rc == -1 ? "refused" : path.ptr);
        }
        pool_free(&pool);
    }
}

/* What is encoded decodes to itself and is plain ASCII. */
static void
test_encode(void **state)
{
    struct pool *pool = pool_new(256);
    char all[256] = "/";
    struct str back;

    (void)state;
    for (int i = 1; i < 256; i++) { /* no controls: they do not decode */
        all[i] = (char)(i < ' ' || i == 0x7f || i == '/' || i == '.' ? 'x' : i);
    }
    struct str encoded = http_path_encode(pool, str_of(all, sizeof(all)));

    for (size_t i = 0; i < encoded.len; i++) {
        assert_true(encoded.ptr[i] > ' ' && encoded.ptr[i] < 0x7f);
        assert_null(strchr("\"<>\\^`{|}?#", encoded.ptr[i]));
    }
    assert_int_equal(http_path_decode(pool, encoded, &back), 0);
    assert_true(str_eq(back, str_of(all, sizeof(all))));
    assert_true(str_eq(http_path_encode(pool, STR("/a b%")), STR("/a%20b%25")));
    assert_true(str_eq(http_query_encode(pool, STR("a-b_c.~ &=+#/%")),
                       STR("a-b_c.~%20%26%3D%2B%23%2F%25")));
    pool_free(&pool);
}

static void
test_local(void **state)
{
    static const struct {
        const char *raw, *local;
    } rows[] = {
        { "//a", "/a" },    { "/\\a", "/a" },
        { "\\\\/a", "/a" }, { "/a//b", "/a//b" },
        { "/", "/" },       { "", "" },
        { "///", "/" },     { "http://a/", "http://a/" },
    };
    struct pool *pool = pool_new(256);

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_true(str_eq(http_path_local(pool, str_from(rows[i].raw)),
                           str_from(rows[i].local)));
    }
    pool_free(&pool);
}

static void
test_query_is(void **state)
{
    (void)state;
    assert_true(http_query_is(STR("a+b%2Bc"), STR("a b+c")));
    assert_true(http_query_is(STR("%"), STR("%")));
    assert_true(http_query_is(STR(""), STR("")));
    assert_false(http_query_is(STR("ab"), STR("a")));
    assert_false(http_query_is(STR("a"), STR("ab")));
    assert_false(http_query_is(STR("a"), STR("b")));
    assert_false(http_query_is(STR("a"), STR("")));
    assert_false(http_query_is(STR(""), STR("a")));
    assert_false(http_query_is(STR("a%2B"), STR("a%2B")));
    assert_false(http_query_is(STR("a+"), STR("a+")));
}

static void
test_query_decode(void **state)
{
    struct pool *pool = pool_new(256);

    (void)state;
    assert_true(str_eq(http_query_decode(pool, STR("a+b%2Bc")), STR("a b+c")));
    assert_true(str_eq(http_query_decode(pool, STR("%")), STR("%")));
    assert_true(str_eq(http_query_decode(pool, STR("%4")), STR("%4")));
    assert_true(str_eq(http_query_decode(pool, STR("%zz%41")), STR("%zzA")));
    assert_true(str_eq(http_query_decode(pool, STR("")), STR("")));
    pool_free(&pool);
}

static void
test_query_is_encoded(void **state)
{
    (void)state;
    assert_true(http_query_is_encoded(STR("")));
    assert_true(http_query_is_encoded(STR("a+b%2Bc%00")));
    assert_false(http_query_is_encoded(STR("%")));
    assert_false(http_query_is_encoded(STR("a%4")));
    assert_false(http_query_is_encoded(STR("%41%zz")));
}

static void
last_segments(void **state)
{
    (void)state;
    assert_true(str_eq(http_path_last(STR("/a/b.c")), STR("b.c")));
    assert_true(str_eq(http_path_last(STR("/a/")), STR("")));
    assert_true(str_eq(http_path_last(STR("a")), STR("a")));
    assert_true(str_eq(http_path_last(STR("")), STR("")));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(last_segments),
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_encode),
        cmocka_unit_test(test_local),
        cmocka_unit_test(test_query_is),
        cmocka_unit_test(test_query_decode),
        cmocka_unit_test(test_query_is_encoded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

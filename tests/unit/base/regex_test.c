/*
 * Patterns: groups, mistakes, and texts that were made to take for ever.
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

#include "base/regex.h"

static struct pool *pool;
static struct errmsg err;

static int
setup(void **state)
{
    (void)state;
    pool = pool_new(1024);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    pool_free(&pool);
    return 0;
}

static struct regex *
make(const char *pattern)
{
    struct regex *r = regex_new(pool, str_from(pattern), REGEX_CASE, &err);

    assert_non_null(r);
    return r;
}

static void
is(struct str s, const char *text)
{
    assert_int_equal(s.len, strlen(text));
    assert_memory_equal(s.ptr, text, s.len);
}

static void
test_groups(void **state)
{
    struct regex *r = make("^/(?<kind>[a-z]+)/(?:x|(y))?/?([0-9]+)$");
    struct regex_match m;

    (void)state;
    assert_int_equal(regex_groups(r), 4);
    assert_int_equal(regex_match(r, STR("/users/12"), &m), REGEX_YES);
    assert_int_equal(m.count, 4);
    is(m.groups[0], "/users/12");
    is(m.groups[1], "users");
    is(m.groups[2], "");
    is(m.groups[3], "12");
    assert_int_equal(regex_group(r, STR("kind")), 1);
    assert_int_equal(regex_group(r, STR("3")), 3);
    assert_int_equal(regex_group(r, STR("4")), -1);
    assert_int_equal(regex_group(r, STR("kin")), -1);
    assert_int_equal(regex_group(r, STR("")), -1);
    is(regex_group_name(r, 1), "kind");
    is(regex_group_name(r, 2), "");
    is(regex_group_name(r, 99), "");
    assert_int_equal(regex_match(r, STR("/users/12x"), &m), REGEX_NO);
    assert_int_equal(regex_match(r, STR("/users/12"), NULL), REGEX_YES);
}

/* A newline at the end is a byte like any other; bytes need not be UTF-8. */
static void
test_bytes(void **state)
{
    struct regex_match m;

    (void)state;
    assert_int_equal(regex_match(make("^a$"), STR("a\n"), &m), REGEX_NO);
    assert_int_equal(regex_match(make("^(.+)$"), STR("\xff\xfe"), &m),
                     REGEX_YES);
    assert_int_equal(m.groups[1].len, 2);
    assert_int_equal(regex_match(make("a"), STR("A"), &m), REGEX_NO);
    assert_int_equal(regex_match(regex_new(pool, STR("a"), REGEX_NOCASE, &err),
                                 STR("A"), &m),
                     REGEX_YES);
}

static void
test_mistakes(void **state)
{
    char many[200] = "", longest[REGEX_PATTERN_MAX + 2];

    (void)state;
    assert_null(regex_new(pool, STR("^/(a"), REGEX_CASE, &err));
    assert_non_null(strstr(err.text, "pattern \"^/(a\""));
    assert_non_null(strstr(err.text, "at byte 4"));
    assert_null(regex_new(pool, STR(""), REGEX_CASE, &err));
    assert_null(regex_new(pool, STR("(*UTF)a"), REGEX_CASE, &err));
    memset(longest, 'a', sizeof(longest));
    assert_null(regex_new(pool, str_of(longest, sizeof(longest) - 1),
                          REGEX_CASE, &err));
    for (int i = 0; i < REGEX_GROUPS_MAX; i++) {
        assert_null(strstr(many, "]"));
        str_append(many, sizeof(many), strlen(many), STR("(a)"));
    }
    assert_null(regex_new(pool, str_from(many), REGEX_CASE, &err));
    assert_non_null(strstr(err.text, "more than 15 groups"));
    assert_non_null(
        regex_new(pool, str_first(str_from(many), 45), REGEX_CASE, &err));
}

/* Without a limit the first takes years, the second much memory. */
static void
test_limits(void **state)
{
    char text[8192];
    struct regex_match m;

    (void)state;
    memset(text, 'a', sizeof(text));
    assert_int_equal(regex_match(make("^(a+)+$"),
                                 STR("aaaaaaaaaaaaaaaaaaaaaaa"
                                     "aaaaaaaaaaaaaaaaaaab"),
                                 &m),
                     REGEX_LIMIT);
    assert_int_equal(
        regex_match(make("^[ab]*c"), str_of(text, sizeof(text)), &m), REGEX_NO);
    assert_int_equal(
        regex_match(make("^(?:(a)|(b))*c"), str_of(text, sizeof(text)), &m),
        REGEX_LIMIT);
    assert_int_equal(
        regex_match(make("^/a+$"), STR("/aaaaaaaaaaaaaaaaaaaa"), &m),
        REGEX_YES);
}

/* The limit is for all places where a match may begin, not for each. */
static void
test_places(void **state)
{
    char text[8192];
    struct regex_match m;

    (void)state;
    for (size_t i = 0; i < sizeof(text); i++) {
        text[i] = i % 2 == 0 ? '/' : 'a';
    }
    text[sizeof(text) - 1] = 's';
    assert_int_equal(
        regex_match(make("(.+)\\.ts$"), str_of(text, sizeof(text)), &m),
        REGEX_LIMIT);
    assert_int_equal(
        regex_match(make("^(.+)\\.ts$"), str_of(text, sizeof(text)), &m),
        REGEX_NO);
    assert_int_equal(regex_match(make("(.+)\\.ts$"), str_of(text, 300), &m),
                     REGEX_NO);
    assert_int_equal(
        regex_match(make("\\.ts$"), str_of(text, sizeof(text)), &m), REGEX_NO);
    assert_int_equal(regex_match(make("(.+)\\.ts$"), STR("/a/b.ts"), &m),
                     REGEX_YES);
    is(m.groups[1], "/a/b");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups),   cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_mistakes), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_places),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}

/*
 * The order of names, their forms, and hosts that fit none.
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

#include "base/hash.h"
#include "net/host_names.h"

#define NOBODY 99

static struct pool *pool;
static struct host_names *names;

static int
setup(void **state)
{
    static const char *const all[] = {
        "example.org",   "*.example.org",    "*.a.example.org",
        "www.example.*", "~^w[0-9]+\\.x$",   "~[0-9]",
        ".both.org",     "www.example.co.*", "EXAMPLE.org",
        "::1",
    };
    struct errmsg err;

    (void)state;
    hash_init();
    pool = pool_new(1024);
    names = host_names_new(pool, 4);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        assert_int_equal(host_names_add(names, str_from(all[i]), i, &err), 0);
    }
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    pool_free(&pool);
    return 0;
}

static size_t
find(const char *host)
{
    struct host_found found;

    return host_names_find(names, str_from(host), &found) == HOST_FOUND
               ? found.value
               : NOBODY;
}

static void
test_order(void **state)
{
    (void)state;
    assert_int_equal(find("example.org"), 0);
    assert_int_equal(find("Example.ORG"), 0);
    assert_int_equal(find("b.example.org"), 1);
    assert_int_equal(find("c.b.example.org"), 1);
    assert_int_equal(find("a.example.org"), 1);
    assert_int_equal(find("b.A.example.org"), 2);
    assert_int_equal(find("www.example.org"), 1); /* a star in front first */
    assert_int_equal(find("www.example.net"), 3);
    assert_int_equal(find("www.example.co.uk"), 7);
    assert_int_equal(find("w12.x"), 4);
    assert_int_equal(find("w12.y"), 5);
    assert_int_equal(find("both.org"), 6);
    assert_int_equal(find("a.both.org"), 6);
    assert_int_equal(find("::1"), 9);
}

static void
test_none(void **state)
{
    char longest[400];

    (void)state;
    memset(longest, 'a', sizeof(longest));
    str_copy(longest + 300, 100, STR(".example.org"));
    assert_int_equal(find(""), NOBODY);
    assert_int_equal(find("."), NOBODY);
    assert_int_equal(find("org"), NOBODY);
    assert_int_equal(find(".example"), NOBODY);
    assert_int_equal(find("aexample.org"), NOBODY);
    assert_int_equal(find("example.org.x"), NOBODY);
    assert_int_equal(find("www.example"), NOBODY);
    assert_int_equal(find("wwww.example.net"), NOBODY);
    assert_int_equal(find(longest), NOBODY);
    assert_int_equal(find(longest + 250), 1);
}

static void
test_limit(void **state)
{
    struct host_names *n = host_names_new(pool, 1);
    struct host_found found;
    struct errmsg err;

    (void)state;
    assert_int_equal(host_names_add(n, STR("~^(a+)+$"), 0, &err), 0);
    assert_int_equal(
        host_names_find(n, STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"),
                        &found),
        HOST_LIMIT);
}

static void
test_forms(void **state)
{
    static const char *const bad[] = { "",   "*",     "*.",  "a b",   "a:*",
                                       "~(", "a.*.b", "..a", "*.a.*", "a/" };
    struct errmsg err;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(host_name_check(str_from(bad[i]), &err), -1);
    }
    assert_true(host_name_same(STR("a.b"), STR("A.B")));
    assert_true(host_name_same(STR(".a.b"), STR("a.b")));
    assert_true(host_name_same(STR(".a.b"), STR("*.a.b")));
    assert_false(host_name_same(STR("*.a.b"), STR("a.b")));
    assert_false(host_name_same(STR("~a"), STR("~A")));
}

static void
is(struct str s, const char *text)
{
    assert_int_equal(s.len, strlen(text));
    assert_memory_equal(s.ptr, text, s.len);
}

static void
test_authorities(void **state)
{
    (void)state;
    is(host_of_authority(STR("a.b:80")), "a.b");
    is(host_of_authority(STR("a.b.:80")), "a.b");
    is(host_of_authority(STR("a.b")), "a.b");
    is(host_of_authority(STR("[::1]:80")), "::1");
    is(host_of_authority(STR("[::1")), "::1");
    is(host_of_authority(STR("")), "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),       cmocka_unit_test(test_none),
        cmocka_unit_test(test_limit),       cmocka_unit_test(test_forms),
        cmocka_unit_test(test_authorities),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}

/*
 * Access rules: the first match decides, no match denies.
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

#include "net/access.h"

static struct pool *pool;

static int
set_up(void **state)
{
    (void)state;
    pool = pool_new(1024);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    pool_free(&pool);
    return 0;
}

static bool
allows(const char *rules, const char *peer)
{
    struct str list[8], rest = str_from(rules);
    struct addr a = { .family = AF_UNIX };
    struct errmsg err;
    size_t count = 0;

    while (rest.len > 0) {
        list[count] = str_trim(str_cut(&rest, ','));
        assert_int_equal(access_check_rule(list[count], &err), 0);
        count++;
    }
    if (strcmp(peer, "unix") != 0) {
        assert_int_equal(addr_parse_ip(str_from(peer), &a), 0);
    }
    return access_allows(access_parse(pool, list, count), &a);
}

static void
names(void **state)
{
    static const struct str list[] = { { "192.0.2.0/24", 12 },
                                       { "unix:", 5 },
                                       { "2001:db8::1", 11 } };
    const struct access_list *l = access_parse_names(pool, list, 3);
    struct addr a = { .family = AF_UNIX };
    struct errmsg err;

    (void)state;
    assert_true(access_names(l, &a));
    assert_false(access_names(NULL, &a));
    assert_false(access_names(access_parse_names(pool, list, 0), &a));
    assert_int_equal(addr_parse_ip(STR("192.0.2.200"), &a), 0);
    assert_true(access_names(l, &a));
    assert_int_equal(addr_parse_ip(STR("192.0.3.1"), &a), 0);
    assert_false(access_names(l, &a));
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(access_check_name(list[i], &err), 0);
    }
    assert_int_equal(access_check_name(STR("allow all"), &err), -1);
    assert_int_equal(access_check_name(STR("10.0.0.0/33"), &err), -1);
    assert_int_equal(access_check_name(STR(""), &err), -1);
}

static void
no_list_allows_everybody(void **state)
{
    struct addr a = { .family = AF_INET };

    (void)state;
    assert_true(access_allows(NULL, &a));
}

static void
no_match_is_denied(void **state)
{
    (void)state;
    assert_false(allows("", "127.0.0.1"));
    assert_false(allows("allow 10.0.0.0/8", "11.0.0.1"));
    assert_false(allows("deny 10.0.0.1", "10.0.0.2"));
}

static void
first_match_wins(void **state)
{
    (void)state;
    assert_true(allows("allow loopback, deny all", "127.0.0.1"));
    assert_true(allows("allow loopback, deny all", "::1"));
    assert_true(allows("allow loopback, deny all", "unix"));
    assert_false(allows("allow loopback, deny all", "10.0.0.1"));
    assert_false(allows("deny 10.1.0.0/16, allow 10.0.0.0/8", "10.1.2.3"));
    assert_true(allows("deny 10.1.0.0/16, allow 10.0.0.0/8", "10.2.2.3"));
    assert_false(
        allows("deny private, deny linklocal, allow all", "192.168.1.1"));
    assert_false(allows("deny private, deny linklocal, allow all", "fe80::1"));
    assert_true(allows("deny private, deny linklocal, allow all", "8.8.8.8"));
}

static void
prefixes(void **state)
{
    (void)state;
    assert_true(allows("allow 10.0.0.0/9", "10.127.255.255"));
    assert_false(allows("allow 10.0.0.0/9", "10.128.0.0"));
    assert_true(allows("allow 1.2.3.4", "1.2.3.4"));
    assert_false(allows("allow 1.2.3.4", "1.2.3.5"));
    assert_true(allows("allow 1.2.3.4/31", "1.2.3.5"));
    assert_true(allows("allow 10.9.9.9/8", "10.0.0.1")); /* low bits: any */
    assert_true(allows("allow 2001:db8::/33", "2001:db8:7fff::1"));
    assert_false(allows("allow 2001:db8::/33", "2001:db8:8000::1"));
    assert_true(allows("allow ::1", "::1"));
    assert_true(allows("allow 2001:db8::1/128", "2001:db8::1"));
}

static void
families_do_not_mix(void **state)
{
    (void)state;
    assert_true(allows("allow 0.0.0.0/0", "9.9.9.9"));
    assert_false(allows("allow 0.0.0.0/0", "2001:db8::1"));
    assert_false(allows("allow ::/0", "9.9.9.9"));
    assert_false(allows("allow 0.0.0.0/0", "unix"));
    assert_true(allows("allow all", "unix"));
    /* A mapped peer is an IPv4 peer, and so is a mapped rule. */
    assert_true(allows("allow 10.0.0.0/8", "::ffff:10.0.0.1"));
    assert_true(allows("allow ::ffff:10.0.0.0/104", "10.7.7.7"));
    assert_false(allows("allow ::ffff:10.0.0.0/104", "11.7.7.7"));
}

static void
wrong_rules(void **state)
{
    static const char *const wrong[] = {
        "",
        "allow",
        "all",
        "permit all",
        "Allow all",
        "allowall",
        "allow all all",
        "allow localhost",
        "allow 10.0.0.0/33",
        "allow 10.0.0.0/",
        "allow 10.0.0.0/-1",
        "allow 10.0.0/8",
        "allow ::/129",
        "allow ::ffff:10.0.0.0/95",
        "deny 1.2.3.4:80",
    };
    struct errmsg err;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (access_check_rule(str_from(wrong[i]), &err) != -1) {
            fail_msg("%s was taken", wrong[i]);
        }
        assert_non_null(strstr(err.text, wrong[i]));
    }
    assert_int_equal(access_check_rule(STR("  deny   all "), &err), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(names),
        TEST(no_list_allows_everybody),
        TEST(no_match_is_denied),
        TEST(first_match_wins),
        TEST(prefixes),
        TEST(families_do_not_mix),
        TEST(wrong_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

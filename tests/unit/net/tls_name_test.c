/*
 * Which certificate a name is shown.
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

#include "net/tls_name.h"

static bool
covers(const char *pattern, const char *host)
{
    return tls_name_covers(str_from(pattern), str_from(host));
}

static void
a_name_covers_itself_in_any_case(void **state)
{
    (void)state;
    assert_true(covers("example.org", "example.org"));
    assert_true(covers("Example.ORG", "eXample.org"));
    assert_false(covers("example.org", "www.example.org"));
    assert_false(covers("www.example.org", "example.org"));
    assert_false(covers("example.org", "example.orga"));
    assert_false(covers("", ""));
}

static void
a_star_is_one_whole_label(void **state)
{
    (void)state;
    assert_true(covers("*.example.org", "www.example.org"));
    assert_true(covers("*.Example.org", "WWW.example.ORG"));
    assert_false(covers("*.example.org", "example.org"));
    assert_false(covers("*.example.org", "a.b.example.org"));
    assert_false(covers("*.example.org", ".example.org"));
    assert_false(covers("*.", "org."));
    assert_false(covers("*", "org"));
    assert_false(covers("w*.example.org", "www.example.org"));
    assert_false(covers("www.*.org", "www.example.org"));
}

static void
exact_names_go_before_stars_and_the_first_is_for_strangers(void **state)
{
    struct str first[] = { STR("first.org") };
    struct str stars[] = { STR("*.example.org"), STR("x.org") };
    struct str exact[] = { STR("y.org"), STR("www.example.org") };
    const struct tls_names all[] = { { first, 1 }, { stars, 2 }, { exact, 2 } };

    (void)state;
    assert_int_equal(tls_choose(all, 3, STR("first.org")), 0);
    assert_int_equal(tls_choose(all, 3, STR("www.example.org")), 2);
    assert_int_equal(tls_choose(all, 3, STR("WWW.Example.org.")), 2);
    assert_int_equal(tls_choose(all, 3, STR("ftp.example.org")), 1);
    assert_int_equal(tls_choose(all, 3, STR("x.org")), 1);
    assert_int_equal(tls_choose(all, 3, STR("nobody.org")), 0);
    assert_int_equal(tls_choose(all, 3, STR_NONE), 0);
    assert_int_equal(tls_choose(all, 3, STR(".")), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_covers_itself_in_any_case),
        cmocka_unit_test(a_star_is_one_whole_label),
        cmocka_unit_test(
            exact_names_go_before_stars_and_the_first_is_for_strangers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

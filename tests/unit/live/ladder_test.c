/*
 * Names of the members of a ladder.
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

#include "live/ladder.h"

static const struct live_ladder ladder = { 2, { "_720", "_360" } };

static void
test_members_have_places(void **state)
{
    struct str shared;

    (void)state;
    assert_int_equal(live_ladder_place(&ladder, STR("live/film_720"), &shared),
                     0);
    assert_true(str_eq(shared, STR("live/film")));
    assert_int_equal(live_ladder_place(&ladder, STR("live/film_360"), &shared),
                     1);
    assert_int_equal(live_ladder_place(&ladder, STR("live/a/b_360"), &shared),
                     1);
    assert_true(str_eq(shared, STR("live/a/b")));
}

static void
test_others_have_none(void **state)
{
    static const struct live_ladder none = { .count = 0 };
    struct str shared;

    (void)state;
    assert_int_equal(live_ladder_place(&ladder, STR("live/film"), &shared), -1);
    assert_int_equal(live_ladder_place(&ladder, STR("_720"), &shared), -1);
    assert_int_equal(live_ladder_place(&ladder, STR("live/_720"), &shared), -1);
    assert_int_equal(live_ladder_place(&none, STR("live/film_720"), &shared),
                     -1);
}

static void
test_members_are_named(void **state)
{
    char text[LIVE_NAME_MAX], name[LIVE_NAME_MAX];

    (void)state;
    assert_true(str_eq(live_ladder_member(&ladder, 1, STR("live/film"), text),
                       STR("live/film_360")));
    assert_string_equal(text, "live/film_360");
    assert_int_equal(live_ladder_member(&ladder, 2, STR("live/film"), text).len,
                     0);
    memset(name, 'x', sizeof(name));
    assert_int_equal(
        live_ladder_member(&ladder, 0, str_of(name, LIVE_NAME_MAX - 4), text)
            .len,
        0);
    assert_int_equal(
        live_ladder_member(&ladder, 0, str_of(name, LIVE_NAME_MAX - 5), text)
            .len,
        LIVE_NAME_MAX - 1);
}

/* It lies in shared memory, where another process may write anything. */
static void
test_nothing_is_believed(void **state)
{
    struct live_ladder odd;
    struct str shared;

    (void)state;
    memset(&odd, 'x', sizeof(odd));
    assert_int_equal(live_ladder_place(&odd, STR("live/film"), &shared), -1);
    memset(odd.suffixes, 0, sizeof(odd.suffixes));
    assert_int_equal(live_ladder_place(&odd, STR("live/film"), &shared), -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members_have_places),
        cmocka_unit_test(test_others_have_none),
        cmocka_unit_test(test_members_are_named),
        cmocka_unit_test(test_nothing_is_believed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Snapshots that are not good any more for those who join.
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

#include "snapshot_help.h"

static void
may_be_stale_without_an_event(void **state)
{
    struct fake *f = ask_for("0/two,");

    (void)state;
    answer(0, RPC_OK, "1");
    answer(1, RPC_OK, "1");
    fake_free(&f);
    sio_halls_stale(&point, STR("/two"), "dirs");
    sio_halls_stale(&point, STR("/two"), "other");
    sio_halls_stale(&point, STR("/none"), "all");
    f = ask_for("0/two,");
    assert_int_equal(asked[0], 1);
    assert_int_equal(asked[1], 2);
    answer(1, RPC_OK, "2");
    assert_connected(f);
    assert_next(f, "42/two,[\"all\",1]");
    assert_next(f, "42/two,[\"dirs\",2]");
    fake_free(&f);
}

/* The one that it was asked for has gone, and what is on its way is stale for
 * those who came behind the event. */
static void
is_asked_again_for_one_that_comes_late(void **state)
{
    struct fake *f = ask_for("0"), *late;

    (void)state;
    answer(0, RPC_MORE, "[1");
    tell("/", "added", "2", "all");
    fake_free(&f);
    fake_turns(loop, 0);
    late = ask_for("0");
    answer(0, RPC_OK, "]");
    assert_next(late, "");
    assert_int_equal(asked[0], 2);
    answer(0, RPC_OK, "[1,2]");
    assert_connected(late);
    assert_next(late, "42[\"all\",[1,2]]");
    assert_next(late, "42[\"hello\"]");
    fake_free(&late);
}

static void
is_made_anew_when_an_event_was_lost(void **state)
{
    struct fake *f = ask_for("0"), *late;

    (void)state;
    answer(0, RPC_MORE, "1");
    sio_halls_renew(&point); /* what the role said does not count */
    answer(0, RPC_OK, "2");
    assert_connected(f);
    assert_next(f, "42[\"all\",2]");
    fake_forget(f);
    sio_halls_renew(&point);
    assert_null(calls[0]); /* it may not have read what there is */
    late = ask_for("0");
    fake_take_more(f, SIZE_MAX);
    answer(0, RPC_OK, "3");
    assert_next(f, "42[\"all\",3]");
    assert_next(f, "");
    assert_connected(late);
    assert_next(late, "42[\"all\",3]");
    fake_free(&f);
    fake_free(&late);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(may_be_stale_without_an_event),
        TEST(is_asked_again_for_one_that_comes_late),
        TEST(is_made_anew_when_an_event_was_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

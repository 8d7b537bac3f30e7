/*
 * Connections of a client, counted over processes that come and go.
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

#include <unistd.h>

#include "proc/census.h"
#include "proc/slot.h"

#define KEY(n) ((uint64_t)(n)*0x9e3779b97f4a7c15U)

static int first, second;

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    if (slots_create(4, &err) == -1 || census_create(4096, 4, &err) == -1) {
        return -1;
    }
    first = slot_take(SLOT_WORKER, "one", 0, 1);
    second = slot_take(SLOT_WORKER, "two", 1, 1);
    slot_set_self((uint32_t)first);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    slot_set_self(0);
    census_destroy();
    slots_destroy();
    return 0;
}

static void
is(uint64_t key, uint32_t connections, uint32_t incomplete)
{
    struct census c = census_of(key);

    assert_int_equal(c.connections, connections);
    assert_int_equal(c.incomplete, incomplete);
}

static void
test_one_process(void **state)
{
    (void)state;
    is(KEY(1), 0, 0);
    assert_true(census_enter(KEY(1)));
    assert_true(census_enter(KEY(1)));
    assert_true(census_enter(KEY(2)));
    is(KEY(1), 2, 2);
    is(KEY(2), 1, 1);
    census_mark(KEY(1), false);
    is(KEY(1), 2, 1);
    census_mark(KEY(1), true);
    is(KEY(1), 2, 2);
    census_leave(KEY(1), true);
    is(KEY(1), 1, 1);
    census_mark(KEY(1), false);
    census_leave(KEY(1), false);
    is(KEY(1), 0, 0);
    is(KEY(2), 1, 1);
}

/* Beyond what an entry counts a connection is not entered. */
static void
test_more_than_can_be_counted(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 0xffff; i++) {
        assert_true(census_enter(KEY(1)));
    }
    assert_false(census_enter(KEY(1)));
    is(KEY(1), 0xffff, 0xffff);
    census_leave(KEY(1), true);
    assert_true(census_enter(KEY(1)));
}

static void
test_processes_and_their_end(void **state)
{
    (void)state;
    census_enter(KEY(1));
    slot_set_self((uint32_t)second);
    census_enter(KEY(1));
    census_enter(KEY(1));
    is(KEY(1), 3, 3);
    /* The second one dies. */
    slot_bury((uint32_t)second);
    is(KEY(1), 1, 1);
    census_sweep((uint32_t)second);
    slot_release((uint32_t)second);
    assert_int_equal(slot_take(SLOT_WORKER, "two", 1, 1), second);
    is(KEY(1), 1, 1); /* its successor starts with nothing */
    census_enter(KEY(1));
    is(KEY(1), 2, 2);
}

/* Without room nothing is counted, and nothing else is hurt. */
static void
test_full(void **state)
{
    int entered = 0;

    (void)state;
    for (int i = 1; i <= 20000; i++) {
        entered += census_enter(KEY(i));
    }
    assert_in_range(entered, 4000, 8192);
    for (int i = 1; i <= 20000; i++) {
        if (census_of(KEY(i)).connections > 0) {
            census_leave(KEY(i), true);
            entered--;
        }
    }
    assert_int_equal(entered, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_more_than_can_be_counted, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_processes_and_their_end, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_full, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

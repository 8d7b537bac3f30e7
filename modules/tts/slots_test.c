/*
 * Slots: the order in which jobs run, the bounds of the queue.
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

#include "slots.h"

#define USERS 12

static struct slots slots;
static struct slot_user users[USERS];

static void
begin(int64_t children, int64_t queue)
{
    slots_init(&slots, children, queue);
    for (size_t i = 0; i < USERS; i++) {
        slot_user_init(&users[i]);
    }
}

static void
no_more_run_than_there_are_slots(void **state)
{
    (void)state;
    begin(2, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(slots_enter(&slots, &users[i]));
    }
    assert_ptr_equal(slots_next(&slots, true), &users[0]);
    assert_ptr_equal(slots_next(&slots, true), &users[1]);
    assert_null(slots_next(&slots, true));
    slots_leave(&slots, &users[0]);
    assert_ptr_equal(slots_next(&slots, true), &users[2]);
}

static void
a_full_queue_takes_no_more(void **state)
{
    (void)state;
    begin(2, 1);
    for (size_t i = 0; i < 3; i++) {
        assert_true(slots_enter(&slots, &users[i]));
    }
    assert_false(slots_enter(&slots, &users[3]));
    slots_next(&slots, true);
    assert_false(slots_enter(&slots, &users[3])); /* it has a slot, still */
    slots_leave(&slots, &users[0]);
    assert_true(slots_enter(&slots, &users[3]));
}

static void
without_a_queue_free_slots_are_taken(void **state)
{
    (void)state;
    begin(1, 0);
    assert_true(slots_enter(&slots, &users[0]));
    assert_false(slots_enter(&slots, &users[1]));
    assert_ptr_equal(slots_next(&slots, true), &users[0]);
    slots_pause(&slots, &users[0]);
    assert_true(slots_enter(&slots, &users[1]));
}

static void
one_that_pauses_gives_its_slot_back(void **state)
{
    (void)state;
    begin(1, 4);
    slots_enter(&slots, &users[0]);
    slots_enter(&slots, &users[1]);
    slots_next(&slots, true);
    slots_pause(&slots, &users[0]);
    assert_int_equal(slots.pauses, 1);
    assert_ptr_equal(slots_next(&slots, true), &users[1]);
    slots_want(&slots, &users[0]);
    assert_null(slots_next(&slots, true));
    slots_leave(&slots, &users[1]);
    assert_ptr_equal(slots_next(&slots, true), &users[0]);
    assert_int_equal(slots.pauses + slots.wants + slots.waits, 0);
}

/* Those that want come first, and yet new ones get every fourth slot. */
static void
new_ones_are_not_held_up_for_ever(void **state)
{
    size_t resumed = 0;

    (void)state;
    begin(10, 8);
    for (size_t i = 0; i < 10; i++) {
        slots_enter(&slots, &users[i]);
        slots_next(&slots, true);
    }
    for (size_t i = 0; i < 10; i++) {
        slots_pause(&slots, &users[i]);
        slots_want(&slots, &users[i]);
    }
    slots.children = 1;
    slots_enter(&slots, &users[10]);
    for (;;) {
        struct slot_user *u = slots_next(&slots, true);

        if (u == &users[10]) {
            break;
        }
        resumed++;
        slots_leave(&slots, u);
    }
    assert_int_equal(resumed, 3);
}

/* No zygote is ready: those that have a child go on. */
static void
only_those_that_want_go_on_without_a_zygote(void **state)
{
    (void)state;
    begin(2, 4);
    slots_enter(&slots, &users[0]);
    slots_enter(&slots, &users[1]);
    assert_null(slots_next(&slots, false));
    slots_next(&slots, true);
    slots_pause(&slots, &users[0]);
    slots_want(&slots, &users[0]);
    assert_ptr_equal(slots_next(&slots, false), &users[0]);
    assert_null(slots_next(&slots, false));
}

static void
one_that_comes_back_is_the_first(void **state)
{
    (void)state;
    begin(1, 4);
    slots_enter(&slots, &users[0]);
    slots_enter(&slots, &users[1]);
    slots_next(&slots, true);
    slots_return(&slots, &users[0]);
    assert_int_equal(slots.runs, 0);
    assert_int_equal(slots.waits, 2);
    assert_ptr_equal(slots_next(&slots, true), &users[0]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_more_run_than_there_are_slots),
        cmocka_unit_test(a_full_queue_takes_no_more),
        cmocka_unit_test(without_a_queue_free_slots_are_taken),
        cmocka_unit_test(one_that_pauses_gives_its_slot_back),
        cmocka_unit_test(new_ones_are_not_held_up_for_ever),
        cmocka_unit_test(only_those_that_want_go_on_without_a_zygote),
        cmocka_unit_test(one_that_comes_back_is_the_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

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

/* The first users are of one owner, those behind them of owners by their
 * letters. */
static void
begin_with(int64_t children, int64_t queue, const char *owners)
{
    slots_init(&slots, children, queue);
    for (size_t i = 0; i < USERS; i++) {
        const uint64_t owner[2] = { 1, *owners != '\0' ? (uint64_t)*owners++
                                                       : 'a' };

        slot_user_init(&users[i], owner);
    }
}

static void
begin(int64_t children, int64_t queue)
{
    begin_with(children, queue, "");
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

/* ---- owners ---- */

static void
enter_all(size_t from, size_t end)
{
    for (size_t i = from; i < end; i++) {
        assert_true(slots_enter(&slots, &users[i]));
    }
}

static void
owners_are_served_in_turn(void **state)
{
    (void)state;
    begin_with(1, 8, "aaaabbc");
    enter_all(0, 1);
    slots_next(&slots, true);
    enter_all(1, 4);
    enter_all(4, 7);
    slots.children = 8;
    assert_ptr_equal(slots_next(&slots, true), &users[1]);
    assert_ptr_equal(slots_next(&slots, true), &users[4]);
    assert_ptr_equal(slots_next(&slots, true), &users[6]);
    assert_ptr_equal(slots_next(&slots, true), &users[2]);
    assert_ptr_equal(slots_next(&slots, true), &users[5]);
    assert_ptr_equal(slots_next(&slots, true), &users[3]);
}

/* One that has all slots keeps none waiting that has none. */
static void
an_owner_without_a_slot_gets_one(void **state)
{
    static const struct {
        int64_t children;
        const char *come, *run; /* the letters of those that begin */
    } rows[] = {
        { 1, "aaab", "ab" },       { 2, "aaaab", "aab" },
        { 2, "aaaabcd", "aabc" },  { 2, "abcd", "abc" },
        { 3, "aaabcd", "aaabcd" }, { 3, "aaabcde", "aaabcd" },
        { 1, "abc", "ab" },        { 2, "aabb", "aab" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char run[USERS + 1] = "";
        struct slot_user *u;

        begin_with(rows[i].children, 8, rows[i].come);
        for (size_t k = 0; rows[i].come[k] != '\0'; k++) {
            enter_all(k, k + 1);
            u = slots_next(&slots, true);
            if (u != NULL) {
                run[slots.runs - 1] = (char)u->entry.owner[1];
            }
        }
        assert_string_equal(run, rows[i].run);
    }
}

/* Its place was lent: others begin when a slot is free. */
static void
a_guest_is_no_further_slot(void **state)
{
    (void)state;
    begin_with(1, 8, "aaba");
    enter_all(0, 4);
    assert_ptr_equal(slots_next(&slots, true), &users[0]);
    assert_ptr_equal(slots_next(&slots, true), &users[2]);
    slots_leave(&slots, &users[0]);
    assert_null(slots_next(&slots, false));
    assert_int_equal(slots.runs, 1);
    slots_leave(&slots, &users[2]);
    assert_ptr_equal(slots_next(&slots, true), &users[1]);
    assert_null(slots_next(&slots, true));
}

/* Neither is a sound that is being read held up. */
static void
one_that_wants_to_go_on_is_a_guest_too(void **state)
{
    (void)state;
    begin_with(1, 8, "baaa");
    enter_all(0, 1);
    slots_next(&slots, true);
    slots_pause(&slots, &users[0]);
    enter_all(1, 4);
    slots_next(&slots, true);
    assert_null(slots_next(&slots, true));
    slots_want(&slots, &users[0]);
    assert_ptr_equal(slots_next(&slots, true), &users[0]);
}

static void
a_full_queue_takes_a_guest(void **state)
{
    (void)state;
    begin_with(1, 0, "aabbc");
    enter_all(0, 1);
    slots_next(&slots, true);
    assert_false(slots_enter(&slots, &users[1]));
    assert_true(slots_enter(&slots, &users[2]));
    assert_false(slots_enter(&slots, &users[3]));
    assert_false(slots_enter(&slots, &users[4])); /* bounded, too */
    assert_ptr_equal(slots_next(&slots, true), &users[2]);
    slots.queue = 1;
    assert_true(slots_enter(&slots, &users[4])); /* the guest is in no way */
    assert_false(slots_enter(&slots, &users[1]));
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
        cmocka_unit_test(owners_are_served_in_turn),
        cmocka_unit_test(an_owner_without_a_slot_gets_one),
        cmocka_unit_test(a_guest_is_no_further_slot),
        cmocka_unit_test(one_that_wants_to_go_on_is_a_guest_too),
        cmocka_unit_test(a_full_queue_takes_a_guest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

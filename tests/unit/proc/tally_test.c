/*
 * What clients hold of pools, counted over processes that come and go.
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

#include "proc/slot.h"
#include "proc/tally.h"

static struct tally_pool pools[] = {
    { .name = "node", .scope = TALLY_NODE },
    { .name = "each", .scope = TALLY_PROCESS },
    { .name = NULL },
};
static const struct tally_pool *const node = &pools[0], *const each = &pools[1];

static uint32_t first, second;

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    if (slots_create(4, &err) == -1 || tally_register(pools, &err) == -1 ||
        tally_create(4096, 4, &err) == -1) {
        return -1;
    }
    first = (uint32_t)slot_take(SLOT_WORKER, "one", 0, 1);
    second = (uint32_t)slot_take(SLOT_WORKER, "two", 1, 1);
    slot_set_self(first);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    slot_set_self(0);
    tally_destroy();
    slots_destroy();
    return 0;
}

static struct tally_holder
holder(uint64_t n)
{
    return (struct tally_holder){ { n, n * 7 } };
}

static void
enter(const struct tally_pool *p, uint64_t n, int times)
{
    struct tally_holder h = holder(n);

    for (int i = 0; i < times; i++) {
        tally_enter(p, &h);
    }
}

static void
is(const struct tally_pool *p, uint64_t n, uint32_t holds, int64_t used)
{
    struct tally_holder h = holder(n);

    assert_int_equal(tally_of(p, &h), holds);
    assert_int_equal(tally_used(p), used);
}

static void
largest_is(const struct tally_pool *p, uint64_t n, uint32_t holds)
{
    struct tally_holder h;

    assert_int_equal(tally_largest(p, NULL, &h), holds);
    if (holds > 0) {
        assert_int_equal(h.words[0], n);
    }
}

static void
test_scopes(void **state)
{
    (void)state;
    enter(node, 1, 3);
    enter(each, 1, 2);
    slot_set_self(second);
    enter(node, 1, 2);
    enter(node, 2, 1);
    enter(each, 1, 1);
    is(node, 1, 5, 6);
    is(node, 2, 1, 6);
    is(each, 1, 1, 1);
    slot_set_self(first);
    is(node, 1, 5, 6);
    is(each, 1, 2, 2);
}

static void
test_leaving(void **state)
{
    struct tally_holder h = holder(1);

    (void)state;
    enter(node, 1, 2);
    tally_leave(node, &h);
    is(node, 1, 1, 1);
    tally_leave(node, &h);
    is(node, 1, 0, 0);
    largest_is(node, 0, 0);
}

/* It stays when the process that began it is gone. */
static void
test_nobodys(void **state)
{
    struct tally_holder h = holder(1);

    (void)state;
    enter(node, 1, 2);
    tally_hand_on(node, &h);
    is(node, 1, 2, 2);
    slot_bury(first);
    tally_sweep(first);
    slot_set_self(second);
    is(node, 1, 1, 1);
    tally_leave_nobody(node, &h);
    is(node, 1, 0, 0);
    slot_release(first);
    assert_int_equal(slot_take(SLOT_WORKER, "three", 0, 1), first);
    is(node, 1, 0, 0); /* of the one before */
}

static void
test_the_dead_hold_nothing(void **state)
{
    (void)state;
    enter(node, 1, 2);
    slot_set_self(second);
    slot_bury(first); /* not swept yet */
    is(node, 1, 0, 0);
    largest_is(node, 0, 0);
}

static void
test_the_largest(void **state)
{
    struct tally_holder h = holder(9), out;

    (void)state;
    for (uint64_t n = 1; n <= 20; n++) {
        enter(node, n, 1);
    }
    enter(node, 9, 5);
    slot_set_self(second);
    enter(node, 30, 4);
    largest_is(node, 9, 6);
    assert_int_equal(tally_largest(node, &h, &out), 4);
    assert_int_equal(out.words[0], 30);
    slot_set_self(first);
    for (int i = 0; i < 5; i++) {
        tally_leave(node, &h);
    }
    largest_is(node, 30, 4);
}

/* A pool that each process has is told by the one that uses most. */
static void
test_the_view(void **state)
{
    struct tally_view v;

    (void)state;
    tally_set_size(each, 10);
    enter(each, 1, 2);
    slot_set_self(second);
    tally_set_size(each, 20);
    enter(each, 2, 3);
    enter(each, 1, 1);
    assert_true(tally_look(2, &v));
    assert_string_equal(v.name, "each");
    assert_int_equal(v.size, 20);
    assert_int_equal(v.used, 4);
    assert_int_equal(v.largest.words[0], 2);
    assert_int_equal(v.holds, 3);
    assert_true(tally_look(1, &v));
    assert_int_equal(v.size, 0);
    assert_false(tally_look(3, &v));
    assert_false(tally_look(0, &v));
}

static void
test_many_holders(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 1000; n++) {
        enter(node, n, 1);
    }
    for (uint64_t n = 1; n <= 1000; n++) {
        is(node, n, 1, 1000);
    }
}

/* Each part counts by itself, and the pool counts all of them. */
static void
test_parts(void **state)
{
    struct tally_holder a = holder(1), b = holder(2);

    (void)state;
    tally_enter_part(node, 7, &a);
    tally_enter_part(node, 7, &b);
    slot_set_self(second);
    tally_enter_part(node, 7, &a);
    tally_enter_part(node, 8, &a);
    assert_int_equal(tally_part_of(node, 7, &a), 2);
    assert_int_equal(tally_part_of(node, 8, &a), 1);
    assert_int_equal(tally_part_used(node, 7), 3);
    assert_int_equal(tally_part_used(node, 8), 1);
    is(node, 1, 3, 4);
    tally_leave_part(node, 7, &a);
    assert_int_equal(tally_part_of(node, 7, &a), 1);
    assert_int_equal(tally_part_used(node, 7), 2);
    is(node, 1, 2, 3);
    slot_bury(second); /* what a killed worker had open is open no more */
    tally_sweep(second);
    slot_set_self(first);
    assert_int_equal(tally_part_used(node, 7), 2);
    assert_int_equal(tally_part_used(node, 8), 0);
    is(node, 1, 1, 2);
}

/* As in a test that registers none. */
static void
test_a_pool_that_is_not_registered(void **state)
{
    struct tally_pool none = { .name = "none" };

    (void)state;
    enter(&none, 1, 1);
    is(&none, 1, 0, 0);
}

static void
test_too_many_pools(void **state)
{
    struct tally_pool many[TALLY_POOLS] = { { .name = NULL } };
    struct errmsg err;

    (void)state;
    for (int i = 0; i < TALLY_POOLS - 3; i++) {
        many[i].name = "more";
    }
    assert_int_equal(tally_register(many, &err), 0);
    many[1].name = NULL;
    assert_int_equal(tally_register(many, &err), -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_scopes),         TEST(test_leaving),
        TEST(test_nobodys),        TEST(test_the_dead_hold_nothing),
        TEST(test_the_largest),    TEST(test_the_view),
        TEST(test_many_holders),   TEST(test_a_pool_that_is_not_registered),
        TEST(test_too_many_pools), TEST(test_parts),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

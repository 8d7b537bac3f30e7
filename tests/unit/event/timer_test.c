/*
 * Timers: order, moving, stopping, thousands of them.
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

#include <stdlib.h>

#include "base/clock.h"
#include "event/loop.h"

#define MANY 3000

static struct loop *l;

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    l = loop_new(&err);
    return l == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
    (void)state;
    loop_free(&l);
    return 0;
}

struct note {
    struct timer t;
    int calls;
    int64_t fired_ms;
    struct timer *stop; /* what on_due stops */
    int64_t again;      /* sets itself again after this, -1: not */
};

static void
on_due(struct timer *t)
{
    struct note *n = LIST_ITEM(t, struct note, t);

    n->calls++;
    n->fired_ms = clock_ms();
    assert_false(timer_is_set(t));
    if (n->stop != NULL) {
        timer_stop(l, n->stop);
    }
    if (n->again >= 0) {
        timer_set(l, t, n->again);
    }
}

static void
note_init(struct note *n)
{
    *n = (struct note){ .again = -1 };
    timer_init(&n->t, on_due);
}

static void
fires_once_and_not_early(void **state)
{
    struct note n;
    int64_t began = clock_ms();

    (void)state;
    note_init(&n);
    assert_false(timer_is_set(&n.t));
    timer_set(l, &n.t, 20);
    assert_true(timer_is_set(&n.t));
    while (n.calls == 0) {
        loop_turn(l, -1);
    }
    assert_true(n.fired_ms - began >= 20);
    loop_turn(l, 0);
    assert_int_equal(n.calls, 1);
}

static void
the_wait_is_bounded_by_the_caller(void **state)
{
    struct note n;
    int64_t began = clock_ms();

    (void)state;
    note_init(&n);
    timer_set(l, &n.t, 3600000);
    loop_turn(l, 1);
    assert_true(clock_ms() - began < 60000);
    assert_int_equal(n.calls, 0);
}

static void
moved_and_stopped(void **state)
{
    struct note sooner, later, stopped;

    (void)state;
    note_init(&sooner);
    note_init(&later);
    note_init(&stopped);
    timer_set(l, &sooner.t, 3600000);
    timer_set(l, &later.t, 0);
    timer_set(l, &stopped.t, 0);
    timer_set(l, &sooner.t, 0);
    timer_set(l, &later.t, 3600000);
    timer_stop(l, &stopped.t);
    timer_stop(l, &stopped.t);
    loop_turn(l, 10);
    assert_int_equal(sooner.calls, 1);
    assert_int_equal(later.calls, 0);
    assert_int_equal(stopped.calls, 0);
    assert_true(timer_is_set(&later.t));
}

static void
one_due_timer_stops_another(void **state)
{
    struct note a, b;

    (void)state;
    note_init(&a);
    note_init(&b);
    a.stop = &b.t;
    b.stop = &a.t;
    timer_set(l, &a.t, 0);
    timer_set(l, &b.t, 0);
    loop_turn(l, 10);
    assert_int_equal(a.calls + b.calls, 1);
}

static void
one_set_again_at_once_leaves_the_turn(void **state)
{
    struct note n;

    (void)state;
    note_init(&n);
    n.again = 0;
    timer_set(l, &n.t, -5);
    loop_turn(l, 10);
    assert_int_equal(n.calls, 1);
    loop_turn(l, 10);
    assert_int_equal(n.calls, 2);
}

static void
a_delay_without_end_is_not_soon(void **state)
{
    struct note n;

    (void)state;
    note_init(&n);
    timer_set(l, &n.t, INT64_MAX);
    loop_turn(l, 0);
    assert_int_equal(n.calls, 0);
}

static struct timer many[MANY];
static int64_t last_due;
static int fired;

static void
in_order(struct timer *t)
{
    assert_true(t->due >= last_due);
    last_due = t->due;
    fired++;
}

static void
thousands_fire_in_order(void **state)
{
    int expected = 0;

    (void)state;
    srand(1);
    fired = 0;
    last_due = 0;
    for (int i = 0; i < MANY; i++) {
        timer_init(&many[i], in_order);
        timer_set(l, &many[i], rand() % 50);
    }
    for (int i = 0; i < MANY; i++) {
        if (i % 3 == 0) {
            timer_stop(l, &many[i]);
        } else if (i % 3 == 1) {
            timer_set(l, &many[i], rand() % 50);
        }
        expected += i % 3 != 0;
    }
    while (fired < expected) {
        loop_turn(l, -1);
    }
    assert_int_equal(fired, expected);
    for (int i = 0; i < MANY; i++) {
        assert_false(timer_is_set(&many[i]));
    }
}

/* Each takes a millisecond, all are due: no turn does all of them, and none is
 * lost. */
static void
on_slow(struct timer *t)
{
    int64_t until = clock_ms() + 1;

    (void)t;
    fired++;
    while (clock_ms() < until) {
    }
}

static void
a_turn_fires_for_a_while_only(void **state)
{
    struct timer slow[200];
    int turns = 0;

    (void)state;
    fired = 0;
    for (int i = 0; i < 200; i++) {
        timer_init(&slow[i], on_slow);
        timer_set(l, &slow[i], 0);
    }
    while (fired < 200) {
        int before = fired;

        loop_turn(l, -1);
        assert_in_range(fired - before, 0, 40);
        turns++;
    }
    assert_true(turns >= 5);
    loop_turn(l, 0);
    assert_int_equal(fired, 200);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(fires_once_and_not_early),
        TEST(the_wait_is_bounded_by_the_caller),
        TEST(moved_and_stopped),
        TEST(one_due_timer_stops_another),
        TEST(one_set_again_at_once_leaves_the_turn),
        TEST(a_delay_without_end_is_not_soon),
        TEST(thousands_fire_in_order),
        TEST(a_turn_fires_for_a_while_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * What is kept for peers that do not take it: which process gives up how much,
 * and of whom.
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

#include "net/metrics.h"
#include "net/unsent.h"
#include "proc/slot.h"

#define MAX 1000
#define MIB ((int64_t)1 << 20)

/* ---- the rule ---- */

static int64_t
part_of(int64_t own, int64_t second, int64_t third)
{
    const int64_t held[] = { own, 0, second, third };

    return unsent_part(held, 4, own, MAX);
}

static void
test_nothing_below_the_bound(void **state)
{
    (void)state;
    assert_int_equal(part_of(0, 0, 0), 0);
    assert_int_equal(part_of(MAX, 0, 0), 0);
    assert_int_equal(part_of(400, 300, 300), 0);
    assert_int_equal(unsent_part(NULL, 0, 0, MAX), 0);
}

/* A busy process beside idle ones has all of the bound. */
static void
test_one_that_holds_all(void **state)
{
    (void)state;
    assert_int_equal(part_of(MAX + 1, 0, 0), 2);
    assert_int_equal(part_of(3 * MAX, 0, 0), 2 * MAX + 1);
}

static void
test_one_below_the_mean_gives_nothing(void **state)
{
    (void)state;
    assert_int_equal(part_of(100, 2000, 0), 0);
    assert_int_equal(part_of(2000, 100, 0), 1101);
    assert_int_equal(part_of(10, 1000, 3000), 0);
    assert_int_equal(part_of(1000, 10, 3000), 0);
    assert_int_equal(part_of(3000, 10, 1000), 3011);
}

/* Together no less than is too much, and hardly more. */
static void
test_those_above_the_mean_share(void **state)
{
    (void)state;
    assert_int_equal(part_of(1000, 1000, 0), 501);
    assert_int_equal(part_of(900, 600, 0) + part_of(600, 900, 0), 501);
    assert_int_equal(part_of(2000, 1010, 10) + part_of(1010, 2000, 10), 2021);
    assert_int_equal(part_of(700, 700, 700), 367);
}

/* Others may write anything. */
static void
test_nonsense_of_others(void **state)
{
    (void)state;
    assert_int_equal(part_of(500, INT64_MIN, INT64_MIN), 0);
    assert_int_equal(part_of(500, INT64_MAX, INT64_MAX), 0);
    assert_int_equal(part_of(2000, INT64_MIN, 0), 1001);
}

/* ---- who is cut ---- */

struct peer {
    struct unsent u;
    int cut; /* the how manieth it was; 0: not */
};

static struct loop *l;
static int cuts;

static void
cut(struct unsent *u)
{
    struct peer *p = LIST_ITEM(u, struct peer, u);

    p->cut = ++cuts;
    unsent_set(u, 0, 0);
}

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    if (slots_create(4, &err) == -1) {
        return -1;
    }
    slot_take(SLOT_WORKER, "one", 0, 0);
    slot_take(SLOT_WORKER, "other", 1, 0);
    metric_register(net_metrics);
    l = loop_new(&err);
    cuts = 0;
    return l == NULL ? -1 : metrics_create(&err);
}

static int
tear_down(void **state)
{
    (void)state;
    unsent_stop();
    loop_free(&l);
    metrics_destroy();
    slots_destroy();
    return 0;
}

static int64_t
told(unsigned metric)
{
    return metric_sum(&net_metrics[metric], 0);
}

/* At the end of the turn that brought it, the one that waits longest. */
static void
test_slowest_is_cut(void **state)
{
    struct peer p[4] = { 0 };

    (void)state;
    unsent_start(l, MAX);
    for (int i = 0; i < 4; i++) {
        unsent_init(&p[i].u, cut);
        unsent_set(&p[i].u, 300, 0);
    }
    assert_int_equal(unsent_own(), 1200);
    assert_int_equal(cuts, 0);
    loop_turn(l, 0);
    assert_int_equal(cuts, 1);
    assert_int_equal(p[0].cut, 1);
    assert_int_equal(unsent_own(), 900);
    assert_int_equal(told(NET_UNSENT), 900);
    assert_int_equal(told(NET_UNSENT_CUT), 1);
    for (int i = 1; i < 4; i++) {
        unsent_set(&p[i].u, 0, 0);
    }
    assert_int_equal(told(NET_UNSENT), 0);
}

/* Taking an eighth of it moves a peer behind the others, taking bytes now and
 * then does not. */
static void
test_who_takes_some_is_not_the_slowest(void **state)
{
    struct peer p[4] = { 0 };

    (void)state;
    unsent_start(l, MAX);
    for (int i = 0; i < 3; i++) {
        unsent_init(&p[i].u, cut);
        unsent_set(&p[i].u, 300, 5000);
    }
    unsent_set(&p[0].u, 300, 5040);
    unsent_set(&p[1].u, 300, 5001);
    unsent_set(&p[1].u, 300, 5002);
    unsent_init(&p[3].u, cut);
    unsent_set(&p[3].u, 500, 0);
    loop_turn(l, 0);
    assert_int_equal(cuts, 2);
    assert_int_equal(p[1].cut, 1);
    assert_int_equal(p[2].cut, 2);
    unsent_set(&p[0].u, 0, 0);
    unsent_set(&p[3].u, 0, 0);
}

/* Another process brought it over the bound: seen by the clock. */
static void
test_growth_of_another_process(void **state)
{
    struct peer p[2] = { 0 };

    (void)state;
    unsent_start(l, MIB);
    for (int i = 0; i < 2; i++) {
        unsent_init(&p[i].u, cut);
        unsent_set(&p[i].u, MIB / 2 - 1, 0);
    }
    loop_turn(l, 0);
    assert_int_equal(cuts, 0);
    slot_set_self(2);
    metrics_set_self();
    metric_set(&net_metrics[NET_UNSENT], 0, 100);
    slot_set_self(0);
    metrics_set_self();
    while (cuts == 0) {
        loop_turn(l, -1);
    }
    assert_int_equal(p[0].cut, 1);
    assert_int_equal(p[1].cut, 0);
    unsent_set(&p[1].u, 0, 0);
}

/* A process that is not told of a bound only counts. */
static void
test_no_bound(void **state)
{
    struct peer p = { 0 };

    (void)state;
    unsent_init(&p.u, cut);
    unsent_set(&p.u, 1 << 30, 0);
    loop_turn(l, 0);
    assert_int_equal(cuts, 0);
    assert_int_equal(told(NET_UNSENT), 1 << 30);
    unsent_set(&p.u, 0, 0);
}

#define TEST(name) cmocka_unit_test(name)
#define WATCHED(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_below_the_bound),
        TEST(test_one_that_holds_all),
        TEST(test_one_below_the_mean_gives_nothing),
        TEST(test_those_above_the_mean_share),
        TEST(test_nonsense_of_others),
        WATCHED(test_slowest_is_cut),
        WATCHED(test_who_takes_some_is_not_the_slowest),
        WATCHED(test_growth_of_another_process),
        WATCHED(test_no_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Rings of speeds: what is kept how long, and whose.
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

#include "base/hash.h"
#include "live/history.h"

static struct history_view v;

static int
setup(void **state)
{
    struct errmsg err;

    (void)state;
    hash_init();
    return history_create(2, &err);
}

static int
teardown(void **state)
{
    (void)state;
    history_destroy();
    return 0;
}

/* A second of one stream. */
static void
second(const char *name, uint64_t speed)
{
    history_put(str_from(name), speed, speed / 2);
    history_tick();
}

static bool
read_of(const char *name, unsigned level)
{
    return history_read(str_from(name), level, &v);
}

static const struct history_point *
newest(void)
{
    assert_true(v.count > 0);
    return &v.points[v.count - 1];
}

static void
test_seconds(void **state)
{
    (void)state;
    assert_false(read_of("a", 0));
    second("a", 8000);
    second("a", 16000);
    history_tick(); /* it is not there */
    second("a", 24000);
    assert_true(read_of("a", 0));
    assert_int_equal(v.count, 4);
    assert_int_equal(v.points[0].first, 8000);
    assert_int_equal(v.points[1].first, 16000);
    assert_int_equal(v.points[1].second, 8000);
    assert_false(v.points[2].known);
    assert_int_equal(newest()->first, 24000);
    assert_true(v.age_ms >= 0 && v.age_ms < 60000);
    assert_true(read_of("a", 1));
    assert_int_equal(v.count, 0); /* no ten seconds yet */
}

/* A point of more seconds is the mean of those in which it was there. */
static void
test_means(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        if (i % 2 == 0) {
            history_put(STR("a"), 8000 * (uint64_t)i, 0);
        }
        history_tick();
    }
    for (int i = 0; i < 10; i++) {
        history_tick();
    }
    second("a", 8);
    assert_true(read_of("a", 1));
    assert_int_equal(v.count, 2);
    assert_int_equal(v.points[0].first, 8000 * 4); /* of 0, 2, 4, 6, 8 */
    assert_false(v.points[1].known);
    assert_true(v.age_ms >= 1000); /* a second of the next has passed */
}

static void
test_a_day(void **state)
{
    static const uint64_t per[HISTORY_LEVELS] = { 1, 10, 120 };
    const uint64_t seconds = 2 * 86400;

    (void)state;
    for (uint64_t i = 0; i < seconds; i++) {
        history_put(STR_NONE, 8 * i, 0);
        second("a", 8 * i);
    }
    for (unsigned level = 0; level < HISTORY_LEVELS; level++) {
        for (int node = 0; node < 2; node++) {
            assert_true(read_of(node ? "" : "a", level));
            assert_int_equal(v.count, history_levels[level].count);
            for (uint32_t i = 0; i < v.count; i++) {
                uint64_t begin = seconds - (v.count - i) * per[level];
                uint64_t mean = begin + (per[level] - 1) / 2;

                assert_true(v.points[i].known);
                assert_int_equal(v.points[i].first, 8 * mean);
            }
        }
    }
}

static void
test_so_many_and_no_more(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        history_put(STR("c"), 8, 8);
        history_put(STR("a"), 8, 8);
        history_put(STR("b"), 8, 8);
        history_tick();
    }
    assert_true(read_of("c", 0) && read_of("a", 0));
    assert_false(read_of("b", 0));
    for (int i = 0; i < 3; i++) { /* a is gone, then c */
        second("c", 8);
    }
    history_tick();
    history_tick();
    second("b", 80);
    assert_false(read_of("a", 0)); /* it had gone first */
    assert_true(read_of("c", 0));
    assert_true(read_of("b", 0));
    assert_int_equal(newest()->first, 80);
    for (uint32_t i = 0; i + 1 < v.count; i++) {
        assert_false(v.points[i].known); /* nothing of who had the row */
    }
    second("c", 8); /* one that comes back goes on */
    assert_true(read_of("c", 0));
    assert_true(v.points[0].known && newest()->known);
}

static void
test_any_number(void **state)
{
    (void)state;
    history_put(STR("a"), UINT64_MAX, UINT64_MAX);
    history_tick();
    assert_true(read_of("a", 0));
    assert_true(newest()->known);
    assert_int_equal(newest()->first, newest()->second);
}

static void
test_nothing_is_kept(void **state)
{
    struct errmsg err;

    (void)state;
    history_destroy();
    assert_int_equal(history_create(0, &err), 0);
    second("a", 8);
    assert_false(read_of("a", 0));
    assert_false(read_of("", 0));
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    static const struct CMUnitTest tests[] = {
        TEST(test_seconds),    TEST(test_means),
        TEST(test_a_day),      TEST(test_so_many_and_no_more),
        TEST(test_any_number), TEST(test_nothing_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

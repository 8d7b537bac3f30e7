/*
 * How often, counted together: the rate holds exactly, also over processes.
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

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/rate_limit.h"

#define SECOND 1000000
#define KEY(n) ((uint64_t)(n)*0x9e3779b97f4a7c15U)

static const struct rate_limit_rule ten = { .interval_us = SECOND / 10,
                                            .burst = 5 };

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    return rate_limit_create(4096, &err);
}

static int
tear_down(void **state)
{
    (void)state;
    rate_limit_destroy();
    return 0;
}

static int
count_allowed(uint64_t key, const struct rate_limit_rule *rule, int tries,
              int64_t now_us)
{
    struct rate_limit_answer a;
    int n = 0;

    while (tries-- > 0) {
        rate_limit_take(key, rule, now_us, &a);
        n += a.allowed;
    }
    return n;
}

static void
test_burst_then_rate(void **state)
{
    struct rate_limit_answer a;
    int64_t now = 77 * (int64_t)SECOND;

    (void)state;
    rate_limit_take(KEY(1), &ten, now, &a);
    assert_true(a.allowed);
    assert_int_equal(a.left, 4);
    assert_int_equal(a.wait_us, 0);
    assert_int_equal(a.reset_us, SECOND / 10);
    assert_int_equal(count_allowed(KEY(1), &ten, 10, now), 4);
    rate_limit_take(KEY(1), &ten, now, &a);
    assert_false(a.allowed);
    assert_int_equal(a.left, 0);
    assert_int_equal(a.wait_us, SECOND / 10);
    assert_int_equal(a.reset_us, SECOND / 2);

    assert_int_equal(count_allowed(KEY(1), &ten, 9, now + SECOND / 10 - 1), 0);
    assert_int_equal(count_allowed(KEY(1), &ten, 9, now + SECOND / 10), 1);
    assert_int_equal(count_allowed(KEY(1), &ten, 9, now + SECOND * 3 / 10), 2);
    assert_int_equal(count_allowed(KEY(1), &ten, 99, now + 9 * SECOND), 5);
}

/* In the long run it is the rate, however they come. */
static void
test_long_run(void **state)
{
    int64_t now = 1000 * (int64_t)SECOND;
    int n = 0;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        now += 1000; /* 1000 a second for 100 s */
        n += count_allowed(KEY(2), &ten, 1, now);
    }
    assert_in_range(n, 1000, 1005);
}

static void
test_keys_are_apart(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        assert_int_equal(count_allowed(KEY(1000 + i), &ten, 9, SECOND), 5);
    }
    for (int i = 0; i < 300; i++) {
        assert_int_equal(count_allowed(KEY(1000 + i), &ten, 9, SECOND), 0);
    }
}

/* More keys than there is room for: each still gets its burst, and the table
 * says what happens. */
static void
test_full(void **state)
{
    struct rate_limit_answer a;
    int gave_up = 0;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        rate_limit_take(KEY(5000 + i), &ten, 2 * SECOND, &a);
        assert_true(a.allowed);
        gave_up += a.gave_up;
    }
    assert_in_range(gave_up, 20000 - 4096, 20000);
    for (int i = 0; i < 4000; i++) { /* all of it is over: room again */
        rate_limit_take(KEY(50000 + i), &ten, 60 * SECOND, &a);
        gave_up -= a.gave_up;
    }
    assert_true(gave_up > 15000);
}

/* Times go round after 2^44 microseconds, and entries may be any age. */
static void
test_clock_goes_round(void **state)
{
    int64_t end = (int64_t)1 << 44;

    (void)state;
    assert_int_equal(count_allowed(KEY(9), &ten, 9, end - SECOND / 20), 5);
    assert_int_equal(count_allowed(KEY(9), &ten, 9, end + SECOND / 20), 1);
    assert_int_equal(count_allowed(KEY(9), &ten, 9, end + 9 * SECOND), 5);
    assert_int_equal(count_allowed(KEY(9), &ten, 9, end + end / 3), 5);
}

/* Four processes at once get what one would, not one more. */
static void
test_processes(void **state)
{
    const struct rate_limit_rule rule = { .interval_us = 3600 * (int64_t)SECOND,
                                          .burst = 20 };
    _Atomic int *allowed = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_ptr_not_equal(allowed, MAP_FAILED);
    count_allowed(KEY(77), &rule, 1, SECOND); /* the entry is there */
    for (int p = 0; p < 4; p++) {
        if (fork() == 0) {
            for (int i = 0; i < 50000; i++) {
                atomic_fetch_add(allowed,
                                 count_allowed(KEY(77), &rule, 1, SECOND));
            }
            _exit(0);
        }
    }
    for (int p = 0; p < 4; p++) {
        assert_true(wait(NULL) > 0);
    }
    assert_int_equal(atomic_load(allowed), 19);
    munmap((void *)(uintptr_t)allowed, 4096);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_burst_then_rate, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_long_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_keys_are_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_clock_goes_round, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_processes, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

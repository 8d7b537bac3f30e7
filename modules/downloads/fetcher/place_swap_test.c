/*
 * Links that come and go while results are moved.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "place_help.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_bool swapping;

static void *
swap(void *arg)
{
    (void)arg;
    while (atomic_load(&swapping)) {
        renameat2(AT_FDCWD, at("d/sub"), AT_FDCWD, at("swap"), RENAME_EXCHANGE);
        sched_yield();
    }
    return NULL;
}

static void
test_links_that_are_swapped_in_lead_nowhere(void **state)
{
    size_t moved = 0, failed = 0;
    pthread_t thread;

    (void)state;
    assert_int_equal(mkdir(at("outside"), 0755), 0);
    assert_int_equal(mkdir(at("outside/deep"), 0755), 0);
    assert_int_equal(mkdir(at("d/sub"), 0755), 0);
    assert_int_equal(symlink(at("outside"), at("swap")), 0);
    atomic_store(&swapping, true);
    assert_int_equal(pthread_create(&thread, NULL, swap, NULL), 0);
    for (int64_t i = 1; i <= 2000 || moved == 0 || failed == 0; i++) {
        result(i, i % 2 != 0 ? "sub/deep" : "sub", "T");
        moved += told.ok;
        failed += !told.ok;
        assert_true(i < 1000000);
        drop(i);
    }
    atomic_store(&swapping, false);
    pthread_join(thread, NULL);
    assert_int_equal(count_names("outside"), 1);
    assert_int_equal(count_names("outside/deep"), 0);
    assert_int_equal(count_names("d/.weir"), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_links_that_are_swapped_in_lead_nowhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

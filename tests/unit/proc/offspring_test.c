/*
 * The children of a process.
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

#include "proc/offspring.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 8

static pid_t children[CHILDREN];

static int
begin(void **state)
{
    (void)state;
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            pause();
            _exit(0);
        }
    }
    return 0;
}

static int
finish(void **state)
{
    (void)state;
    for (int i = 0; i < CHILDREN; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
    return 0;
}

static void
test_all(void **state)
{
    pid_t pids[CHILDREN + 1];

    (void)state;
    assert_int_equal(offspring_list(pids, CHILDREN + 1), CHILDREN);
    assert_memory_equal(pids, children, sizeof(children));
    assert_int_equal(offspring_of(getpid(), pids, CHILDREN + 1), CHILDREN);
    assert_memory_equal(pids, children, sizeof(children));
}

/* The numbers behind the last one that there is room for are no part of it. */
static void
test_more_than_there_is_room_for(void **state)
{
    pid_t pids[3] = { 0, 0, 7 };

    (void)state;
    assert_int_equal(offspring_list(pids, 2), 2);
    assert_memory_equal(pids, children, 2 * sizeof(pid_t));
    assert_int_equal(pids[2], 7);
    assert_int_equal(offspring_of(getpid(), pids, 2), 2);
    assert_memory_equal(pids, children, 2 * sizeof(pid_t));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all, begin, finish),
        cmocka_unit_test_setup_teardown(test_more_than_there_is_room_for, begin,
                                        finish),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

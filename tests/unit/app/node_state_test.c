/*
 * The node's state is one for all processes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/node_state.h"

static void
test_not_made(void **state)
{
    (void)state;
    node_state_set(NODE_DRAIN);
    assert_int_equal(node_state(), NODE_READY);
}

static void
test_a_child_sees_and_sets_it(void **state)
{
    struct errmsg err;
    int status;
    pid_t pid;

    (void)state;
    assert_int_equal(node_state_create(&err), 0);
    assert_int_equal(node_state(), NODE_READY);
    node_state_set(NODE_DRAIN);
    pid = fork();
    if (pid == 0) {
        int seen = node_state() == NODE_DRAIN;

        node_state_set(NODE_MAINT);
        _exit(seen ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(node_state(), NODE_MAINT);
    assert_string_equal(node_state_name(node_state()), "maint");
    node_state_destroy();
    assert_int_equal(node_state(), NODE_READY);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_made),
        cmocka_unit_test(test_a_child_sees_and_sets_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

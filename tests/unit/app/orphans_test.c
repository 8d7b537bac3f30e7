/*
 * Processes that have lost their parents are killed, and told once.
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

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/master/orphans.h"
#include "base/log.h"

static unsigned told;

static void
hear(enum log_level level, const char *message)
{
    (void)level;
    told += strstr(message, "it has lost its parent") != NULL;
}

static bool
is_nobody(void *arg, pid_t pid)
{
    (void)arg;
    (void)pid;
    return false;
}

static pid_t
start(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        for (;;) {
            pause();
        }
    }
    assert_true(pid > 0);
    return pid;
}

/* A process that is killed and not yet reaped is still a child: each look finds
 * it again. */
static void
an_orphan_is_told_once(void **state)
{
    struct errmsg err;
    struct loop *loop = loop_new(&err);
    struct orphans o;
    int status;

    (void)state;
    told = 0;
    orphans_start(&o, loop, is_nobody, NULL);
    for (unsigned n = 1; n < 3; n++) {
        pid_t pid = start();

        for (int i = 0; i < 3; i++) {
            orphans_look(&o);
            assert_int_equal(told, n);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        orphans_reaped(&o, pid, status);
        orphans_look(&o);
        assert_int_equal(told, n);
        for (unsigned i = 0; i < ORPHANS_TURN; i++) {
            assert_int_equal(o.killed[i], 0);
        }
    }
    orphans_stop(&o);
    loop_free(&loop);
}

/* Who was there before the master began to look, and is stopped, stays. */
static void
a_child_of_before_may_stop(void **state)
{
    struct errmsg err;
    struct loop *loop = loop_new(&err);
    struct orphans o;
    pid_t pid = start();
    int status;

    (void)state;
    told = 0;
    orphans_start(&o, loop, is_nobody, NULL);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    orphans_reaped(&o, pid, status);
    orphans_look(&o);
    assert_int_equal(told, 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    orphans_stop(&o);
    loop_free(&loop);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_orphan_is_told_once),
        cmocka_unit_test(a_child_of_before_may_stop),
    };

    log_set_listener(hear);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Processes: forking, the master's death, daemons.
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

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event/signals.h"
#include "proc/life.h"
#include "proc/slot.h"

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    return slots_create(4, &err);
}

static int
tear_down(void **state)
{
    (void)state;
    slots_destroy();
    return 0;
}

static void
on_usr1(int number)
{
    (void)number;
}

/* What is wrong in a child of life_fork(), 0: nothing. */
static int
look_at_child(uint32_t slot)
{
    struct sigaction usr1, sigpipe;
    sigset_t mask;

    sigaction(SIGUSR1, NULL, &usr1);
    sigaction(SIGPIPE, NULL, &sigpipe);
    sigprocmask(SIG_SETMASK, NULL, &mask);
    if (slot_self() != slot || slot_card(slot)->pid != getpid()) {
        return 1;
    }
    if (usr1.sa_handler != SIG_DFL || sigpipe.sa_handler != SIG_IGN) {
        return 2;
    }
    if (sigismember(&mask, SIGTERM) || sigismember(&mask, SIGUSR1)) {
        return 3;
    }
    return getpgrp() == getpid() ? 0 : 4;
}

static void
a_forked_child_is_its_own(void **state)
{
    struct errmsg err;
    sigset_t set, after;
    int status;

    (void)state;
    struct loop *l = loop_new(&err); /* SIGPIPE is ignored from here on */

    signal(SIGUSR1, on_usr1);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    assert_int_equal(life_create(&err), 0);
    uint32_t slot = (uint32_t)slot_take(SLOT_WORKER, "w", 0, 1);
    pid_t pid = life_fork(slot, NULL, 0);

    assert_int_not_equal(pid, -1);
    if (pid == 0) {
        _exit(look_at_child(slot));
    }
    assert_int_equal(slot_card(slot)->pid, pid);
    assert_int_equal(slot_self(), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    sigprocmask(SIG_SETMASK, NULL, &after);
    assert_true(sigismember(&after, SIGTERM));
    assert_false(sigismember(&after, SIGHUP));
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    signal(SIGUSR1, SIG_DFL);
    life_destroy();
    loop_free(&l);
}

/* ---- the master's death ---- */

static int calls;

static void
on_master_gone(void *arg)
{
    calls++;
    loop_stop(arg);
}

static void
on_signal(void *arg, int number)
{
    (void)arg;
    (void)number;
}

/* The worker: says that it watches, then how often it was called. */
static void
run_worker(int report, bool late)
{
    struct errmsg err;
    struct loop *l = loop_new(&err);
    sigset_t quit;
    char text[2] = "r";

    sigemptyset(&quit);
    sigaddset(&quit, SIGQUIT);
    signals_new(l, &quit, on_signal, NULL, &err);
    if (late) {
        while (kill(getppid(), 0) == 0 && getppid() == slot_card(0)->pid) {
            poll(NULL, 0, 1);
        }
    }
    calls = 0;
    if (life_watch(l, on_master_gone, l, &err) == -1) {
        _exit(1);
    }
    if (!late) {
        loop_turn(l, 0);
        text[0] = calls == 0 ? 'r' : 'x';
    }
    (void)!write(report, text, 1);
    loop_run(l);
    loop_turn(l, 0); /* once is once */
    text[0] = (char)('0' + calls);
    (void)!write(report, text, 1);
    _exit(0);
}

static void
run_master(int report, int go, bool late)
{
    struct errmsg err;
    char byte;

    slot_set_self(0);
    if (life_create(&err) == -1) {
        _exit(1);
    }
    for (int i = 0; i < 2; i++) {
        int slot = slot_take(SLOT_WORKER, "w", 0, 1);

        if (life_fork((uint32_t)slot, &report, 1) == 0) {
            run_worker(report, late);
        }
    }
    (void)!read(go, &byte, 1);
    raise(SIGKILL);
}

static void
reads(int fd, const char *expected)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    char byte;

    for (const char *c = expected; *c != '\0'; c++) {
        assert_int_equal(poll(&p, 1, 100000), 1);
        assert_int_equal(read(fd, &byte, 1), 1);
        assert_int_equal(byte, *c);
    }
}

static void
kill_master(bool late)
{
    int report[2], go[2];

    assert_int_equal(pipe(report), 0);
    assert_int_equal(pipe(go), 0);
    pid_t pid = fork();

    if (pid == 0) {
        close(report[0]);
        close(go[1]);
        run_master(report[1], go[0], late);
    }
    close(report[1]);
    close(go[0]);
    if (!late) {
        reads(report[0], "rr");
    }
    close(go[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    if (late) {
        char bytes[5] = "";
        ssize_t n, got = 0;

        while (got < 4 && (n = read(report[0], bytes + got, 4)) > 0) {
            got += n;
        }
        assert_true(strcmp(bytes, "r1r1") == 0 || strcmp(bytes, "rr11") == 0);
    } else {
        reads(report[0], "11");
    }
    close(report[0]);
}

static void
a_killed_master_is_noticed(void **state)
{
    (void)state;
    kill_master(false);
}

static void
one_gone_before_the_watch_too(void **state)
{
    (void)state;
    kill_master(true);
}

/* ---- daemons ---- */

static void
a_daemon_leaves_everything(void **state)
{
    int report[2], status;
    char got[64] = "";

    (void)state;
    assert_int_equal(pipe(report), 0);
    pid_t pid = fork();

    if (pid == 0) {
        struct errmsg err;
        char cwd[64] = "", out[64] = "";

        if (daemonise(&err) == -1) {
            _exit(1);
        }
        (void)!getcwd(cwd, sizeof(cwd));
        (void)!readlink("/proc/self/fd/2", out, sizeof(out) - 1);
        dprintf(report[1], "%d %s %s", getsid(0) == getpid(), cwd, out);
        _exit(0);
    }
    close(report[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(read(report[0], got, sizeof(got) - 1) > 0);
    assert_string_equal(got, "1 / /dev/null");
    close(report[0]);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_forked_child_is_its_own),
        TEST(a_killed_master_is_noticed),
        TEST(one_gone_before_the_watch_too),
        TEST(a_daemon_leaves_everything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

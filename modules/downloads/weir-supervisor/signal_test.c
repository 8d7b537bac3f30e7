/*
 * A process that is filtered as an engine is, whose signals are answered by its
 * supervisor: both have a session of their own.  Another process waits outside,
 * and says at its end which signals it had.
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

#include "supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BY_SIGNAL 128
#define MANY 300

static pid_t outside; /* of the same user */

/* ---- each test ---- */

/* Ends with SIGUSR2, and with the number of another signal that it had. */
static void __attribute__((noreturn)) wait_outside(void)
{
    sigset_t all, last;
    int number;

    sigemptyset(&last);
    sigaddset(&last, SIGUSR2);
    sigwait(&last, &number);
    sigpending(&all);
    for (number = 1; number < NSIG; number++) {
        if (sigismember(&all, number) == 1) {
            _exit(number);
        }
    }
    _exit(0);
}

static int
begin(void **state)
{
    sigset_t all, before;

    (void)state;
    if (!sandbox_can_give()) {
        print_message("not run: needs Linux 5.9, and no other listener\n");
        skip();
    }
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    outside = fork();
    if (outside == 0) {
        setsid();
        wait_outside();
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return outside == -1 ? -1 : 0;
}

static int
finish(void **state)
{
    int status = -1;

    (void)state;
    kill(outside, SIGUSR2);
    assert_int_equal(waitpid(outside, &status, 0), outside);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    return 0;
}

/* ---- the engine and its supervisor ---- */

static int
count_files(void)
{
    int count = 0;

    for (int fd = 0; fd < 256; fd++) {
        count += fcntl(fd, F_GETFD) != -1;
    }
    return count;
}

/* It keeps nothing. */
static void
serve(int listener)
{
    const struct supervise s = { .port = 0 };
    struct sandbox_told told = { .count = 0 };
    struct pollfd wait = { listener, POLLIN, 0 };
    int before = count_files();

    while (poll(&wait, 1, -1) == 1 && wait.revents & POLLIN) {
        supervise_hear(&s, listener, &told);
    }
    if (count_files() != before) {
        _exit(254);
    }
}

static void __attribute__((noreturn))
engine(int (*f)(void), pid_t supervisor, int end)
{
    if (setpgid(0, 0) == -1 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
        supervise_filter(SANDBOX_ENGINE_ASKS | SANDBOX_ENGINE_SIGNALS,
                         supervisor, end) == -1) {
        _exit(255);
    }
    for (int fd = 3; fd < 64; fd++) {
        close(fd); /* the listener, too */
    }
    _exit(f());
}

static int
supervise_it(int (*f)(void))
{
    int ends[2], status = -1;
    pid_t pid, self = getpid();

    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == -1) {
        return 253;
    }
    pid = fork();
    if (pid == 0) {
        engine(f, self, ends[1]);
    }
    close(ends[1]);
    serve(supervise_listener(ends[0]));
    if (waitpid(pid, &status, 0) != pid) {
        return 252;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status)
                             : BY_SIGNAL + WTERMSIG(status);
}

/* The status of a process that calls f, which returns the line of what was
 * wrong, or 0; or 128 and its signal. */
static int
status_of(int (*f)(void))
{
    int status;
    pid_t pid = fork();

    assert_int_not_equal(pid, -1);
    if (pid == 0) {
        _exit(supervise_it(f));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status)); /* no signal ended the supervisor */
    return WEXITSTATUS(status);
}

/* In the engine: its caller returns 1 if it is not so. */
#define NEED(condition)                                                  \
    do {                                                                 \
        if (!(condition)) {                                              \
            fprintf(stderr, "line %d: %s\n", __LINE__, strerror(errno)); \
            return 1;                                                    \
        }                                                                \
    } while (0)

static bool
is_refused(long rc)
{
    return rc == -1 && errno == EPERM;
}

/* A child that waits, in that group. */
static pid_t
child_in(pid_t group)
{
    pid_t pid = fork();

    if (pid == 0) {
        for (;;) {
            pause();
        }
    }
    setpgid(pid, group);
    return pid;
}

/* The signal that ended it; 0: none did. */
static int
end_of(pid_t pid)
{
    int status = 0;

    return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status)
               ? WTERMSIG(status)
               : 0;
}

static _Atomic int handled;

static void
on_signal(int number)
{
    (void)number;
    atomic_fetch_add(&handled, 1);
}

static void
handle(int number, int flags)
{
    struct sigaction action = { .sa_flags = flags };

    action.sa_handler = on_signal;
    sigaction(number, &action, NULL);
}

/* ---- what it is for ---- */

static int
kill_a_child(void)
{
    pid_t child = child_in(0);

    NEED(kill(child, 0) == 0);
    NEED(kill(child, SIGTERM) == 0);
    NEED(end_of(child) == SIGTERM);
    NEED(kill(child, SIGTERM) == -1 && errno == ESRCH);
    child = child_in(0);
    NEED(kill(child, -1) == -1 && errno == EINVAL);
    NEED(kill(child, NSIG) == -1 && errno == EINVAL);
    NEED(kill(child, SIGKILL) == 0);
    NEED(end_of(child) == SIGKILL);
    return 0;
}

static void
test_a_child(void **state)
{
    (void)state;
    assert_int_equal(status_of(kill_a_child), 0);
}

static int
kill_a_group(void)
{
    pid_t first = child_in(0), second = child_in(first);

    NEED(kill(-first, 0) == 0);
    NEED(kill(-first, SIGTERM) == 0);
    NEED(end_of(first) == SIGTERM && end_of(second) == SIGTERM);
    NEED(kill(-first, 0) == -1 && errno == ESRCH);
    NEED(kill(INT_MIN, 0) == -1 && errno == ESRCH);
    return 0;
}

static void
test_a_group(void **state)
{
    (void)state;
    assert_int_equal(status_of(kill_a_group), 0);
}

/* It has each signal once, although its call waits for an answer. */
static int
kill_its_group(void)
{
    pid_t child = child_in(getpgrp());

    handle(SIGUSR1, SA_RESTART);
    NEED(kill(-getpgrp(), SIGUSR1) == 0);
    NEED(end_of(child) == SIGUSR1);
    while (atomic_load(&handled) == 0) {
    }
    child = child_in(getpgrp()); /* the supervisor is done with it */
    NEED(kill(child, SIGKILL) == 0 && end_of(child) == SIGKILL);
    NEED(atomic_load(&handled) == 1);
    NEED(kill(0, SIGUSR1) == 0);
    NEED(atomic_load(&handled) == 2);
    for (int i = 0; i < MANY; i++) {
        NEED(kill(-getpgrp(), SIGUSR1) == 0);
        while (atomic_load(&handled) < i + 3) {
        }
        NEED(kill(getpid(), 0) == 0 && atomic_load(&handled) == i + 3);
    }
    return 0;
}

static void
test_its_own_group(void **state)
{
    (void)state;
    assert_int_equal(status_of(kill_its_group), 0);
}

static int
kill_a_group_by_0(void)
{
    kill(0, SIGKILL);
    return 1;
}

static void
test_its_own_group_by_0(void **state)
{
    (void)state;
    assert_int_equal(status_of(kill_a_group_by_0), BY_SIGNAL + SIGKILL);
}

static void *
wait_for_it(void *unused)
{
    while (atomic_load(&handled) == 0) {
        usleep(1000);
    }
    return unused;
}

static int
signal_itself(void)
{
    siginfo_t info = { .si_code = SI_QUEUE };
    pthread_t thread;

    handle(SIGUSR1, 0);
    NEED(pthread_create(&thread, NULL, wait_for_it, NULL) == 0);
    NEED(pthread_kill(thread, SIGUSR1) == 0);
    NEED(pthread_join(thread, NULL) == 0 && atomic_load(&handled) == 1);
    NEED(raise(SIGUSR1) == 0 && atomic_load(&handled) == 2);
    NEED(kill(getpid(), SIGUSR1) == 0 && atomic_load(&handled) == 3);
    NEED(syscall(SYS_tkill, gettid(), SIGUSR1) == 0);
    NEED(atomic_load(&handled) == 4);
    NEED(syscall(SYS_rt_sigqueueinfo, getpid(), SIGUSR1, &info) == 0);
    NEED(atomic_load(&handled) == 5);
    NEED(syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGUSR1, &info) ==
         0);
    NEED(atomic_load(&handled) == 6);
    return 0;
}

static int
signal_itself_anywhere(void)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        _exit(signal_itself());
    }
    NEED(waitpid(child, &status, 0) == child && status == 0);
    return signal_itself();
}

static void
test_itself(void **state)
{
    (void)state;
    assert_int_equal(status_of(signal_itself_anywhere), 0);
}

static int
give_up(void)
{
    struct rlimit none = { 0, 0 };

    setrlimit(RLIMIT_CORE, &none);
    signal(SIGABRT, SIG_DFL);
    abort();
}

static void
test_abort(void **state)
{
    (void)state;
    assert_int_equal(status_of(give_up), BY_SIGNAL + SIGABRT);
}

/* ---- what it is against ---- */

static bool
all_are_refused(pid_t pid)
{
    siginfo_t info = { .si_code = SI_QUEUE };
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    return is_refused(kill(pid, 0)) && is_refused(kill(pid, SIGTERM)) &&
           is_refused(kill(-pid, 0)) && is_refused(kill(-pid, SIGTERM)) &&
           is_refused(syscall(SYS_tkill, pid, SIGTERM)) &&
           is_refused(syscall(SYS_tgkill, pid, pid, SIGTERM)) &&
           is_refused(syscall(SYS_rt_sigqueueinfo, pid, SIGTERM, &info)) &&
           is_refused(
               syscall(SYS_rt_tgsigqueueinfo, pid, pid, SIGTERM, &info)) &&
           syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0) == -1 &&
           errno == ENOSYS && close(fd) == 0;
}

static int
signal_others(void)
{
    NEED(all_are_refused(outside));
    NEED(all_are_refused(getppid()));
    NEED(is_refused(kill(1, 0)));
    NEED(is_refused(syscall(SYS_tgkill, getpid(), outside, 0)) ||
         errno == ESRCH); /* a thread of its own that is none */
    return 0;
}

static void
test_others(void **state)
{
    (void)state;
    assert_int_equal(status_of(signal_others), 0);
}

static int
signal_all(void)
{
    NEED(is_refused(kill(-1, 0)));
    NEED(is_refused(kill(-1, SIGTERM)));
    return 0;
}

static void
test_all(void **state)
{
    (void)state;
    assert_int_equal(status_of(signal_all), 0);
}

/* ---- bounds ---- */

/* Callers that end, or are stopped, while they wait for an answer. */
static int
end_while_calling(void)
{
    for (int i = 0; i < MANY; i++) {
        pid_t child = fork();

        if (child == 0) {
            for (;;) {
                kill(getppid(), 0);
                kill(-getppid(), 0);
            }
        }
        NEED(i % 2 == 0 || kill(child, SIGSTOP) == 0);
        NEED(kill(child, SIGKILL) == 0);
        NEED(end_of(child) == SIGKILL);
    }
    return 0;
}

static void
test_callers_that_end(void **state)
{
    (void)state;
    assert_int_equal(status_of(end_while_calling), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_child),          TEST(test_a_group),
        TEST(test_its_own_group),    TEST(test_its_own_group_by_0),
        TEST(test_itself),           TEST(test_abort),
        TEST(test_others),           TEST(test_all),
        TEST(test_callers_that_end),
    };

    alarm(300);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

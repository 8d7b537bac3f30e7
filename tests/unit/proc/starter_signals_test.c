/*
 * Programs whose signals the starter sends: Landlock holds none here.
 *
 * The program is this test, with a word that says what it does, and the number
 * of a process of the same user, which says at its end which signals it had.
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
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "starter_help.h"

#define MANY 2500 /* more than a starter answers in a while */

static pid_t outside;

/* ---- the program ---- */

/* Its caller returns 1 if it is not so. */
#define NEED(condition)                                                  \
    do {                                                                 \
        if (!(condition)) {                                              \
            fprintf(stderr, "line %d: %s\n", __LINE__, strerror(errno)); \
            return 1;                                                    \
        }                                                                \
    } while (0)

static volatile sig_atomic_t handled;

static void
on_signal(int number)
{
    (void)number;
    handled++;
}

static int
signal_itself(void)
{
    signal(SIGUSR1, on_signal);
    NEED(raise(SIGUSR1) == 0 && handled == 1);
    NEED(kill(getpid(), SIGUSR1) == 0 && handled == 2);
    NEED(syscall(SYS_tkill, gettid(), SIGUSR1) == 0 && handled == 3);
    return 0;
}

static int
abort_in_a_child(void)
{
    struct rlimit none = { 0, 0 };
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGABRT, SIG_DFL);
        abort();
    }
    NEED(waitpid(child, &status, 0) == child);
    NEED(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    return 0;
}

static pid_t
waiting_child(void)
{
    pid_t child = fork();

    if (child == 0) {
        for (;;) {
            pause();
        }
    }
    return child;
}

static bool
is_ended(pid_t child, int by)
{
    int status = 0;

    return waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
           WTERMSIG(status) == by;
}

static int
signal_its_own(void)
{
    pid_t child = waiting_child();

    NEED(signal_itself() == 0 && abort_in_a_child() == 0);
    NEED(kill(child, SIGTERM) == 0 && is_ended(child, SIGTERM));
    NEED(kill(child, 0) == -1 && errno == ESRCH);
    child = waiting_child();
    NEED(kill(0, 0) == 0);
    signal(SIGUSR2, SIG_IGN);
    NEED(kill(-getpgrp(), SIGUSR2) == 0 && is_ended(child, SIGUSR2));
    return 0;
}

static bool
is_refused(long rc)
{
    return rc == -1 && errno == EPERM;
}

static bool
all_are_refused(pid_t pid)
{
    siginfo_t info = { .si_code = SI_QUEUE };

    return is_refused(kill(pid, 0)) && is_refused(kill(pid, SIGUSR1)) &&
           is_refused(kill(-getpgid(pid), 0)) &&
           is_refused(syscall(SYS_tkill, pid, SIGUSR1)) &&
           is_refused(syscall(SYS_tgkill, pid, pid, SIGUSR1)) &&
           is_refused(syscall(SYS_rt_sigqueueinfo, pid, SIGUSR1, &info)) &&
           is_refused(
               syscall(SYS_rt_tgsigqueueinfo, pid, pid, SIGUSR1, &info)) &&
           syscall(SYS_pidfd_send_signal, 0, SIGUSR1, NULL, 0) == -1 &&
           errno == ENOSYS;
}

static int
signal_others(void)
{
    NEED(all_are_refused(outside));
    NEED(all_are_refused(getppid())); /* the starter */
    NEED(is_refused(kill(-1, 0)) && is_refused(kill(-1, SIGUSR1)));
    return 0;
}

static int
signal_often(void)
{
    for (int i = 0; i < MANY; i++) {
        NEED(kill(getpid(), 0) == 0);
    }
    return signal_its_own();
}

static int
be_program(const char *word)
{
    return strcmp(word, "own") == 0      ? signal_its_own()
           : strcmp(word, "others") == 0 ? signal_others()
           : strcmp(word, "often") == 0  ? signal_often()
                                         : 0;
}

/* ---- around it ---- */

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

static void
begin_outside(void)
{
    sigset_t all, before;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    outside = fork();
    if (outside == 0) {
        setsid();
        wait_outside();
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    assert_int_not_equal(outside, -1);
}

static int
begin(void **state)
{
    static const struct str programs[] = { { "/proc/self/exe", 14 } };
    static const struct str folders[] = { { "/", 1 } };
    static const struct sandbox sandbox = { .kind = SANDBOX_PROGRAM,
                                            .seccomp =
                                                SANDBOX_SECCOMP_ENFORCE };
    struct starter_options o = { .programs = programs,
                                 .program_count = 1,
                                 .folders = folders,
                                 .folder_count = 1,
                                 .sandbox = &sandbox };

    (void)state;
    if (!sandbox_can_give()) {
        print_message("not run: needs Linux 5.9, and no other listener\n");
        skip();
    }
    begin_outside();
    return open_starter(&o);
}

static int
finish(void **state)
{
    int status = -1;

    (void)state;
    starter_free(&t.starter);
    loop_free(&t.loop);
    kill(outside, SIGUSR2);
    assert_int_equal(waitpid(outside, &status, 0), outside);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    return 0;
}

static void
start(const char *word)
{
    char number[16];
    const char *const arguments[] = { "hostile", word, number, NULL };
    const char *const environment[] = { NULL };
    int files[] = { -1, -1, fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) };
    const struct program p = { .arguments = arguments,
                               .environment = environment,
                               .files = files,
                               .file_count = 3,
                               .on_start = on_start,
                               .on_end = on_end };
    struct errmsg err;

    snprintf(number, sizeof(number), "%d", (int)outside);
    assert_non_null(starter_run(t.starter, &p, &err));
}

/* ---- tests ---- */

static void
its_own_are_signalled(void **state)
{
    (void)state;
    start("own");
    wait_until(&t.ended, 1);
    assert_int_equal(t.end.status, 0);
}

static void
no_others_are_signalled(void **state)
{
    (void)state;
    start("others");
    wait_until(&t.ended, 1);
    assert_int_equal(t.end.status, 0);
}

/* However many: it waits now and then. */
static void
signals_have_no_end(void **state)
{
    int64_t began = clock_ms();

    (void)state;
    start("often");
    wait_until(&t.ended, 1);
    assert_int_equal(t.end.status, 0);
    assert_true(clock_ms() - began >= 1000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(its_own_are_signalled),
        TEST(no_others_are_signalled),
        TEST(signals_have_no_end),
    };

    if (argc > 2) { /* without the leak checker, which makes other calls */
        outside = (pid_t)strtol(argv[2], NULL, 10);

        int status = be_program(argv[1]);

        fflush(stdout);
        _exit(status);
    }
    alarm(300);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

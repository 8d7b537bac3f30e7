/*
 * Programs that make calls which are not on their list: the role is told.
 *
 * The program is this test, with a word that says what it does.
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
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "proc/metrics.h"
#include "proc/slot.h"
#include "starter_help.h"

#define MANY 100000

static char logged[65536];

static void
take_line(void *arg, const char *line, size_t len)
{
    size_t had = strlen(logged);

    (void)arg;
    if (had + len < sizeof(logged)) {
        memcpy(logged + had, line, len);
        logged[had + len] = '\0';
    }
}

static unsigned
lines_with(const char *text)
{
    unsigned n = 0;

    for (const char *at = logged; (at = strstr(at, text)) != NULL; at++) {
        n++;
    }
    return n;
}

/* ---- the program ---- */

static int
is_unknown(long call)
{
    return syscall(call, 0, 0, 0, 0, 0) == -1 && errno == ENOSYS ? 0 : 1;
}

static int
make_few(void)
{
    return is_unknown(SYS_mount) + is_unknown(SYS_chroot) +
           is_unknown(SYS_mount) + is_unknown(SYS_mount);
}

static int
make_many(void)
{
    int wrong = 0;

    for (int i = 0; i < MANY; i++) {
        wrong |= is_unknown(i % 2 == 0 ? SYS_mount : 2000 + i);
    }
    return wrong;
}

/* The last one is another, which is late. */
static int
make_late(void)
{
    int wrong = 0;

    for (int i = 0; i < 2000; i++) {
        wrong |= is_unknown(SYS_mount);
    }
    return wrong | is_unknown(SYS_chroot);
}

/* It makes them for ever, in more than one process. */
static int __attribute__((noreturn)) make_more(void)
{
    for (int i = 0; i < 3 && fork() > 0; i++) {
    }
    for (;;) {
        is_unknown(SYS_mount);
    }
}

/* As a supervisor of engines does. */
static int
supervise(void)
{
    int listener = -1;

    if (sandbox_engine_filter(0, getppid(), &listener) == -1) {
        return 2;
    }
    close(listener);
    return listener == -1 ? 3 : make_few();
}

static int
be_program(const char *word)
{
    return strcmp(word, "few") == 0    ? make_few()
           : strcmp(word, "many") == 0 ? make_many()
           : strcmp(word, "late") == 0 ? make_late()
           : strcmp(word, "more") == 0 ? make_more()
           : strcmp(word, "none") == 0 ? 0
                                       : supervise();
}

/* ---- around it ---- */

static int
begin_as(enum sandbox_kind kind)
{
    static const struct str programs[] = { { "/proc/self/exe", 14 } };
    static const struct str folders[] = { { "/", 1 } };
    struct sandbox sandbox = { .kind = kind,
                               .seccomp = SANDBOX_SECCOMP_ENFORCE };
    struct starter_options o = { .programs = programs,
                                 .program_count = 1,
                                 .folders = folders,
                                 .folder_count = 1,
                                 .sandbox = &sandbox };

    logged[0] = '\0';
    log_set_sink(take_line, NULL);
    return open_starter(&o);
}

static int
begin(void **state)
{
    (void)state;
    return begin_as(SANDBOX_PROGRAM);
}

static int
begin_supervisor(void **state)
{
    (void)state;
    return begin_as(SANDBOX_SUPERVISOR);
}

static int
finish(void **state)
{
    (void)state;
    starter_free(&t.starter);
    loop_free(&t.loop);
    log_set_sink(NULL, NULL);
    while (wait(NULL) > 0) {
    }
    return 0;
}

static struct starter_run *
start(const char *word)
{
    const char *const arguments[] = { "hostile", word, NULL };
    const char *const environment[] = { NULL };
    int files[] = { -1, -1, fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) };
    const struct program p = { .arguments = arguments,
                               .environment = environment,
                               .files = files,
                               .file_count = 3,
                               .on_start = on_start,
                               .on_end = on_end };
    struct errmsg err;
    struct starter_run *run = starter_run(t.starter, &p, &err);

    assert_non_null(run);
    return run;
}

static void
need_listeners(void)
{
    if (!sandbox_can_hear()) {
        print_message("not run: needs user notification of seccomp\n");
        skip();
    }
}

static int64_t
counted(void)
{
    return metric_sum(&proc_metrics[PROC_SANDBOX_UNKNOWN], 0);
}

/* ---- what is told ---- */

static void
each_is_told_once_a_run(void **state)
{
    int64_t before = counted();
    char mount[64];

    (void)state;
    need_listeners();
    snprintf(mount, sizeof(mount), "hostile has made system call %d,",
             (int)SYS_mount);
    start("few");
    wait_until(&t.ended, 1);
    assert_int_equal(t.end.status, 0);
    assert_int_equal(counted() - before, 2);
    assert_int_equal(lines_with(mount), 1);
    start("few");
    wait_until(&t.ended, 2);
    assert_int_equal(counted() - before, 4);
}

static void
nothing_is_told_of_others(void **state)
{
    int64_t before = counted();

    (void)state;
    start("none");
    wait_until(&t.ended, 1);
    assert_int_equal(t.end.status, 0);
    assert_int_equal(counted() - before, 0);
}

/* They are ENOSYS to the last, and what is told has a bound. */
static void
many_are_answered(void **state)
{
    int64_t before = counted();

    (void)state;
    need_listeners();
    start("many");
    wait_until(&t.ended, 1);
    assert_int_equal(t.end.status, 0);
    assert_int_equal(counted() - before, SANDBOX_TOLD);
}

/* Behind a number of calls nobody hears of them. */
static void
too_many_are_not_heard(void **state)
{
    int64_t before = counted();

    (void)state;
    need_listeners();
    start("late");
    wait_until(&t.ended, 1);
    assert_int_equal(t.end.status, 0);
    assert_int_equal(counted() - before, 1);
}

/* The starter begins and ends other runs meanwhile, and this one. */
static void
they_keep_it_from_nothing(void **state)
{
    struct starter_run *run;

    (void)state;
    run = start("more");
    wait_until(&t.started, 1);
    for (unsigned i = 1; i <= 5; i++) {
        start("none");
        wait_until(&t.ended, i);
        assert_int_equal(t.end.status, 0);
    }
    starter_signal(run, SIGKILL);
    wait_until(&t.ended, 6);
    assert_int_equal(t.end.status, SIGKILL);
}

/* It has the only listener, so the starter makes none. */
static void
a_supervisor_hears_itself(void **state)
{
    int64_t before = counted();

    (void)state;
    need_listeners();
    start("supervise");
    wait_until(&t.ended, 1);
    assert_int_equal(t.end.status, 0);
    assert_int_equal(counted() - before, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(each_is_told_once_a_run),
        TEST(nothing_is_told_of_others),
        TEST(many_are_answered),
        TEST(too_many_are_not_heard),
        TEST(they_keep_it_from_nothing),
        cmocka_unit_test_setup_teardown(a_supervisor_hears_itself,
                                        begin_supervisor, finish),
    };

    struct errmsg err;

    if (argc > 1) { /* without the leak checker, which makes other calls */
        int status = be_program(argv[1]);

        fflush(stdout);
        _exit(status);
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* as the master is */
    if (slots_create(4, &err) == -1) {
        return 1;
    }
    slot_take(SLOT_WORKER, "one", 0, 0);
    metric_register(proc_metrics);
    if (metrics_create(&err) == -1) {
        return 1;
    }
    alarm(300);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

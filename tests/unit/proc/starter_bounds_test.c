/*
 * Runs of a shell that go over what they may use together.
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

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "starter_help.h"

#define MIB ((int64_t)1 << 20)

static int output; /* of the run */

static int
begin(void **state)
{
    static const struct str programs[] = { { "/bin/bash", 9 } };
    static const struct str folders[] = { { "/", 1 } };
    static const struct sandbox none = { .kind = SANDBOX_PROGRAM };
    struct starter_options o = { .programs = programs,
                                 .program_count = 1,
                                 .folders = folders,
                                 .folder_count = 1,
                                 .sandbox = &none };

    (void)state;
    return open_starter(&o);
}

static int
finish(void **state)
{
    (void)state;
    starter_free(&t.starter);
    loop_free(&t.loop);
    close(output);
    while (waitpid(-1, NULL, 0) > 0) {
    }
    return 0;
}

static struct starter_run *
start(const char *script, struct program_bounds bounds)
{
    const char *const arguments[] = { "bash", "-c", script, NULL };
    const char *const environment[] = { "PATH=/usr/bin:/bin", NULL };
    int ends[2], files[2];
    const struct program p = { .arguments = arguments,
                               .environment = environment,
                               .files = files,
                               .file_count = 2,
                               .bounds = bounds,
                               .on_start = on_start,
                               .on_end = on_end };
    struct errmsg err;
    struct starter_run *run;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    output = ends[0];
    files[0] = -1;
    files[1] = ends[1];
    run = starter_run(t.starter, &p, &err);
    assert_non_null(run);
    return run;
}

/* All that had its output is gone then. */
static const char *
output_of(const char *script, struct program_bounds bounds)
{
    static char text[256];
    size_t len = 0;
    ssize_t n;

    start(script, bounds);
    wait_until(&t.ended, 1);
    while ((n = read(output, text + len, sizeof(text) - 1 - len)) > 0) {
        len += (size_t)n;
    }
    text[len] = '\0';
    return text;
}

/* ---- bounds ---- */

static void
processes(void **state)
{
    (void)state;
    output_of("for i in {1..9}; do sleep 1000 & done; wait",
              (struct program_bounds){ .processes = 9 });
    assert_int_equal(t.end.excess, PROGRAM_PROCESSES);
}

/* The shell has it until the end: without ":", sleep would take its place. */
static void
memory(void **state)
{
    (void)state;
    output_of("x=$(head -c 60M /dev/zero | tr '\\0' x); sleep 1000; :",
              (struct program_bounds){ .memory = 40 * MIB });
    assert_int_equal(t.end.excess, PROGRAM_MEMORY);
}

static void
cpu(void **state)
{
    (void)state;
    output_of("while :; do :; done & while :; do :; done",
              (struct program_bounds){ .cpu_ms = 700 });
    assert_int_equal(t.end.excess, PROGRAM_CPU);
}

/* Each of those that ended took less. */
static void
cpu_of_those_that_ended(void **state)
{
    (void)state;
    output_of("while :; do (for i in {1..20000}; do :; done); done",
              (struct program_bounds){ .cpu_ms = 700 });
    assert_int_equal(t.end.excess, PROGRAM_CPU);
}

/* It works for longer than a look, and less than its bound. */
static void
time_counts_once(void **state)
{
    (void)state;
    assert_string_equal(
        output_of("c() { set -- $(< /proc/$$/stat); "
                  "echo $((${14} + ${15})); }; "
                  "while [ $(c) -lt 180 ]; do for i in {1..20000}; do :; done; "
                  "done; echo done",
                  (struct program_bounds){ .cpu_ms = 8000 }),
        "done\n");
    assert_int_equal(t.end.excess, PROGRAM_IN_BOUNDS);
}

static void
what_is_in_bounds_goes_on(void **state)
{
    (void)state;
    assert_string_equal(
        output_of("for i in {1..7}; do sleep 1.5 & done; wait; echo done",
                  (struct program_bounds){
                      .processes = 8, .memory = 1000 * MIB, .cpu_ms = 60000 }),
        "done\n");
    assert_int_equal(t.end.excess, PROGRAM_IN_BOUNDS);
    assert_int_equal(t.end.status, 0);
}

/* A run goes before its starter, and that, as soon as it has forked, not before
 * all others. */
static void
it_goes_first_without_memory(void **state)
{
    char mine[16] = "", expected[32];
    int fd = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);

    (void)state;
    assert_true(read(fd, mine, sizeof(mine) - 1) > 0);
    close(fd);
    snprintf(expected, sizeof(expected), "1000\n%s", mine);
    assert_string_equal(
        output_of("own=/proc/self/oom_score_adj of=/proc/$PPID/oom_score_adj;"
                  "cat $own; while cmp -s $own $of; do sleep 0.01; done;"
                  "cat $of",
                  (struct program_bounds){ .cpu_ms = 0 }),
        expected);
}

/* ---- the end ---- */

static void
it_hears_that_it_ends(void **state)
{
    (void)state;
    assert_string_equal(
        output_of("trap 'echo heard; exit 4' TERM; while :; do :; done",
                  (struct program_bounds){ .cpu_ms = 100 }),
        "heard\n");
    assert_int_equal(t.end.excess, PROGRAM_CPU);
    assert_int_equal(t.end.status, 4 << 8);
}

static void
it_ends_though_it_does_not_listen(void **state)
{
    (void)state;
    output_of("trap '' TERM; (trap '' TERM; sleep 1000) & while :; do :; done",
              (struct program_bounds){ .cpu_ms = 100 });
    assert_int_equal(t.end.excess, PROGRAM_CPU);
    assert_int_equal(t.end.status, SIGKILL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(processes, begin, finish),
        cmocka_unit_test_setup_teardown(memory, begin, finish),
        cmocka_unit_test_setup_teardown(cpu, begin, finish),
        cmocka_unit_test_setup_teardown(cpu_of_those_that_ended, begin, finish),
        cmocka_unit_test_setup_teardown(time_counts_once, begin, finish),
        cmocka_unit_test_setup_teardown(what_is_in_bounds_goes_on, begin,
                                        finish),
        cmocka_unit_test_setup_teardown(it_goes_first_without_memory, begin,
                                        finish),
        cmocka_unit_test_setup_teardown(it_hears_that_it_ends, begin, finish),
        cmocka_unit_test_setup_teardown(it_ends_though_it_does_not_listen,
                                        begin, finish),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

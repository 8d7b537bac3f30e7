/*
 * The reports of a supervisor, a shell script here, beside its engine.
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

#include "fetcher/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "fetcher/fetcher.h"
#include "proc/starter.h"

#define PATIENCE 120000 /* ms; an idle machine needs a few */

/* Its last argument is what it does. */
static const char supervisor[] = "#!/bin/sh\n"
                                 "for word; do\n"
                                 "  [ \"$last\" = --tells ] && pipe=$word\n"
                                 "  last=$word\n"
                                 "done\n"
                                 "eval \"$last\"\n";

static struct {
    char path[64];
    struct fetcher f;
    struct fetch_process *process;
    struct fetch_process_end end;
    bool ended;
    char said[256];
} t;

/* ---- each test ---- */

static void
on_never(void *arg)
{
    (void)arg;
    fail();
}

static int
begin(void **state)
{
    static const struct sandbox none = { .kind = SANDBOX_PROGRAM };
    static const struct str root = { "/", 1 };
    struct str program;
    struct starter_options o = { .programs = &program,
                                 .program_count = 1,
                                 .folders = &root,
                                 .folder_count = 1,
                                 .sandbox = &none };
    struct errmsg err;
    int fd;

    (void)state;
    memset(&t, 0, sizeof(t));
    str_copy(t.path, sizeof(t.path), STR("/tmp/weir-process-test-XXXXXX"));
    fd = mkstemp(t.path);
    assert_int_equal(write(fd, supervisor, sizeof(supervisor) - 1),
                     sizeof(supervisor) - 1);
    assert_int_equal(fchmod(fd, 0755), 0);
    close(fd);
    program = str_from(t.path);
    assert_int_equal(privilege_ids(STR_NONE, STR_NONE, &o.role, &err), 0);
    assert_int_equal(privilege_program(STR_NONE, &o.program, &err), 0);
    t.f.starter = starter_new(&o, &err);
    t.f.loop = loop_new(&err);
    return starter_open(t.f.starter, t.f.loop, on_never, NULL, &err);
}

static int
finish(void **state)
{
    (void)state;
    starter_free(&t.f.starter);
    loop_free(&t.f.loop);
    assert_true(wait(NULL) > 0); /* the starter */
    assert_int_equal(wait(NULL), -1);
    return unlink(t.path);
}

/* ---- runs ---- */

static void
on_output(void *arg, struct str bytes, bool is_error)
{
    assert_ptr_equal(arg, &t);
    assert_false(is_error);
    str_append(t.said, sizeof(t.said), strlen(t.said), bytes);
}

static void
on_end(void *arg, const struct fetch_process_end *end)
{
    assert_ptr_equal(arg, &t);
    t.end = *end;
    t.ended = true;
}

static void
run_with(const char *script, const struct downloads_instance *plan)
{
    struct pool *pool = pool_new(256);
    struct fetch_line line = { .pool = pool };
    const struct fetch_process_options o = { .fetcher = &t.f,
                                             .program = STR("/bin/true"),
                                             .line = &line,
                                             .folder = -1,
                                             .plan = plan,
                                             .on_output = on_output,
                                             .on_end = on_end,
                                             .arg = &t };
    int64_t until = clock_ms() + PATIENCE;
    struct errmsg err;

    fetch_line_add(&line, script);
    t.process = fetch_process_start(&o, &err);
    assert_non_null(t.process);
    pool_free(&pool);
    while (!t.ended) {
        assert_true(clock_ms() < until);
        loop_turn(t.f.loop, 20);
    }
    assert_true(t.end.started);
}

static void
run(const char *script)
{
    static const struct downloads_instance plan;

    run_with(script, &plan);
}

static void
test_excess(void **state)
{
    (void)state;
    run("echo excess cpu >&$pipe; exit 3");
    assert_int_equal(t.end.excess, EXCESS_CPU);
    assert_int_equal(t.end.status, 3);
    assert_string_equal(t.said, "");
}

static void
test_the_first_is_told(void **state)
{
    (void)state;
    run("printf 'excess fi' >&$pipe; printf 'les\\nexcess cpu\\n' >&$pipe");
    assert_int_equal(t.end.excess, EXCESS_FILES);
}

static void
test_other_words(void **state)
{
    (void)state;
    run("printf 'excess\\nexcess luck\\n excess cpu\\nwhat\\n' >&$pipe;"
        "head -c 100000 /dev/zero | tr '\\0' x >&$pipe;"
        "printf '\\n\\0\\n' >&$pipe");
    assert_int_equal(t.end.excess, EXCESS_NONE);
}

static char logged[4096];

static void
take_line(void *arg, const char *line, size_t len)
{
    (void)arg;
    str_append(logged, sizeof(logged), strlen(logged), str_of(line, len));
}

/* Of a run, each number once, and a bound of them. */
static void
test_calls(void **state)
{
    unsigned lines = 0;

    (void)state;
    log_set_sink(take_line, NULL);
    run("echo call 272 >&$pipe; echo call 272 >&$pipe;"
        "printf 'call\ncall x\ncall -1\ncall 99999999999\n' >&$pipe");
    log_set_sink(NULL, NULL);
    for (const char *at = logged; (at = strstr(at, "call ")) != NULL; at++) {
        lines++;
    }
    assert_non_null(
        strstr(logged, "an engine of downloads has made system call 272, "));
    assert_int_equal(lines, 1);
}

/* A report that the engine writes is none of the supervisor's. */
static void
test_an_engine_tells_no_facts(void **state)
{
    (void)state;
    run("echo excess memory");
    assert_int_equal(t.end.excess, EXCESS_NONE);
    assert_string_equal(t.said, "excess memory\n");
}

/* ---- what it is given ---- */

static void
test_bounds_are_handed_on(void **state)
{
    static const struct downloads_instance plan = { .max_files = 3,
                                                    .max_bytes = 5000,
                                                    .max_file_size = 1 << 20 };

    (void)state;
    run_with("echo $3 $4 $5 $6 $(ulimit -f)", &plan);
    assert_string_equal(t.said, "--max-files 3 --max-bytes 5000 2048\n");
}

static void
test_its_environment(void **state)
{
    (void)state;
    setenv("SECRET_OF_WEIR", "x", 1);
    setenv("http_proxy", "http://example.org", 1);
    run("env | sed 's/=.*//' | grep -v '^PWD$' | LC_ALL=C sort | tr '\\n' ' '");
    unsetenv("http_proxy");
    assert_string_equal(t.said, "HOME LANG LC_ALL NO_PROXY PATH "
                                "PYTHONDONTWRITEBYTECODE TMPDIR no_proxy ");
}

static void
test_more_arguments_than_there_are(void **state)
{
    struct pool *pool = pool_new(256);
    struct fetch_line line = { .pool = pool };
    static const struct downloads_instance plan;
    const struct fetch_process_options o = { .fetcher = &t.f,
                                             .program = STR("/bin/true"),
                                             .line = &line,
                                             .folder = -1,
                                             .plan = &plan,
                                             .on_output = on_output,
                                             .on_end = on_end,
                                             .arg = &t };
    struct errmsg err;

    (void)state;
    while (!line.full) {
        fetch_line_add(&line, "x");
    }
    assert_null(fetch_process_start(&o, &err));
    assert_non_null(strstr(err.text, "the engine has more than "));
    loop_turn(t.f.loop, 0);
    pool_free(&pool);
}

static void
test_memory(void **state)
{
    static const struct downloads_instance plan = { .max_memory = 64 << 20 };

    (void)state;
    run_with("exec dd if=/dev/zero of=/dev/null bs=200M", &plan);
    assert_int_equal(t.end.excess, EXCESS_MEMORY);
}

static void
test_processor_time(void **state)
{
    static const struct downloads_instance plan = { .max_cpu = 100 };

    (void)state;
    run_with("while :; do :; done", &plan);
    assert_int_equal(t.end.excess, EXCESS_CPU);
}

/* The supervisor does not count: the engine has as many as are allowed. */
static void
test_processes(void **state)
{
    static const struct downloads_instance plan = { .max_processes = 1 };

    (void)state;
    run_with("sleep 3; :", &plan);
    assert_int_equal(t.end.excess, EXCESS_NONE);
    t.ended = false;
    run_with("sleep 1000 & sleep 1000; :", &plan);
    assert_int_equal(t.end.excess, EXCESS_PROCESSES);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_excess, begin, finish),
        cmocka_unit_test_setup_teardown(test_the_first_is_told, begin, finish),
        cmocka_unit_test_setup_teardown(test_other_words, begin, finish),
        cmocka_unit_test_setup_teardown(test_calls, begin, finish),
        cmocka_unit_test_setup_teardown(test_an_engine_tells_no_facts, begin,
                                        finish),
        cmocka_unit_test_setup_teardown(test_bounds_are_handed_on, begin,
                                        finish),
        cmocka_unit_test_setup_teardown(test_its_environment, begin, finish),
        cmocka_unit_test_setup_teardown(test_more_arguments_than_there_are,
                                        begin, finish),
        cmocka_unit_test_setup_teardown(test_memory, begin, finish),
        cmocka_unit_test_setup_teardown(test_processor_time, begin, finish),
        cmocka_unit_test_setup_teardown(test_processes, begin, finish),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

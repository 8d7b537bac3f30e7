/*
 * Words of weir-speaker, a shell script here, to the role, and orders.
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

#include "engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/starter.h"

#define PATIENCE 120000 /* ms; an idle machine needs a few */

/* It says the first order that comes as the reason of its end. */
#define SAY_ORDER \
    "printf 'failed %s' \"$(dd bs=1024 count=1 <&3 2>/dev/null)\" >&3\n"

#define WAIT "dd bs=1024 count=1 <&3 >/dev/null 2>&1\n"

static struct {
    char path[64];
    struct loop *loop;
    struct starter *starter;
    struct engine *engine;
    int64_t rate;
    unsigned readies;
    bool ended;
    char why[2048];
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
    str_copy(t.path, sizeof(t.path), STR("/tmp/weir-engine-test-XXXXXX"));
    fd = mkstemp(t.path);
    assert_int_equal(fchmod(fd, 0755), 0);
    close(fd);
    program = str_from(t.path);
    assert_int_equal(privilege_ids(STR_NONE, STR_NONE, &o.role, &err), 0);
    assert_int_equal(privilege_program(STR_NONE, &o.program, &err), 0);
    t.starter = starter_new(&o, &err);
    t.loop = loop_new(&err);
    return starter_open(t.starter, t.loop, on_never, NULL, &err);
}

static int
finish(void **state)
{
    (void)state;
    engine_discard(&t.engine);
    starter_free(&t.starter);
    loop_free(&t.loop);
    assert_true(wait(NULL) > 0); /* the starter */
    assert_int_equal(wait(NULL), -1);
    return unlink(t.path);
}

static void
on_ready(void *arg, int64_t rate)
{
    assert_ptr_equal(arg, &t);
    t.rate = rate;
    t.readies++;
}

static void
on_end(void *arg, const char *why)
{
    assert_ptr_equal(arg, &t);
    str_copy(t.why, sizeof(t.why), str_from(why));
    t.ended = true;
    t.engine = NULL;
}

static void
start_with(const char *script, const struct str *directories, size_t count)
{
    const struct engine_options o = { .loop = t.loop,
                                      .starter = t.starter,
                                      .directories = directories,
                                      .directory_count = count,
                                      .on_ready = on_ready,
                                      .on_end = on_end,
                                      .arg = &t };
    FILE *f = fopen(t.path, "we");
    struct errmsg err;

    assert_non_null(f);
    assert_true(fprintf(f, "#!/bin/sh\n%s", script) > 0);
    assert_int_equal(fclose(f), 0);
    t.readies = 0;
    t.ended = false;
    t.engine = engine_start(&o, &err);
    assert_non_null(t.engine);
}

static void
turn_until(const bool *done)
{
    int64_t until = clock_ms() + PATIENCE;

    while (!*done) {
        assert_true(clock_ms() < until);
        loop_turn(t.loop, 20);
    }
}

static void
run(const char *script)
{
    start_with(script, NULL, 0);
    turn_until(&t.ended);
}

/* It ends when it is told so. */
static void
end_when_ready(void)
{
    int64_t until = clock_ms() + PATIENCE;

    while (t.readies == 0) {
        assert_true(clock_ms() < until);
        loop_turn(t.loop, 20);
    }
    engine_close(t.engine);
    turn_until(&t.ended);
}

/* ---- what it says ---- */

static void
rates_have_bounds(void **state)
{
    static const char *const bad[] = { "ready 999",   "ready 192001",
                                       "ready -8000", "ready x",
                                       "ready ",      "steady 8000" };
    char script[128];

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(script, sizeof(script), "printf '%s' >&3\nexec sleep 1000\n",
                 bad[i]);
        run(script);
        assert_string_equal(t.why, "it said what makes no sense");
        assert_int_equal(t.readies, 0);
    }
    for (int64_t rate = 1000; rate <= 192000; rate += 191000) {
        snprintf(script, sizeof(script), "printf 'ready %d' >&3\n" WAIT,
                 (int)rate);
        start_with(script, NULL, 0);
        end_when_ready();
        assert_int_equal(t.rate, rate);
        assert_string_equal(t.why, "");
    }
}

static void
it_is_ready_once(void **state)
{
    int64_t until = clock_ms() + PATIENCE;

    (void)state;
    start_with("printf 'ready 8000' >&3\nprintf 'ready 192000' >&3\n"
               "printf 'failed soon' >&3\n" WAIT,
               NULL, 0);
    do {
        assert_true(clock_ms() < until);
        loop_turn(t.loop, 20);
    } while (t.readies == 0 || engine_is_ready(t.engine));
    end_when_ready();
    assert_int_equal(t.readies, 1);
    assert_int_equal(t.rate, 8000);
    assert_string_equal(t.why, "soon");
}

/* It goes to the log. */
static void
reasons_have_no_controls(void **state)
{
    (void)state;
    run("printf 'failed a\\033[2Jb\\nc' >&3\n");
    assert_null(strchr(t.why, '\033'));
    assert_null(strchr(t.why, '\n'));
    assert_int_equal(t.why[0], 'a');
}

/* ---- what it is told ---- */

static void
orders_that_wait_have_a_bound(void **state)
{
    (void)state;
    start_with("exec sleep 1000\n", NULL, 0);
    for (int i = 0; i < 10000; i++) {
        engine_kill(t.engine, INT32_MAX);
    }
    engine_abort(t.engine, "it is over");
    turn_until(&t.ended);
    assert_string_equal(t.why, "it is over");
}

static void
directories_have_a_bound(void **state)
{
    struct str many[40];

    (void)state;
    for (size_t i = 0; i < 40; i++) {
        many[i] = STR("/tmp");
    }
    start_with("printf 'failed %d' $# >&3\n", many, 40);
    turn_until(&t.ended);
    assert_string_equal(t.why, "22"); /* 16, and 3 options */
}

static int
see_out(pid_t child)
{
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    start_with(SAY_ORDER, NULL, 0);
    engine_see_out(t.engine, child, ends[0]);
    return ends[1];
}

static void
a_child_that_ends_is_left_alone(void **state)
{
    (void)state;
    close(see_out(7));
    loop_turn(t.loop, 0);
    engine_close(t.engine);
    turn_until(&t.ended);
    assert_string_equal(t.why, "end");
}

static void
a_child_that_goes_on_is_killed(void **state)
{
    int fd = see_out(8);

    (void)state;
    assert_int_equal(send(fd, "x", 1, MSG_NOSIGNAL), 1);
    turn_until(&t.ended);
    assert_string_equal(t.why, "kill 8");
    close(fd);
}

static void
a_child_that_stays_is_killed(void **state)
{
    int fd = see_out(9);

    (void)state;
    turn_until(&t.ended);
    assert_string_equal(t.why, "kill 9");
    close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rates_have_bounds),
        TEST(it_is_ready_once),
        TEST(reasons_have_no_controls),
        TEST(orders_that_wait_have_a_bound),
        TEST(directories_have_a_bound),
        TEST(a_child_that_ends_is_left_alone),
        TEST(a_child_that_goes_on_is_killed),
        TEST(a_child_that_stays_is_killed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

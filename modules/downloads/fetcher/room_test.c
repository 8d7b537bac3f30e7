/*
 * Which run ends when the disk has too little.
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

#include "fetcher/room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "event/task.h"

#define PATIENCE 120000 /* ms; an idle machine needs two */
#define RUNS 3

static struct {
    char path[64];
    struct loop *loop;
    struct task_threads *threads;
    struct place *place;
    struct room runs[RUNS];
    char ended[RUNS + 1]; /* "a" is the first */
} t;

static int
begin(void **state)
{
    struct errmsg err;

    (void)state;
    memset(&t, 0, sizeof(t));
    snprintf(t.path, sizeof(t.path), "/tmp/weir-room-test-XXXXXX");
    assert_non_null(mkdtemp(t.path));
    t.loop = loop_new(&err);
    t.threads = task_threads_new(t.loop, 1, 16, &err);
    t.place = place_new(t.loop, t.threads, str_from(t.path), &err);
    return t.place == NULL ? -1 : 0;
}

static int
finish(void **state)
{
    char command[sizeof(t.path) + 16];

    (void)state;
    for (int i = 0; i < RUNS; i++) {
        room_stop(&t.runs[i]);
    }
    place_free(&t.place);
    task_threads_free(&t.threads);
    loop_free(&t.loop);
    snprintf(command, sizeof(command), "rm -rf %s", t.path);
    return system(command);
}

static void
on_full(struct room *r)
{
    t.ended[strlen(t.ended)] = (char)('a' + (r - t.runs));
    room_stop(r);
}

static void
start(int64_t min_free)
{
    static const int64_t bytes[RUNS] = { 10, 30, 20 };

    for (int i = 0; i < RUNS; i++) {
        room_start(&t.runs[i], t.loop, t.place, min_free, on_full);
        t.runs[i].bytes = bytes[i];
    }
}

/* It began with too little, and has written nothing yet. */
static void
test_one_that_does_not_write(void **state)
{
    int64_t until = clock_ms() + PATIENCE;

    (void)state;
    start(INT64_MAX);
    t.runs[1].bytes = 0;
    t.runs[0].bytes = 0;
    while (t.ended[0] == '\0') {
        assert_true(clock_ms() < until);
        loop_turn(t.loop, 20);
    }
    until = clock_ms() + 2200; /* one more would have ended */
    while (clock_ms() < until) {
        loop_turn(t.loop, 20);
    }
    assert_string_equal(t.ended, "c");
}

/* The one that fills the disk has not said so when the first one looks. */
static void
test_a_count_that_comes_late(void **state)
{
    int64_t begun = clock_ms();

    (void)state;
    start(INT64_MAX);
    t.runs[1].bytes = 0;
    while (t.ended[0] == '\0') {
        assert_true(clock_ms() < begun + PATIENCE);
        if (clock_ms() >= begun + 700) {
            t.runs[1].bytes = 30;
        }
        loop_turn(t.loop, 20);
    }
    assert_string_equal(t.ended, "b");
}

/* Not at once: what one had is removed first. */
static void
test_one_after_the_other(void **state)
{
    int64_t begun = clock_ms(), until = begun + PATIENCE;

    (void)state;
    start(INT64_MAX);
    while (strlen(t.ended) < RUNS) {
        assert_true(clock_ms() < until);
        loop_turn(t.loop, 20);
    }
    assert_string_equal(t.ended, "bca");
    assert_true(clock_ms() - begun >= 3000);
}

static void
test_there_is_room(void **state)
{
    int64_t until = clock_ms() + 1200; /* it is looked at twice */

    (void)state;
    start(0);
    while (clock_ms() < until) {
        loop_turn(t.loop, 20);
    }
    assert_string_equal(t.ended, "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_there_is_room, begin, finish),
        cmocka_unit_test_setup_teardown(test_one_that_does_not_write, begin,
                                        finish),
        cmocka_unit_test_setup_teardown(test_a_count_that_comes_late, begin,
                                        finish),
        cmocka_unit_test_setup_teardown(test_one_after_the_other, begin,
                                        finish),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

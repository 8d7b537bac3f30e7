/*
 * Viewers that several processes enter, count and end at once, what those leave
 * that are killed anywhere, and words that mean nothing.
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

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "viewer_fixture.h"

#define CHILDREN 4

/* ---- what a killed process leaves ---- */

/* Killed when the record was made, before it had a place in the table. */
static void
test_one_that_nobody_finds(void **state)
{
    struct live_viewer v = viewer(1, "live/a");
    _Atomic uint64_t *table = (_Atomic uint64_t *)(void *)arena.viewers;

    (void)state;
    live_viewer_came(&v, 0, 0, &(struct errmsg){ "" });
    for (size_t i = 0; i < viewers_size(SESSIONS) / sizeof(*table); i++) {
        atomic_store(&table[i], 0);
    }
    assert_int_equal(come(1, "live/a"), LIVE_VIEWER_COUNTED);
    assert_int_equal(sessions().count, 2);
    atomic_store(&arena.sessions[0].until_ms, 1);
    sweep();
    assert_int_equal(taken(), 1);
    assert_true(take(1, "live/a"));
}

/* Killed while it let go of one: the hash of its name still stands there. */
static void
test_one_that_was_not_let_go_of(void **state)
{
    (void)state;
    come(1, "live/a");
    atomic_store(&arena.claims[0].owner, OWNER_GONE);
    assert_int_equal(sessions().count, 0);
    assert_false(take(1, "live/a"));
    sweep();
    assert_int_equal(taken(), 0);
    assert_int_equal(atomic_load(&arena.claims[0].plays), 0);
}

/* Record 1 gets a place behind that of record 0. */
static void
enter_second(void)
{
    _Atomic uint64_t *table = (_Atomic uint64_t *)(void *)arena.viewers;
    size_t at = 0;

    while ((uint32_t)atomic_load(&table[at]) != 1) {
        at++;
    }
    assert_true(at % 8 < 7);
    atomic_store(&table[at + 1], UINT64_C(1) << 60 | 2);
}

/* Two processes entered it, and both records are in the table: the one that was
 * kicked stays, else the older. */
static void
test_two_of_one(void **state)
{
    struct session_record *r = arena.sessions;

    (void)state;
    for (int kicked = 0; kicked < 2; kicked++) {
        uint64_t serial;

        come(1, "live/a");
        serial = sessions().last.id;
        come(2, "live/a");
        if (kicked) {
            atomic_store(&arena.claims[1].owner,
                         atomic_load(&arena.claims[1].owner) + 1);
            atomic_store(&r[1].kicked_until, clock_ms() + LASTS);
        }
        /* The record of number 2 is another one of number 1. */
        atomic_store(&r[1].viewer[0], 1);
        atomic_store(&r[1].viewer[1], ~UINT64_C(1));
        enter_second();
        assert_int_equal(come(1, "live/a"),
                         kicked ? LIVE_VIEWER_KICKED : LIVE_VIEWER_COUNTED);
        assert_int_equal(sessions().count, kicked ? 0 : 1);
        assert_true(kicked || sessions().last.id == serial);
        expire_all();
        sweep();
        assert_int_equal(taken(), 0);
        arena.session_hint = 0;
    }
}

/* ---- several processes ---- */

static struct shared {
    _Atomic uint32_t here;
    _Atomic uint64_t rounds;
} * shared;

static int
setup_shared(void **state)
{
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? -1 : setup(state);
}

static int
teardown_shared(void **state)
{
    munmap(shared, sizeof(*shared));
    return teardown(state);
}

#define RACES 500
#define MET 10 /* so often at least two did come at once */

static void
wait_for_all(uint32_t count)
{
    atomic_fetch_add(&shared->here, 1);
    for (unsigned i = 0; atomic_load(&shared->here) < count; i++) {
        if (i % 1000 == 999) {
            sched_yield();
        }
    }
}

/* Enters each viewer when all have come so far. */
static void
race(uint32_t slot)
{
    slot_set_self(slot);
    for (uint64_t n = 0; n < RACES; n++) {
        wait_for_all(2 * ((uint32_t)n + 1));
        if (come(n, "live/a") != LIVE_VIEWER_COUNTED) {
            _exit(1);
        }
    }
    _exit(0);
}

/* Two processes enter the same viewers; how many records were taken in vain. */
static uint32_t
run_race(const uint32_t *slots)
{
    uint32_t before = atomic_load(&arena.head->session_serial);

    atomic_store(&shared->here, 0);
    for (int i = 0; i < 2; i++) {
        if (fork() == 0) {
            race(slots[i]);
        }
    }
    for (int i = 0; i < 2; i++) {
        int status;

        assert_int_not_equal(wait(&status), -1);
        assert_int_equal(status, 0);
    }
    return atomic_load(&arena.head->session_serial) - before - RACES;
}

static void
test_one_remains_of_those_that_come_at_once(void **state)
{
    const uint32_t slots[] = {
        (uint32_t)slot_take(SLOT_WORKER, "racer", 1, 0),
        (uint32_t)slot_take(SLOT_WORKER, "racer", 2, 0),
    };
    uint32_t met = 0;

    (void)state;
    for (int round = 0; round < 300 && met < MET; round++) {
        met += run_race(slots);
        assert_int_equal(sessions().count, RACES); /* before anybody looks */
        for (uint64_t n = 0; n < RACES; n++) {
            assert_true(take(n, "live/a"));
        }
        sweep();
        assert_int_equal(taken(), RACES);
        expire_all();
        sweep();
        assert_int_equal(taken(), 0);
    }
    if (met == 0) {
        print_message("no two processes run at once here\n");
        skip();
    }
}

#define REQUESTS 100000

static void
test_nothing_is_lost_of_what_all_count(void **state)
{
    struct seen seen;

    (void)state;
    come(1, "live/a");
    for (int i = 0; i < CHILDREN; i++) {
        if (fork() == 0) {
            wait_for_all(CHILDREN);
            for (int k = 0; k < REQUESTS; k++) {
                take(1, "live/a");
            }
            _exit(0);
        }
    }
    for (int i = 0; i < CHILDREN; i++) {
        assert_int_not_equal(wait(NULL), -1);
    }
    seen = sessions();
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.last.video_bytes, 100 + CHILDREN * REQUESTS * 1000);
    assert_int_equal(seen.last.audio_bytes, 10 + CHILDREN * REQUESTS);
}

/* Comes, and ends what it finds, as all of the same 16 viewers, for ever. */
static void
run_child(uint32_t slot)
{
    slot_set_self(slot);
    srandom(slot);
    for (;;) {
        uint64_t n = (uint64_t)random() % 16;

        come(n, "live/a");
        take(n + 1, "live/a");
        atomic_store(&arena.sessions[random() % 32].until_ms, 1);
        atomic_fetch_add(&shared->rounds, 1);
    }
}

static void
test_killed_anywhere(void **state)
{
    uint32_t slots[CHILDREN];
    pid_t children[CHILDREN];

    (void)state;
    for (int round = 0; round < 30; round++) {
        uint64_t until = atomic_load(&shared->rounds) + 500;

        for (int i = 0; i < CHILDREN; i++) {
            slots[i] = (uint32_t)slot_take(SLOT_WORKER, "child", 1, 0);
            children[i] = fork();
            if (children[i] == 0) {
                run_child(slots[i]);
            }
        }
        while (atomic_load(&shared->rounds) < until) {
            viewers_sweep();
        }
        for (int i = 0; i < CHILDREN; i++) {
            kill(children[i], SIGKILL);
            waitpid(children[i], NULL, 0);
            slot_bury(slots[i]);
            live_sweep(slots[i]);
            slot_release(slots[i]);
        }
        for (uint64_t n = 0; n < 16; n++) {
            assert_int_equal(come(n, "live/a"), LIVE_VIEWER_COUNTED);
            assert_true(take(n, "live/a"));
        }
        expire_all();
        sweep();
        assert_int_equal(taken(), 0);
    }
}

/* ---- words of others ---- */

static void
scribble(void *at, size_t n)
{
    uint8_t *bytes = at;

    for (size_t i = 0; i < n; i++) {
        bytes[i] = (uint8_t)random();
    }
}

static void
test_a_table_that_means_nothing(void **state)
{
    (void)state;
    srandom(1);
    for (int round = 0; round < 20; round++) {
        scribble(arena.viewers, viewers_size(SESSIONS));
        for (uint64_t n = 0; n < 100; n++) {
            assert_false(take(n, "live/a"));
            assert_int_equal(come(n, "live/a"), LIVE_VIEWER_COUNTED);
            assert_true(take(n, "live/a"));
        }
        expire_all();
        sweep();
        assert_int_equal(taken(), 0);
    }
}

/* The master neither leaves the arena nor waits longer than it would. */
static void
test_records_that_mean_nothing(void **state)
{
    static const int64_t times[] = { INT64_MAX, INT64_MIN, -1, INT64_MAX / 2 };
    struct live_kick k = { .name = STR("live/a"), .players = true };

    (void)state;
    srandom(1);
    atomic_store(&arena.head->session_end, UINT32_MAX);
    for (int round = 0; round < 200; round++) {
        for (uint32_t n = 0; n < 16; n++) {
            struct session_record *r = &arena.sessions[n];

            scribble((void *)r, sizeof(*r));
            atomic_store(&r->until_ms, times[random() % 4]);
            atomic_store(&r->kicked_until, times[random() % 4]);
            atomic_store(&arena.claims[n].owner,
                         (uint64_t)random() << 32 |
                             (OWNER_VIEWER + (uint64_t)random() % 5));
        }
        live_kick_viewers(&k, 1000);
        sessions();
        sweep();
        for (uint32_t n = 0; n < 16; n++) {
            struct session_record *r = &arena.sessions[n];
            uint32_t number =
                slot_owner_number(atomic_load(&arena.claims[n].owner));

            assert_true(number != OWNER_VIEWER && number != OWNER_GONE &&
                        number != OWNER_RETIRED);
            assert_true(number != OWNER_KICKED ||
                        atomic_load(&r->kicked_until) <=
                            clock_ms() + LIVE_KICK_MAX);
        }
    }
}

/* Whoever looks at the record reads no more than a name may have. */
static void
test_a_name_without_end(void **state)
{
    (void)state;
    come(1, "live/a");
    atomic_store(&arena.sessions[0].name_len, UINT16_MAX);
    assert_int_equal(come(1, "live/a"), LIVE_VIEWER_COUNTED);
    assert_int_equal(sessions().count, 2);
}

/* A time later than may be: as late as may be, and not always anew. */
static void
test_a_time_far_away(void **state)
{
    int64_t until;

    (void)state;
    come(1, "live/a");
    atomic_store(&arena.sessions[0].until_ms, INT64_MAX);
    viewers_sweep();
    until = atomic_load(&arena.sessions[0].until_ms);
    assert_true(until <= clock_ms() + LIVE_VIEWER_MAX);
    viewers_sweep();
    assert_int_equal(atomic_load(&arena.sessions[0].until_ms), until);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define SHARED(f) \
    cmocka_unit_test_setup_teardown(f, setup_shared, teardown_shared)
    const struct CMUnitTest tests[] = {
        TEST(test_one_that_nobody_finds),
        TEST(test_one_that_was_not_let_go_of),
        TEST(test_two_of_one),
        SHARED(test_one_remains_of_those_that_come_at_once),
        SHARED(test_nothing_is_lost_of_what_all_count),
        SHARED(test_killed_anywhere),
        TEST(test_a_table_that_means_nothing),
        TEST(test_records_that_mean_nothing),
        TEST(test_a_name_without_end),
        TEST(test_a_time_far_away),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

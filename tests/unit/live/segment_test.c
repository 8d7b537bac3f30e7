/*
 * Segments: which one is taken, that memory follows what is held, and that
 * several processes, killed anywhere, neither share one nor lose one.
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
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena_fixture.h"
#include "proc/shared.h"

#define COUNT 128u  /* segments of the fixture's arena */
#define RESERVE 64u /* what is kept in any case */
#define CHILDREN 4

static int
setup(void **state)
{
    (void)state;
    fixture_arena();
    assert_int_equal(arena.segment_count, COUNT);
    /* What no stream has, the master gives back. */
    for (uint32_t i = 0; i < arena.stream_count; i++) {
        atomic_store(&arena.keys[i], key_make(STREAM_OPEN, 0, i));
    }
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    fixture_arena_end();
    return 0;
}

/* ---- what is there ---- */

/* Segments of which the system holds memory. */
static uint32_t
touched(void)
{
    unsigned char pages[SEGMENT_SIZE / 4096];
    uint32_t n = 0;

    for (uint32_t i = 0; i < COUNT; i++) {
        bool any = false;

        assert_int_equal(mincore(segment_bytes(i), SEGMENT_SIZE, pages), 0);
        for (size_t k = 0; k < sizeof(pages); k++) {
            any = any || (pages[k] & 1) != 0;
        }
        n += any;
    }
    return n;
}

static uint32_t
take_and_fill(uint32_t n)
{
    uint32_t segment = segment_take(n);

    assert_int_not_equal(segment, SEGMENT_NONE);
    memset(segment_bytes(segment), 'x', SEGMENT_SIZE);
    return segment;
}

static void
fill(uint32_t *segments, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        segments[i] = take_and_fill(1);
    }
}

static void
retire_all(const uint32_t *segments, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        segment_retire(segments[i], 1);
    }
}

/* Two whole walks: one counts, the other gives back. */
static void
trim_all(void)
{
    for (int i = 0; i < 8; i++) {
        segments_trim();
    }
}

/* All there are, each once. */
static void
take_every_one(void)
{
    bool taken[COUNT] = { false };

    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t segment = segment_take(5);

        assert_true(segment < COUNT);
        assert_false(taken[segment]);
        taken[segment] = true;
    }
    assert_int_equal(segment_take(5), SEGMENT_NONE);
}

/* ---- which one ---- */

static void
test_used_before_is_used_again(void **state)
{
    uint32_t first = segment_take(0), second = segment_take(0);
    uint32_t third = segment_take(0);

    (void)state;
    segment_retire(third, 0);
    segment_retire(second, 0);
    assert_int_equal(segment_take(1), second);
    assert_int_equal(segment_take(1), third);
    assert_true(segment_used_by(third, 1));
    assert_true(segment_used_by(first, 0));
    assert_int_equal(segment_take(1), third + 1);
}

/* However many streams came and went; another process retires what they held,
 * as the master does. */
static void
test_memory_follows_what_is_held(void **state)
{
    uint32_t segments[10];

    (void)state;
    for (int i = 0; i < 40; i++) {
        fill(segments, 10);
        pid_t other = fork();

        if (other == 0) {
            retire_all(segments, 10);
            _exit(0);
        }
        waitpid(other, NULL, 0);
    }
    assert_int_equal(touched(), 10);
}

/* Somebody may still read all of these: others are taken meanwhile. */
static void
test_those_that_wait_are_passed_over(void **state)
{
    uint32_t reader = (uint32_t)slot_take(SLOT_WORKER, "reader", 1, 0);
    uint32_t segments[60];

    (void)state;
    atomic_store(&slot_at(reader)->epoch_seen, atomic_load(&arena.head->epoch));
    fill(segments, 60);
    retire_all(segments, 60);
    for (uint32_t i = 60; i < COUNT; i++) {
        assert_int_equal(segment_take(2), i);
    }
    assert_int_equal(segment_take(2), SEGMENT_NONE);
    atomic_store(&slot_at(reader)->epoch_seen, UINT64_MAX);
    assert_int_equal(segment_take(2), 0);
}

/* ---- giving back ---- */

static void
test_a_surplus_goes_back(void **state)
{
    uint32_t segments[COUNT];

    (void)state;
    fill(segments, COUNT);
    retire_all(segments + 10, COUNT - 10); /* ten are held on */
    assert_int_equal(touched(), COUNT);
    trim_all();
    assert_int_equal(touched(), 10 + 10 / 2 + RESERVE);
    for (uint32_t i = 0; i < 10; i++) { /* what is held was not touched */
        assert_int_equal(segment_bytes(segments[i])[SEGMENT_SIZE - 1], 'x');
    }
    retire_all(segments, 10);
    take_every_one();
}

static void
test_no_more_than_the_surplus(void **state)
{
    uint32_t segments[RESERVE];

    (void)state;
    fill(segments, RESERVE);
    retire_all(segments, RESERVE);
    trim_all();
    assert_int_equal(touched(), RESERVE);
}

static void
test_not_what_somebody_may_read(void **state)
{
    uint32_t reader = (uint32_t)slot_take(SLOT_WORKER, "reader", 1, 0);
    uint32_t segments[COUNT];

    (void)state;
    atomic_store(&slot_at(reader)->epoch_seen, atomic_load(&arena.head->epoch));
    fill(segments, COUNT);
    retire_all(segments, COUNT);
    trim_all();
    assert_int_equal(touched(), COUNT);
    atomic_store(&slot_at(reader)->epoch_seen, UINT64_MAX);
    trim_all();
    assert_int_equal(touched(), RESERVE);
}

/* ---- killed in the middle ---- */

#define KIND_SHIFT 62

static void
set_state(uint32_t segment, enum segment_kind kind, uint64_t value)
{
    atomic_store(&arena.states[segment], (uint64_t)kind << KIND_SHIFT | value);
}

/* The state was changed, the bits were not. */
static void
test_bits_that_were_not_changed(void **state)
{
    uint32_t segments[COUNT];

    (void)state;
    fill(segments, 100);
    for (uint32_t i = 0; i < 50; i++) {
        set_state(segments[i], SEGMENT_RETIRED, 1);
    }
    for (uint32_t i = 100; i < 110; i++) {
        set_state(i, SEGMENT_USED, 3); /* taken */
    }
    retire_all(segments + 50, 50);
    for (uint32_t i = 50; i < 60; i++) {
        set_state(segments[i], SEGMENT_USED, 3); /* taken again */
    }
    for (uint32_t i = 0; i < COUNT - 20; i++) {
        uint32_t segment = segment_take(5);

        assert_int_not_equal(segment, SEGMENT_NONE);
        assert_true(segment < 100 || segment >= 110);
    }
    assert_int_equal(segment_take(5), SEGMENT_NONE);
}

static void
test_the_master_mends_bits(void **state)
{
    uint32_t segments[COUNT];

    (void)state;
    fill(segments, COUNT);
    retire_all(segments, COUNT);
    for (unsigned hint = 0; hint < SEGMENT_HINTS; hint++) {
        for (size_t i = 0; i < segment_hint_words(COUNT); i++) {
            atomic_store(&arena.hints[hint][i], 0);
        }
    }
    segments_trim();
    /* The first one is found where it should be, not by walking on. */
    assert_int_equal(segment_take(5), 0);
    assert_int_equal(segment_take(5), 1);
}

/* ---- several processes ---- */

static struct shared {
    _Atomic uint32_t wrong;
    _Atomic uint64_t rounds;
} * shared;

/* Takes some, marks them, sees that they are still its own, lets them go. */
static void
run_child(uint32_t slot)
{
    uint32_t held[24];

    slot_set_self(slot);
    srandom(slot);
    for (;;) {
        uint32_t count = 1 + (uint32_t)random() % 24;

        for (uint32_t i = 0; i < count; i++) {
            held[i] = segment_take(slot);
            if (held[i] != SEGMENT_NONE) {
                memcpy(segment_bytes(held[i]), &slot, sizeof(slot));
            }
        }
        for (uint32_t i = 0; i < count; i++) {
            uint32_t mark = slot;

            if (held[i] == SEGMENT_NONE) {
                continue;
            }
            memcpy(&mark, segment_bytes(held[i]), sizeof(mark));
            if (mark != slot || !segment_used_by(held[i], slot)) {
                atomic_fetch_add(&shared->wrong, 1);
            }
            segment_retire(held[i], slot);
        }
        atomic_fetch_add(&shared->rounds, 1);
    }
}

static void
kill_all(const pid_t *children)
{
    for (int i = 0; i < CHILDREN; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
}

/* As the master's sweep does for streams of the dead. */
static void
sweep(void)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        for (uint32_t n = 1; n <= CHILDREN; n++) {
            if (segment_used_by(i, n)) {
                segment_retire(i, n);
            }
        }
    }
}

static void
test_many_at_once_and_killed(void **state)
{
    pid_t children[CHILDREN];

    (void)state;
    for (int round = 0; round < 20; round++) {
        uint64_t until = atomic_load(&shared->rounds) + 200;

        for (uint32_t i = 0; i < CHILDREN; i++) {
            children[i] = fork();
            if (children[i] == 0) {
                run_child(i + 1);
            }
        }
        while (atomic_load(&shared->rounds) < until) {
            segments_trim();
        }
        kill_all(children);
        sweep();
        assert_int_equal(atomic_load(&shared->wrong), 0);
        assert_int_equal(segments_in_use(), 0);
    }
    take_every_one();
}

static int
setup_shared(void **state)
{
    struct errmsg err;

    shared = shared_create("segments", sizeof(*shared), SHARED_ALL, &err);
    return shared == NULL ? -1 : setup(state);
}

static int
teardown_shared(void **state)
{
    shared_destroy(shared);
    return teardown(state);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_used_before_is_used_again),
        TEST(test_memory_follows_what_is_held),
        TEST(test_those_that_wait_are_passed_over),
        TEST(test_a_surplus_goes_back),
        TEST(test_no_more_than_the_surplus),
        TEST(test_not_what_somebody_may_read),
        TEST(test_bits_that_were_not_changed),
        TEST(test_the_master_mends_bits),
        cmocka_unit_test_setup_teardown(test_many_at_once_and_killed,
                                        setup_shared, teardown_shared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Which record bears which name: a full table, names that come and go, what a
 * killed process leaves, and words that mean nothing.
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

#include <stdio.h>
#include <stdlib.h>

#include "arena_fixture.h"

#define STREAMS 4096

static int
setup(void **state)
{
    static const struct live_settings settings = {
        .memory = 4 * 1024 * 1024,
        .max_streams = STREAMS,
        .max_sessions = 64,
        .window = 8000,
        .max_stream_memory = 1024 * 1024,
        .hold = 10000,
    };
    struct errmsg err;

    (void)state;
    log_set(LOG_CRIT, LOG_TEXT);
    hash_init();
    assert_int_equal(slots_create(FIXTURE_SLOTS, &err), 0);
    assert_int_equal(live_create(&settings, &err), 0);
    slot_set_self((uint32_t)slot_take(SLOT_WORKER, "test", 0, 0));
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    fixture_arena_end();
    return 0;
}

static enum stream_answer
claim_number(unsigned n, struct stream **s)
{
    char name[32];

    snprintf(name, sizeof(name), "live/%u", n);
    struct live_publish what = fixture_publish(name);

    return stream_claim(&what, s);
}

static struct stream *
find_number(unsigned n)
{
    char name[32];

    snprintf(name, sizeof(name), "live/%u", n);
    return stream_find(str_from(name));
}

static void
test_a_full_table(void **state)
{
    static struct stream *streams[STREAMS];
    struct stream *s;

    (void)state;
    for (unsigned i = 0; i < STREAMS; i++) {
        assert_int_equal(claim_number(i, &streams[i]), STREAM_YOURS);
    }
    assert_int_equal(claim_number(STREAMS, &s), STREAM_NO_ROOM);
    for (unsigned i = 0; i < STREAMS; i++) {
        assert_ptr_equal(find_number(i), streams[i]);
        assert_null(find_number(STREAMS + i));
    }
    names_release(stream_number(streams[1234]));
    assert_null(find_number(1234));
    assert_int_equal(claim_number(STREAMS, &s), STREAM_YOURS);
    assert_ptr_equal(s, streams[1234]);
    assert_ptr_equal(find_number(STREAMS), s);
    assert_int_equal(claim_number(1234, &s), STREAM_NO_ROOM);
}

/* The same name in one record, in others, and another name in between. */
static void
test_names_that_come_and_go(void **state)
{
    struct stream *s, *other;

    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        assert_int_equal(claim_number(7, &s), STREAM_YOURS);
        assert_ptr_equal(find_number(7), s);
        if (i % 3 == 0) {
            assert_int_equal(claim_number(1000 + i, &other), STREAM_YOURS);
            names_release(stream_number(s));
            assert_null(find_number(7));
            assert_ptr_equal(find_number(1000 + i), other);
            s = other;
        }
        names_release(stream_number(s));
        assert_null(find_number(7));
    }
}

/* Killed when the key was written, or when its place was taken too. */
static void
test_a_claimer_that_is_killed(void **state)
{
    uint32_t slot = (uint32_t)slot_take(SLOT_WORKER, "other", 1, 0);
    uint64_t key = key_make(STREAM_CLAIMED, slot, hash_str(STR("live/7")));
    struct stream *s;

    (void)state;
    for (int entered = 0; entered < 2; entered++) {
        uint32_t n = names_claim(key);

        if (entered) {
            assert_true(names_enter(n));
            assert_int_equal(claim_number(7, &s), STREAM_RETRY);
        }
        live_sweep(slot);
        assert_int_equal(atomic_load(&arena.keys[n]), STREAM_FREE);
        assert_int_equal(claim_number(7, &s), STREAM_YOURS);
        assert_ptr_equal(find_number(7), s);
        names_release(stream_number(s));
    }
}

/* Two claim at once: whoever looks second finds the other, whichever of them
 * has more of it done. */
static void
test_two_find_each_other(void **state)
{
    uint64_t hash = hash_str(STR("live/7"));
    uint32_t a = names_claim(key_make(STREAM_CLAIMED, 1, hash));
    uint32_t b = names_claim(key_make(STREAM_CLAIMED, 2, hash));
    struct names_look look = { .hash = hash };

    (void)state;
    assert_int_not_equal(a, b);
    assert_int_equal(names_next(&look), RECORD_NONE);
    assert_true(names_enter(a));
    look.at = 0;
    assert_int_equal(names_next(&look), a);
    assert_int_equal(names_next(&look), RECORD_NONE);
    assert_true(names_enter(b));
    look.at = 0;
    assert_int_equal(names_next(&look) + names_next(&look), a + b);
    assert_int_equal(names_next(&look), RECORD_NONE);
}

static void
scribble(void *at, size_t n)
{
    uint8_t *bytes = at;

    for (size_t i = 0; i < n; i++) {
        bytes[i] = (uint8_t)random();
    }
}

static void
test_words_that_mean_nothing(void **state)
{
    struct stream *s;

    (void)state;
    srandom(1);
    for (int round = 0; round < 20; round++) {
        scribble(arena.names, arena.name_buckets * names_bucket_size());
        scribble((uint8_t *)(uintptr_t)arena.taken,
                 names_words(STREAMS) * sizeof(uint64_t));
        for (unsigned i = 0; i < 100; i++) {
            assert_null(find_number(i));
            assert_int_equal(claim_number(i, &s), STREAM_YOURS);
            assert_ptr_equal(find_number(i), s);
        }
        for (uint32_t n = 0; n < STREAMS; n++) {
            names_release(n);
        }
    }
}

/* All bits say that the records are taken: the master sees that they are not.
 */
static void
test_bits_are_mended(void **state)
{
    struct stream *s;

    (void)state;
    memset((uint8_t *)(uintptr_t)arena.taken, 0xff,
           names_words(STREAMS) * sizeof(uint64_t));
    assert_int_equal(claim_number(1, &s), STREAM_YOURS); /* without them */
    for (uint32_t n = 0; n < STREAMS; n++) {
        names_mend(n);
    }
    for (size_t i = 0; i < names_words(STREAMS); i++) {
        bool its = stream_number(s) / 64 == i;

        assert_int_equal(atomic_load(&arena.taken[i]),
                         its ? UINT64_C(1) << stream_number(s) % 64 : 0);
    }
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_a_full_table),
        TEST(test_names_that_come_and_go),
        TEST(test_a_claimer_that_is_killed),
        TEST(test_two_find_each_other),
        TEST(test_words_that_mean_nothing),
        TEST(test_bits_are_mended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Appending: the bytes as they lie there, time, window and memory.
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

#include <stdlib.h>

#include "live/init_headers.h"
#include "writer_fixture.h"

/* All that the stream holds is parsed back and compared. */
static void
check_frame(uint64_t number, enum kind kind, uint32_t timestamp, size_t len)
{
    struct frame f = *frame_at(s, number);
    struct message m = message_of(s, number);
    uint8_t *payload = mem_alloc(len + 1);
    const uint8_t *flv = index_of(s, number)->flv[number % INDEX_FRAMES];

    fill_payload(payload, kind, len, timestamp);
    assert_int_equal(m.type, kind_type(kind));
    assert_int_equal(m.timestamp, timestamp);
    assert_int_equal(m.stream_id, 1);
    assert_int_equal(m.len, len);
    assert_memory_equal(m.payload, payload, len);
    assert_int_equal(f.type, m.type);
    assert_int_equal(f.timestamp, timestamp);
    assert_int_equal(f.payload_len, len);
    assert_int_equal(flv[0], m.type);
    assert_int_equal(flv[1] << 16 | flv[2] << 8 | flv[3], len);
    assert_int_equal((uint32_t)flv[7] << 24 | (uint32_t)flv[4] << 16 |
                         (uint32_t)flv[5] << 8 | flv[6],
                     timestamp);
    assert_int_equal(flv[11] << 24 | flv[12] << 16 | flv[13] << 8 | flv[14],
                     len + 11);
    mem_free(&payload);
    mem_free(&m.payload);
}

static void
test_bytes_of_every_size(void **state)
{
    static const size_t lens[] = { 0,     1,     5,      4095,   4096,  4097,
                                   8192,  8193,  65535,  65536,  65537, 200000,
                                   12288, 65524, 300001, 131072, 3 };
    const size_t count = sizeof(lens) / sizeof(lens[0]);
    uint64_t position = 0;

    (void)state;
    for (size_t i = 0; i < count; i++) {
        enum kind kind = i % 3 == 0 ? KEY : i % 3 == 1 ? SOUND : INTER;

        assert_int_equal(append(&w, kind, (uint32_t)i * 10, lens[i]), 0);
    }
    assert_int_equal(tail(), count);
    for (size_t i = 0; i < count; i++) {
        enum kind kind = i % 3 == 0 ? KEY : i % 3 == 1 ? SOUND : INTER;

        check_frame(i, kind, (uint32_t)i * 10, lens[i]);
        assert_int_equal(frame_at(s, i)->position, position);
        position += frame_at(s, i)->wire_len;
    }
}

static void
test_extended_timestamps(void **state)
{
    static const uint32_t times[] = { 0xfffffe, 0xffffff, 0x1000000,
                                      0x7fffffff };

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        teardown(state);
        setup(state);
        assert_int_equal(append(&w, KEY, times[i], 10000), 0);
        check_frame(0, KEY, times[i], 10000);
    }
}

static void
test_first_times_are_kept(void **state)
{
    (void)state;
    append(&w, META, 0, 50);
    append(&w, VIDEO_HEADER, 3000000000u, 30);
    append(&w, KEY, 3000000000u, 30);
    assert_int_equal(frame_at(s, 0)->timestamp, 0);
    assert_int_equal(frame_at(s, 1)->timestamp, 3000000000u);
    assert_int_equal(time_of_last(), 3000000000u);
    append(&w, TEXT, 3000000040u, 50);
    assert_int_equal(time_of_last(), 3000000040u);
    append(&w, META, 3000000040u, 51); /* without a time */
    assert_int_equal(time_of_last(), 0);
}

static void
test_time_wraps(void **state)
{
    (void)state;
    append(&w, KEY, 0xfffffff0u, 30);
    append(&w, INTER, 0x10, 30);
    assert_int_equal(time_of_last(), 0x10);
}

static void
test_random_frames_over_index_segments(void **state)
{
    struct {
        uint32_t timestamp, len;
        enum kind kind;
    } made[3 * INDEX_FRAMES];

    (void)state;
    srandom(2);
    for (uint32_t i = 0; i < 3 * INDEX_FRAMES; i++) {
        made[i].kind = i % 50 == 0 ? KEY : random() % 2 == 0 ? INTER : SOUND;
        made[i].timestamp = i * 7;
        made[i].len = (uint32_t)random() % 600;
        assert_int_equal(
            append(&w, made[i].kind, made[i].timestamp, made[i].len), 0);
    }
    assert_int_equal(head(), 0);
    for (uint32_t i = 0; i < 3 * INDEX_FRAMES; i++) {
        check_frame(i, made[i].kind, made[i].timestamp, made[i].len);
    }
}

static void
test_keeps_frames_of_many_index_segments(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 40 * INDEX_FRAMES; i++) {
        assert_int_equal(append(&w, SOUND, i, 3), 0);
    }
    assert_true(atomic_load(&s->index_end) - atomic_load(&s->index_first) <=
                INDEX_RING / 2);
    assert_true(head() > 0);
    check_frame(head(), SOUND, (uint32_t)head(), 3);
    check_frame(tail() - 1, SOUND, (uint32_t)tail() - 1, 3);
}

/* ---- window and memory ---- */

static void
age(uint64_t from, uint64_t to, int64_t ms)
{
    for (uint64_t i = from; i < to; i++) {
        frame_at(s, i)->arrived_ms -= ms;
    }
}

static void
test_window_goes_the_gop_stays(void **state)
{
    (void)state;
    append(&w, KEY, 0, 30000);
    for (uint32_t i = 1; i < 20; i++) {
        append(&w, INTER, i * 40, 30000);
    }
    age(0, tail(), 9000);
    append(&w, INTER, 900, 30000);
    assert_int_equal(head(), 0); /* the only GOP there is */
    append(&w, KEY, 940, 30000);
    append(&w, INTER, 980, 30000);
    assert_true(head() > 15);
    assert_true(head() <= 21);
    assert_int_equal(start(), 21);
    check_frame(21, KEY, 940, 30000);
    check_frame(head(), INTER, frame_at(s, head())->timestamp, 30000);
}

static void
test_window_is_kept(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 40; i++) {
        append(&w, i % 10 == 0 ? KEY : INTER, i * 40, 30000);
    }
    age(0, 20, 7000);
    append(&w, INTER, 2000, 100);
    assert_int_equal(head(), 0);
}

static bool
plays(struct writer *of)
{
    assert_ptr_equal(of, &w);
    return true;
}

/* Four GOPs; the number of the oldest frame that is kept. */
static uint64_t
publish_gops(void)
{
    for (uint32_t i = 0; i < 40; i++) {
        append(&w, i % 10 == 0 ? KEY : INTER, i * 40, 10000);
    }
    return head();
}

static void
test_nobody_plays_the_newest_gop_is_kept(void **state)
{
    (void)state;
    atomic_store(&s->readers[0], UINT64_C(1) << slot_self()); /* it writes */
    assert_int_equal(publish_gops(), 30);
    check_frame(30, KEY, 1200, 10000);
}

static void
test_somebody_may_play_the_window_is_kept(void **state)
{
    (void)state;
    atomic_store(&s->readers[0], 0);
    atomic_store(&s->owing[0], UINT64_C(1) << (slot_self() + 1));
    assert_int_equal(publish_gops(), 0);
    atomic_store(&s->owing[0], 0);
    w.plays = plays;
    assert_int_equal(publish_gops(), 0);
    w.plays = NULL;
    assert_int_equal(publish_gops(), 110);
}

static void
test_cap_is_kept(void **state)
{
    uint64_t cap = 2 * 1024 * 1024 / SEGMENT_SIZE;

    (void)state;
    for (uint32_t i = 0; i < 3000; i++) {
        assert_int_equal(append(&w, i % 100 == 0 ? KEY : INTER, i, 20000), 0);
        assert_true(segments_in_use() <= cap);
        if (start() != FRAME_NONE) {
            assert_true(start() >= head() && start() < tail());
        }
        if (i % 97 == 0) {
            check_frame(head(), head() % 100 == 0 ? KEY : INTER,
                        (uint32_t)head(), 20000);
            check_frame(i, i % 100 == 0 ? KEY : INTER, i, 20000);
        }
    }
    assert_true(tail() - head() > 50);
}

/* A stream without key frames does not eat the arena either; one GOP larger
 * than the cap can no longer be started at. */
static void
test_gop_larger_than_the_cap(void **state)
{
    (void)state;
    append(&w, KEY, 0, 20000);
    for (uint32_t i = 1; i < 500; i++) {
        assert_int_equal(append(&w, INTER, i, 20000), 0);
    }
    assert_true(head() > 0);
    assert_int_equal(start(), FRAME_NONE);
}

static void
test_frame_that_cannot_fit(void **state)
{
    (void)state;
    assert_int_equal(append(&w, KEY, 0, 1000), 0);
    assert_int_equal(append(&w, INTER, 40, 3 * 1024 * 1024), -1);
    assert_int_equal(atomic_load(&s->dropped), 1);
    assert_int_equal(append(&w, INTER, 80, 1000), -1);
    assert_int_equal(append(&w, SOUND, 80, 100), -1);
    assert_int_equal(append(&w, VIDEO_HEADER, 90, 100), 0);
    assert_int_equal(append(&w, KEY, 120, 1000), 0);
    assert_int_equal(append(&w, INTER, 160, 1000), 0);
    assert_int_equal(atomic_load(&s->dropped), 3);
    check_frame(tail() - 2, KEY, 120, 1000);
    check_frame(tail() - 1, INTER, 160, 1000);
}

/* No frame is left, and the next one still follows the last. */
static void
test_last_index_stays(void **state)
{
    uint32_t n = stream_number(s);
    const struct frame *last;
    uint64_t end;

    (void)state;
    for (uint32_t i = 0; i < INDEX_FRAMES; i++) {
        assert_int_equal(append(&w, i == 0 ? KEY : INTER, i, 20), 0);
    }
    last = frame_at(s, tail() - 1);
    end = last->position + last->wire_len;
    assert_int_equal(append(&w, INTER, INDEX_FRAMES, 3 * 1024 * 1024), -1);
    assert_int_equal(head(), tail());
    assert_true(segment_used_by(atomic_load(&s->index[0]), n));
    assert_int_equal(append(&w, KEY, 1200, 1000), 0);
    assert_int_equal(frame_at(s, tail() - 1)->position, end);
    check_frame(tail() - 1, KEY, 1200, 1000);
}

/* Somebody else has all there is: drop, and go on when it is given back. */
static void
test_arena_is_full(void **state)
{
    uint32_t taken[256], count = 0;

    (void)state;
    append(&w, KEY, 0, 1000);
    while ((taken[count] = segment_take(7)) != SEGMENT_NONE) {
        count++;
    }
    assert_int_equal(append(&w, INTER, 40, 100000), -1);
    assert_int_equal(append(&w, INTER, 60, 10), -1); /* waits for a key */
    while (count > 0) {
        segment_retire(taken[--count], 7);
    }
    assert_int_equal(append(&w, INTER, 80, 10), -1);
    assert_int_equal(append(&w, KEY, 120, 100000), 0);
    check_frame(tail() - 1, KEY, 120, 100000);
    assert_int_equal(start(), tail() - 1);
}

/* What headers took and nobody can use yet is part of it. */
static void
test_cap_holds_headers_too(void **state)
{
    uint32_t reader = (uint32_t)slot_take(SLOT_WORKER, "reader", 1, 0);
    uint64_t frames;

    (void)state;
    atomic_store(&slot_at(reader)->epoch_seen, atomic_load(&arena.head->epoch));
    for (uint32_t i = 0; i < 13; i++) {
        append(&w, VIDEO_HEADER, i, 40);
    }
    for (uint32_t i = 0; i < 200; i++) {
        append(&w, i == 0 ? KEY : INTER, i * 40, 50000);
    }
    frames = atomic_load(&s->media_end) - atomic_load(&s->media_first) +
             atomic_load(&s->index_end) - atomic_load(&s->index_first);
    assert_int_equal(prologue_held(&w.headers, s), 13);
    assert_in_range(frames, 16, 32 - 13);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_bytes_of_every_size),
        TEST(test_extended_timestamps),
        TEST(test_first_times_are_kept),
        TEST(test_time_wraps),
        TEST(test_random_frames_over_index_segments),
        TEST(test_keeps_frames_of_many_index_segments),
        TEST(test_window_goes_the_gop_stays),
        TEST(test_window_is_kept),
        TEST(test_nobody_plays_the_newest_gop_is_kept),
        TEST(test_somebody_may_play_the_window_is_kept),
        TEST(test_cap_is_kept),
        TEST(test_cap_holds_headers_too),
        TEST(test_gop_larger_than_the_cap),
        TEST(test_frame_that_cannot_fit),
        TEST(test_last_index_stays),
        TEST(test_arena_is_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

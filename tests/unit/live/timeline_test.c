/*
 * The time of a stream: one publisher after another, clocks that jump, and
 * sound that is far behind its pictures.
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
#include <time.h>

#include "arena_fixture.h"

static struct stream *s;
static struct writer w;

static int
setup(void **state)
{
    (void)state;
    fixture_arena();
    s = fixture_stream("live/a");
    writer_start(&w, s);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    fixture_arena_end();
    return 0;
}

static uint64_t
tail(void)
{
    return atomic_load(&s->tail);
}

static uint64_t
start(void)
{
    return atomic_load(&s->start);
}

static uint32_t
time_of_last(void)
{
    return frame_at(s, tail() - 1)->timestamp;
}

/* Appends a frame; its time in the stream. */
static uint32_t
placed(enum kind kind, uint32_t timestamp)
{
    assert_int_equal(append(&w, kind, timestamp, 40), 0);
    return time_of_last();
}

static void
publish_again(void)
{
    stream_leave(s);
    assert_ptr_equal(fixture_stream("live/a"), s);
    writer_start(&w, s);
}

static void
test_goes_on_after_republish(void **state)
{
    uint64_t before;

    (void)state;
    append(&w, KEY, 5000, 100);
    before = tail();
    publish_again();
    assert_int_equal(start(), FRAME_NONE);
    append(&w, TEXT, 0, 60);
    assert_int_equal(time_of_last(), 5000);
    append(&w, VIDEO_HEADER, 0, 40);
    assert_true(time_of_last() > 5000);
    assert_true(time_of_last() < 15000);
    append(&w, KEY, 40, 100);
    assert_int_equal(time_of_last(), frame_at(s, before + 1)->timestamp + 40);
    publish_again();
    append(&w, KEY, 90000000, 100);
    assert_true(time_of_last() > frame_at(s, before + 2)->timestamp);
    assert_true(time_of_last() < 25000);
}

/* What a publisher says before its clock is known, as encoders do, and what
 * the one before it said last, are no part of the time that goes by. */
static void
test_time_that_went_by_before_a_return(void **state)
{
    const struct timespec away = { .tv_nsec = 60000000 };

    (void)state;
    placed(KEY, 5000);
    nanosleep(&away, NULL);
    placed(TEXT, 5000);
    publish_again();
    placed(TEXT, 0);
    assert_true(placed(VIDEO_HEADER, 0) >= 5060);
}

static void
test_data_before_a_clock_that_jumps_back(void **state)
{
    const struct timespec silence = { .tv_nsec = 60000000 };

    (void)state;
    placed(KEY, 100000);
    nanosleep(&silence, NULL);
    placed(TEXT, 10);
    assert_true(placed(KEY, 10) >= 100060);
}

/* A publisher that sent nothing leaves no trace in the next one's times. */
static void
test_republish_of_an_empty_stream(void **state)
{
    (void)state;
    publish_again();
    append(&w, KEY, 1234, 100);
    assert_int_equal(time_of_last(), 1234);
}

static void
test_clock_that_jumps_back(void **state)
{
    (void)state;
    append(&w, KEY, 100000, 100);
    append(&w, SOUND, 99500, 100); /* a little out of order: left alone */
    assert_int_equal(time_of_last(), 99500);
    append(&w, INTER, 100040, 100);
    append(&w, KEY, 10, 100);
    assert_true(time_of_last() > 100040 && time_of_last() < 110000);
    append(&w, INTER, 50, 100);
    assert_int_equal(time_of_last(), frame_at(s, tail() - 2)->timestamp + 40);
    append(&w, INTER, 50 + 0x80000000u, 100); /* half the circle away */
}

/* More than what is taken for a jump, all the time. */
static void
test_sound_far_behind_the_picture(void **state)
{
    (void)state;
    assert_int_equal(placed(VIDEO_HEADER, 0), 0);
    assert_int_equal(placed(SOUND_HEADER, 0), 0);
    for (uint32_t i = 0; i < 60; i++) {
        assert_int_equal(placed(INTER, i * 40 + 1500), i * 40 + 1500);
        assert_int_equal(placed(SOUND, i * 40), i * 40);
    }
}

static void
test_picture_far_behind_the_sound(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 60; i++) {
        assert_int_equal(placed(SOUND, i * 40 + 5000), i * 40 + 5000);
        assert_int_equal(placed(INTER, i * 40), i * 40);
    }
}

/* Both clocks are set anew, one after the other: one mending for both, and
 * the distance between them stays. */
static void
test_both_jump_back(void **state)
{
    uint32_t first;

    (void)state;
    placed(INTER, 101500);
    placed(SOUND, 100000);
    first = placed(INTER, 1500);
    assert_true(first > 101500 && first < 105000);
    assert_int_equal(placed(SOUND, 0), first - 1500);
    assert_int_equal(placed(INTER, 1540), first + 40);
    assert_int_equal(placed(SOUND, 40), first - 1460);
}

/* A later publisher's sound is behind the picture that set its clock. */
static void
test_neither_goes_back_after_republish(void **state)
{
    uint32_t first, sound;

    (void)state;
    placed(KEY, 760);
    placed(SOUND, 760);
    publish_again();
    first = placed(KEY, 5000);
    assert_true(first > 760);
    sound = placed(SOUND_HEADER, 4600);
    assert_int_equal(sound, 761);
    for (uint32_t i = 0; i <= 400; i += 20) {
        uint32_t time = placed(SOUND, 4600 + i);

        assert_true(time > sound);
        assert_true(time - sound <= 21);
        sound = time;
    }
    assert_true(sound >= first); /* past it with the next one */
    assert_int_equal(placed(INTER, 5040), first + 40);
    assert_int_equal(placed(SOUND, 5040), first + 40);
}

/* A little out of order is left alone again when the clock has caught up. */
static void
test_caught_up(void **state)
{
    uint32_t first;

    (void)state;
    placed(KEY, 1000);
    publish_again();
    first = placed(KEY, 0);
    placed(INTER, 80);
    assert_int_equal(placed(INTER, 40), first + 40);
}

/* A header that is sent again with time 0 is no clock. */
static void
test_header_with_time_zero(void **state)
{
    (void)state;
    placed(KEY, 100000);
    placed(SOUND, 100000);
    assert_int_equal(placed(SOUND_HEADER, 0), 100000);
    assert_int_equal(placed(VIDEO_HEADER, 0), 100000);
    assert_int_equal(placed(INTER, 100040), 100040);
    assert_int_equal(placed(SOUND, 100040), 100040);
}

/* Of a later publisher: headers, and the first frame of their kind, are at one
 * time, however often they come. */
static void
test_headers_before_the_first_frame(void **state)
{
    static const struct {
        enum kind header, frame, next;
    } rows[] = { { VIDEO_HEADER, KEY, INTER }, { SOUND_HEADER, SOUND, SOUND } };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint32_t begin;

        placed(KEY, 5000);
        placed(SOUND, 5000);
        publish_again();
        begin = placed(rows[i].header, 100);
        assert_int_equal(placed(rows[i].header, 100), begin);
        assert_int_equal(placed(rows[i].frame, 100), begin);
        assert_int_equal(placed(rows[i].header, 100), begin);
        assert_int_equal(placed(rows[i].next, 140), begin + 40);
        publish_again();
    }
}

/* Data that say 0 behind a later publisher's first frame. */
static void
test_data_before_the_first_frame(void **state)
{
    uint32_t first;

    (void)state;
    placed(KEY, 1000);
    publish_again();
    first = placed(KEY, 500000);
    assert_int_equal(placed(TEXT, 0), first);
    assert_int_equal(placed(TEXT, 500010), first + 10);
}

/* Each a little out of order, all together a clock that jumps back. */
static void
test_clock_that_creeps_back(void **state)
{
    (void)state;
    assert_int_equal(placed(KEY, 9000), 9000);
    assert_int_equal(placed(INTER, 8100), 8100);
    assert_true(placed(INTER, 7200) > 9000);
    assert_true(placed(INTER, 7240) > 9000);
}

/* A picture of one of several tracks; its time in the stream. */
static uint32_t
placed_of(bool leading, uint32_t timestamp, uint8_t flags)
{
    struct frame f = { .type = MEDIA_VIDEO,
                       .flags = flags,
                       .arrived_ms = clock_ms() };

    f.timestamp = timeline_place(&w.time, s, &f, timestamp, leading);
    timeline_note(s, &f);
    return f.timestamp;
}

/* It is no sign that the leading one has caught up with an earlier clock. */
static void
test_track_that_runs_ahead(void **state)
{
    uint32_t ahead;

    (void)state;
    placed_of(true, 1000, MEDIA_KEY);
    publish_again();
    placed_of(false, 500000, 0);
    ahead = placed_of(false, 600000, 0);
    assert_true(placed_of(true, 500000, MEDIA_KEY) > ahead);
}

static void
test_header_again_beside_a_track_that_runs_ahead(void **state)
{
    (void)state;
    placed_of(true, 100000, MEDIA_KEY);
    placed_of(false, 900000, 0);
    assert_int_equal(placed_of(true, 0, MEDIA_HEADER), 100000);
    assert_int_equal(placed_of(true, 100040, 0), 100040);
}

/* Timestamps among those of every 40 ms, and where the frames are. */
static void
test_frames_far_from_those_before(void **state)
{
    static const struct far {
        int32_t by;      /* ms, */
        unsigned frames; /* of so many in a row */
        int32_t moved;   /* how far the stream is behind then */
    } rows[] = {
        { 3600000, 1, 0 },   { 3600000, 2, 0 },     { -3600000, 1, 0 },
        { -8000, 2, 0 },     { 5000, 1, 0 },        { 900, 1, 0 },
        { 3600000, 50, 0 },  { -3600000, 50, 0 },   { -8000, 50, 0 },
        { 5000, 50, 5000 },  { 900, 50, 900 },      { -900, 50, -900 },
        { 0xfffff6, 50, 0 }, { -0x1000000, 50, 0 }, { 0xfffff6, 1, 0 },
        { -2000000, 50, 0 }, { 0x7fffffff, 50, 0 },
    };
    const uint32_t begin = 20000000;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct far *r = &rows[i];
        uint32_t before = 0, first;

        publish_again();
        first = placed(KEY, begin);
        for (uint32_t n = 1; n <= 50 + r->frames + 50; n++) {
            bool far = n > 50 && n <= 50 + r->frames;
            uint32_t time =
                placed(SOUND, begin + n * 40 + (far ? (uint32_t)r->by : 0)) -
                first;

            assert_true(n == 1 || abs(r->by) == 900 || time > before);
            assert_true(time < n * 40 + 5200);
            if (n <= 50) {
                assert_int_equal(time, n * 40);
            } else if (n == 50 + r->frames && r->frames > 2) {
                assert_in_range(time,
                                (uint32_t)((int32_t)n * 40 + r->moved - 12),
                                (uint32_t)((int32_t)n * 40 + r->moved + 12));
            } else if (n == 50 + r->frames + 50 && r->moved == 0) {
                assert_in_range(time, n * 40 - 12, n * 40 + 12);
            }
            before = time;
        }
    }
}

/* Slow frames that come all at once, as from a file: nothing but their own
 * timestamps tells how far they are apart. */
static void
test_slow_frames_at_once(void **state)
{
    static const uint32_t apart[] = { 600, 1000, 9000 };

    (void)state;
    for (size_t i = 0; i < sizeof(apart) / sizeof(apart[0]); i++) {
        uint32_t first;

        publish_again();
        first = placed(KEY, 0);
        for (uint32_t n = 1; n < 5; n++) {
            assert_int_equal(placed(KEY, n * apart[i]) - first, n * apart[i]);
        }
    }
}

/* Sound alone jumps: pictures stay where they are, and sound with them. */
static void
test_one_kind_jumps(void **state)
{
    static const uint32_t by[] = { 3600000, (uint32_t)-3600000, 0xfffff6 };

    (void)state;
    for (size_t i = 0; i < sizeof(by) / sizeof(by[0]); i++) {
        uint32_t first;

        publish_again();
        first = placed(KEY, 9000000);
        for (uint32_t n = 1; n < 100; n++) {
            uint32_t jump = n >= 50 ? by[i] : 0;
            uint32_t sound = placed(SOUND, 9000000 + n * 40 + jump) - first;

            assert_in_range(sound + 12, n * 40, n * 40 + 24);
            assert_int_equal(placed(INTER, 9000000 + n * 40) - first, n * 40);
        }
    }
}

/* A jump of both keeps the distance between them, also when a frame of one is
 * missing there. */
static void
test_both_jump(void **state)
{
    uint32_t first;

    (void)state;
    first = placed(KEY, 5000);
    for (uint32_t n = 0; n < 100; n++) {
        uint32_t jump = n >= 50 ? 7200000 : 0;
        uint32_t picture = placed(INTER, 5000 + n * 40 + jump) - first;
        uint32_t sound = n == 50 ? 0 : placed(SOUND, 5007 + n * 40 + jump);

        assert_int_equal(picture, n * 40);
        if (n < 50 || n > 55) {
            assert_int_equal(sound - first, n * 40 + 7);
        }
    }
}

/* Clocks that have nothing to do with each other. */
static void
test_kinds_that_are_hours_apart(void **state)
{
    static const uint32_t apart[] = { 3600000, (uint32_t)-3600000, 20000 };

    (void)state;
    for (size_t i = 0; i < sizeof(apart) / sizeof(apart[0]); i++) {
        uint32_t first;

        publish_again();
        first = placed(KEY, 9000000);
        placed(SOUND_HEADER, 0);
        for (uint32_t n = 1; n < 50; n++) {
            uint32_t at = 9000000 + n * 40;

            assert_int_equal(placed(INTER, at) - first, n * 40);
            assert_int_equal(placed(SOUND, at + apart[i]) - first, n * 40);
        }
    }
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_goes_on_after_republish),
        TEST(test_time_that_went_by_before_a_return),
        TEST(test_data_before_a_clock_that_jumps_back),
        TEST(test_republish_of_an_empty_stream),
        TEST(test_clock_that_jumps_back),
        TEST(test_sound_far_behind_the_picture),
        TEST(test_picture_far_behind_the_sound),
        TEST(test_both_jump_back),
        TEST(test_neither_goes_back_after_republish),
        TEST(test_caught_up),
        TEST(test_header_with_time_zero),
        TEST(test_headers_before_the_first_frame),
        TEST(test_data_before_the_first_frame),
        TEST(test_clock_that_creeps_back),
        TEST(test_track_that_runs_ahead),
        TEST(test_header_again_beside_a_track_that_runs_ahead),
        TEST(test_frames_far_from_those_before),
        TEST(test_slow_frames_at_once),
        TEST(test_one_kind_jumps),
        TEST(test_both_jump),
        TEST(test_kinds_that_are_hours_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

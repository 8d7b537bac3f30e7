/*
 * Cuts: where streams are divided, and tracks that come and go.
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

#include <time.h>

#include "cut_fixture.h"

static void
test_pictures_and_sound(void **state)
{
    struct live_cuts c;
    struct live_cut_headers h;
    struct live_cut cut;

    (void)state;
    publish(BOTH);
    c = find();
    assert_int_equal(c.target, 4000);
    assert_int_equal(c.part_target, 321);
    assert_true(c.live && !c.over && c.strict);
    check_all(&c);
    assert_true(live_cut_at(&c, c.first, &cut));
    assert_int_equal(cut.time, 10000);
    assert_true(live_cut_headers(&c, cut.header, &h));
    assert_int_equal(h.count, 2);
    assert_int_equal(h.items[0].type, MEDIA_VIDEO);
    assert_int_equal(h.items[1].type, MEDIA_AUDIO);
    assert_int_equal(h.items[1].payload.len, sizeof(asc));
    assert_memory_equal(h.items[1].payload.ptr, asc, sizeof(asc));
}

/* Readers that step through the frames come to the times of the cuts. */
static void
test_time_of_sound(void **state)
{
    struct live_cuts c;
    struct live_cut cut, next;
    uint64_t time = 0, at;

    (void)state;
    publish(BOTH);
    c = find();
    for (uint64_t n = c.first; n + 1 < c.end; n++) {
        assert_true(live_cut_at(&c, n, &cut));
        assert_true(live_cut_at(&c, n + 1, &next));
        if (n > c.first) {
            assert_int_equal(time, cut.sound[0]);
        }
        time = cut.sound[0];
        for (uint64_t i = cut.frame; i < next.ended_frame; i++) {
            struct live_cut_frame f;

            assert_true(live_cut_frame(&c, &cut, i, &f));
            if (f.type == MEDIA_AUDIO && (f.flags & MEDIA_HEADER) == 0) {
                assert_true(live_cut_sound(&time, f.time, 44100, 1024, &at));
            }
        }
    }
}

/* A stream that comes faster than it plays: its wall times have no jump but
 * where media are missing, also when another process goes on with it. */
static void
test_wall_times(void **state)
{
    struct publishing p = BOTH;
    struct live_cut cut, next;
    struct live_cuts c;

    (void)state;
    publish(p);
    writer_start(&w, s);
    p.from = p.to;
    p.to += 6000;
    publish(p);
    c = find();
    for (uint64_t n = c.first; n + 1 < c.end; n++) {
        assert_true(live_cut_at(&c, n, &cut));
        assert_true(live_cut_at(&c, n + 1, &next));

        int64_t media = next.time - cut.time, wall = next.wall_ms - cut.wall_ms;

        if ((next.flags & LIVE_CUT_DISCONTINUITY) == 0) {
            assert_true(wall >= media - media / 20 &&
                        wall <= media + media / 20);
        }
    }
}

/* Only a clock that was set explains it: the wall time jumps to the clock. */
static void
test_wall_times_when_the_clock_was_set(void **state)
{
    static const int64_t away[] = { -3600000, 3600000 };
    struct publishing p = BOTH;
    struct live_cut cut;
    struct live_cuts c;

    (void)state;
    publish(p);
    for (size_t i = 0; i < sizeof(away) / sizeof(away[0]); i++) {
        int64_t now = clock_wall_ms();

        w.cuts.last.wall_ms = now + away[i];
        p.from = p.to;
        p.to += 6000;
        publish(p);
        c = find();
        assert_true(live_cut_at(&c, c.end - 1, &cut));
        assert_true(cut.wall_ms > now - 10000 && cut.wall_ms < now + 10000);
    }
}

/* ---- how streams are divided ---- */

static void
test_key_frames_far_and_near(void **state)
{
    static const struct {
        uint32_t gop, target;
        bool strict;
    } rows[] = {
        { 100, 2000, true },  { 1000, 3000, true },  { 2000, 4000, true },
        { 4000, 6000, true }, { 9000, 6000, false }, { 30000, 6000, false },
        { 3000, 5000, true }, { 1999, 4000, true },  { 6000, 6000, true },
        { 0, 6000, false },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct publishing p = { true, true, 0, 45000, 25, rows[i].gop };
        struct live_cuts c;

        teardown(state);
        setup(state);
        publish(p);
        c = find();
        assert_int_equal((c.target + 500) / 1000 * 1000, rows[i].target);
        assert_int_equal(c.strict, rows[i].strict);
        check_all(&c);
        assert_int_equal(cut_count(&c, LIVE_CUT_DISCONTINUITY), 0);
    }
}

static void
test_rates_of_pictures(void **state)
{
    static const uint32_t rates[] = { 1, 5, 10, 15, 24, 25, 30, 50, 60, 120 };

    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        struct publishing p = { true, true, 0, 30000, rates[i], 2000 };
        struct live_cuts c;

        teardown(state);
        setup(state);
        publish(p);
        c = find();
        assert_true(c.target != 0);
        assert_true(c.part_target <= 335 || rates[i] < 24);
        check_all(&c);
        /* Frames of less than 14 a second are too far apart for parts. */
        assert_int_equal(cut_count(&c, LIVE_CUT_PLAIN) == c.end - c.first,
                         rates[i] < 14);
    }
}

/* A segment's last part is not a frame or two: hls.js may leave such a part
 * out, and stop there.  Where parts can be a frame longer, the last ones are.
 */
static void
test_last_parts(void **state)
{
    static const struct {
        uint32_t fps, gop, least; /* ms */
    } rows[] = { { 25, 2000, 320 }, { 25, 4000, 280 }, { 25, 3000, 200 },
                 { 30, 2000, 200 }, { 30, 4000, 150 }, { 50, 2000, 200 },
                 { 24, 2000, 240 }, { 60, 4000, 150 } };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct publishing p = {
            true, true, 0, 30000, rows[i].fps, rows[i].gop
        };
        struct live_cut before, cut;
        struct live_cuts c;

        teardown(state);
        setup(state);
        publish(p);
        c = find();
        check_all(&c);
        for (uint64_t n = c.first + 1; n < c.end; n++) {
            assert_true(live_cut_at(&c, n - 1, &before));
            assert_true(live_cut_at(&c, n, &cut));
            if (cut.part == 0) {
                assert_true(cut.time - before.time >= rows[i].least);
            }
        }
    }
}

static void
test_sound_alone(void **state)
{
    struct publishing p = { false, true, 0, 30000, 25, 0 };
    struct live_cuts c;
    struct live_cut cut;
    struct live_cut_headers h;

    (void)state;
    publish(p);
    c = find();
    assert_int_equal((c.target + 500) / 1000, 2);
    assert_true(c.strict);
    check_all(&c);
    assert_true(live_cut_at(&c, c.end - 1, &cut));
    assert_true((cut.flags & LIVE_CUT_KEY) != 0);
    assert_true(live_cut_headers(&c, cut.header, &h));
    assert_int_equal(h.count, 1);
}

static void
test_nothing_is_told_before_a_segment_is_whole(void **state)
{
    struct publishing p = { true, true, 0, 1990, 25, 2000 };

    (void)state;
    publish(p);
    assert_int_equal(find().target, 0);
    append(&w, KEY, 2000, 100);
    assert_int_equal(find().target, 4000);
}

static void
test_strict_keys(void **state)
{
    struct publishing p = { true, true, 0, 13000, 25, 9000 };
    struct live_cuts c;

    teardown(state);
    setup(state);
    teardown(state);
    rules.strict_keys = true;
    fixture_arena();
    open_stream();
    publish(p);
    c = find();
    assert_int_equal(c.target, 0);
    assert_true(c.failed);
    /* Another publisher may do better. */
    stream_leave(s);
    assert_int_equal(
        stream_claim(&(struct live_publish){ .name = STR("live/a"),
                                             .chunk_size = FIXTURE_CHUNK,
                                             .hold = 10000 },
                     &s),
        STREAM_YOURS);
    writer_start(&w, s);
    publish((struct publishing){ true, true, 0, 5000, 25, 1000 });
    c = find();
    assert_int_equal(c.target, 3000);
    assert_false(c.failed);
}

static void
test_time_wraps(void **state)
{
    struct publishing p = { true, true, 0xffffffff - 15000, 0, 25, 2000 };
    struct live_cuts c;
    struct live_cut cut;

    (void)state;
    p.to = p.from + 30000;
    publish(p);
    c = find();
    check_all(&c);
    assert_int_equal(cut_count(&c, LIVE_CUT_DISCONTINUITY), 0);
    assert_true(live_cut_at(&c, c.end - 1, &cut));
    assert_in_range(cut.time, 39000, 40000);
}

/* ---- tracks ---- */

static void
test_sound_joins(void **state)
{
    struct publishing p = { true, false, 0, 10000, 25, 2000 };
    struct live_cuts c;
    struct live_cut cut;
    struct live_cut_headers h;

    (void)state;
    publish(p);
    c = find();
    assert_true(live_cut_at(&c, c.end - 1, &cut));
    assert_true(live_cut_headers(&c, cut.header, &h));
    assert_int_equal(h.count, 1);
    p.sound = true;
    p.from = 10000;
    p.to = 20000;
    publish(p);
    c = find();
    check_all(&c);
    assert_int_equal(cut_count(&c, LIVE_CUT_DISCONTINUITY), 1);
    assert_true(live_cut_at(&c, c.end - 1, &cut));
    assert_true(live_cut_headers(&c, cut.header, &h));
    assert_int_equal(h.count, 2);
    assert_int_equal(cut.discontinuity, 1);
}

static void
test_sound_ends(void **state)
{
    struct publishing p = { true, true, 0, 10000, 25, 2000 };
    struct live_cuts c;
    struct live_cut cut;
    struct live_cut_headers h;

    (void)state;
    publish(p);
    p.sound = false;
    p.from = 10000;
    p.to = 18000;
    publish(p);
    c = find();
    check_all(&c);
    assert_int_equal(cut_count(&c, LIVE_CUT_DISCONTINUITY), 1);
    assert_true(live_cut_at(&c, c.end - 1, &cut));
    assert_true(live_cut_headers(&c, cut.header, &h));
    assert_int_equal(h.count, 1);
    assert_int_equal(h.items[0].type, MEDIA_VIDEO);
}

static void
test_pictures_end(void **state)
{
    struct publishing p = { true, true, 0, 10000, 25, 2000 };
    struct live_cuts c;
    struct live_cut cut;
    struct live_cut_headers h;

    (void)state;
    publish(p);
    p.pictures = false;
    p.from = 10000;
    p.to = 18000;
    publish(p);
    c = find();
    assert_int_equal(cut_count(&c, LIVE_CUT_DISCONTINUITY), 1);
    assert_true(live_cut_at(&c, c.end - 1, &cut));
    assert_true(live_cut_headers(&c, cut.header, &h));
    assert_int_equal(h.count, 1);
    assert_int_equal(h.items[0].type, MEDIA_AUDIO);
    p.pictures = true; /* and come again */
    p.from = 18000;
    p.to = 26000;
    publish(p);
    c = find();
    assert_int_equal(cut_count(&c, LIVE_CUT_DISCONTINUITY), 2);
    assert_true(live_cut_at(&c, c.end - 1, &cut));
    assert_true(live_cut_headers(&c, cut.header, &h));
    assert_int_equal(h.count, 2);
}

static void
test_gap(void **state)
{
    struct publishing p = { true, true, 0, 10000, 25, 2000 };
    const struct timespec away = { .tv_nsec = 500000000 };
    struct live_cuts c;
    struct live_cut cut;

    (void)state;
    publish(p);
    nanosleep(&away, NULL);
    p.from = 10900;
    p.to = 20000;
    publish(p);
    c = find();
    check_all(&c);
    assert_int_equal(cut_count(&c, LIVE_CUT_DISCONTINUITY), 1);
    for (uint64_t n = c.first; n < c.end; n++) {
        assert_true(live_cut_at(&c, n, &cut));
        if ((cut.flags & LIVE_CUT_DISCONTINUITY) != 0) {
            assert_int_equal(cut.time, 20900);
            assert_in_range(cut.ended, 19990, 20010);
        }
    }
}

/* A frame that comes late, or was left out, leaves the parts after it as long
 * as they should be. */
static void
test_frame_late(void **state)
{
    static const uint32_t late[] = { 5, 20, 30, 40, 80 };

    for (size_t i = 0; i < sizeof(late) / sizeof(late[0]); i++) {
        struct publishing p = { true, true, 0, 10120, 25, 2000 };
        struct live_cuts c;

        teardown(state);
        setup(state);
        publish(p);
        p.from = p.to + late[i];
        p.to = 20000;
        publish(p);
        c = find();
        check_all(&c);
        assert_int_equal(cut_count(&c, LIVE_CUT_DISCONTINUITY), 0);
    }
}

/* Sound goes on while no picture comes: parts and segments end all the same. */
static void
test_pictures_pause(void **state)
{
    struct publishing p = { true, true, 0, 10000, 25, 2000 };
    struct live_cuts c;
    struct live_cut cut;

    (void)state;
    publish(p);
    for (uint32_t at = 10000; at < 11900; at += 20) {
        nanosleep(&(struct timespec){ .tv_nsec = 6000000 }, NULL);
        append(&w, SOUND, at, 20);
    }
    c = find();
    assert_int_equal(cut_count(&c, LIVE_CUT_DISCONTINUITY), 0);
    assert_true(live_cut_at(&c, c.end - 1, &cut));
    assert_in_range(cut.time, 21300, 21900);
    p.from = 11900;
    p.to = 20000;
    publish(p);
    c = find();
    assert_int_equal(cut_count(&c, LIVE_CUT_DISCONTINUITY), 0);
    assert_true(live_cut_at(&c, c.end - 1, &cut));
    assert_in_range(cut.time, 29600, 30000);
}

/* Where nothing ends yet, the stream is as long as its sound all the same. */
static void
test_pictures_pause_in_the_first_segment(void **state)
{
    (void)state;
    publish((struct publishing){ true, true, 0, 1000, 25, 2000 });
    assert_in_range(find().end_time, 10990, 11010);
    for (uint32_t at = 1000; at < 1900; at += 20) {
        append(&w, SOUND, at, 20);
    }
    assert_in_range(find().end_time, 11850, 11950);
}

/* MP3 has no header: its first frame tells of it, also when it comes back. */
static void
test_sound_without_header(void **state)
{
    static const uint8_t frame[] = { 0x2f, 0xff, 0xfb, 0x90, 0x44, 0, 1, 2 };
    struct live_cuts c;
    struct live_cut cut;
    struct live_cut_headers h;

    (void)state;
    for (unsigned session = 0; session < 2; session++) {
        header_of_pictures(0);
        for (uint32_t i = 0; i < 200; i++) {
            append(&w, i % 50 == 0 ? KEY : INTER, i * 40, 100);
            writer_append(&w, MEDIA_AUDIO, i * 40, frame, sizeof(frame));
        }
        if (session == 0) {
            struct live_publish what = fixture_publish("live/a");

            stream_leave(s);
            assert_int_equal(stream_claim(&what, &s), STREAM_YOURS);
            writer_start(&w, s);
        }
    }
    c = find();
    assert_int_equal(cut_count(&c, LIVE_CUT_DISCONTINUITY), 1);
    assert_true(live_cut_at(&c, c.end - 1, &cut));
    assert_int_equal(cut.header, 1);
    assert_true(live_cut_headers(&c, 1, &h));
    assert_int_equal(h.count, 2);
    assert_int_equal(h.items[1].payload.len, sizeof(frame));
    assert_memory_equal(h.items[1].payload.ptr, frame, sizeof(frame));
}

static void
test_header_changes(void **state)
{
    uint8_t other[sizeof(avcc)];
    struct live_cuts c;
    struct live_cut cut;
    struct live_cut_headers h;

    (void)state;
    publish(BOTH);
    memcpy(other, avcc, sizeof(avcc));
    other[8] = 0x28;
    assert_int_equal(
        writer_append(&w, MEDIA_VIDEO, 20000, other, sizeof(other)), 0);
    for (uint32_t i = 0; i < 60; i++) {
        append(&w, i % 50 == 0 ? KEY : INTER, 20000 + i * 40, 100);
        append(&w, SOUND, 20000 + i * 40, 20);
    }
    c = find();
    assert_int_equal(cut_count(&c, LIVE_CUT_DISCONTINUITY), 1);
    assert_true(live_cut_at(&c, c.end - 1, &cut));
    assert_int_equal(cut.header, 2);
    assert_true(live_cut_headers(&c, 2, &h));
    assert_memory_equal(h.items[0].payload.ptr, other, sizeof(other));
    assert_true(live_cut_headers(&c, 1, &h));
    assert_memory_equal(h.items[0].payload.ptr, avcc, sizeof(avcc));
    assert_false(live_cut_headers(&c, 3, &h));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_pictures_and_sound),
        TEST(test_time_of_sound),
        TEST(test_wall_times),
        TEST(test_wall_times_when_the_clock_was_set),
        TEST(test_key_frames_far_and_near),
        TEST(test_rates_of_pictures),
        TEST(test_last_parts),
        TEST(test_sound_alone),
        TEST(test_nothing_is_told_before_a_segment_is_whole),
        TEST(test_strict_keys),
        TEST(test_time_wraps),
        TEST(test_sound_joins),
        TEST(test_sound_ends),
        TEST(test_pictures_end),
        TEST(test_gap),
        TEST(test_frame_late),
        TEST(test_pictures_pause),
        TEST(test_pictures_pause_in_the_first_segment),
        TEST(test_sound_without_header),
        TEST(test_header_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Meters: exact totals, and the speed of the last five seconds.
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

#include <string.h>

#include "live/meter.h"

#define START INT64_C(1000000250) /* in the middle of a bucket */

static struct meter m;
/* How the tests add to it. */
static void (*add)(struct meter *m, int64_t now, uint64_t video,
                   uint64_t audio);

static int
setup(void **state)
{
    (void)state;
    memset((void *)&m, 0xff, sizeof(m)); /* of an earlier session */
    meter_clear(&m);
    add = meter_add;
    return 0;
}

static int
setup_shared(void **state)
{
    setup(state);
    add = meter_add_shared;
    return 0;
}

/* 100 bytes of video and 10 of audio each 40 ms, from START + from on. */
static void
feed(int64_t from, int64_t to)
{
    for (int64_t t = from; t < to; t += 40) {
        add(&m, START + t, 100, 10);
    }
}

static uint64_t
video_speed(int64_t at)
{
    return meter_read(&m, START + at, START).video_speed;
}

static void
assert_near(uint64_t speed, uint64_t right)
{
    assert_in_range(speed, right - right / 50, right + right / 50);
}

static void
test_nothing(void **state)
{
    struct meter_view v = meter_read(&m, START, START);

    (void)state;
    assert_int_equal(v.video + v.audio + v.video_speed + v.audio_speed, 0);
    assert_int_equal(video_speed(100000), 0);
}

static void
test_totals(void **state)
{
    struct meter_view v;

    (void)state;
    feed(0, 40000);
    v = meter_read(&m, START + 40000, START);
    assert_int_equal(v.video, 1000 * 100);
    assert_int_equal(v.audio, 1000 * 10);
}

/* All of its life, but half a second at least. */
static void
test_young(void **state)
{
    (void)state;
    add(&m, START, 1000, 0);
    assert_int_equal(video_speed(0), 16000);
    assert_int_equal(video_speed(500), 16000);
    assert_int_equal(video_speed(1000), 8000);
    assert_int_equal(video_speed(4000), 2000);
}

static void
test_steady(void **state)
{
    (void)state;
    feed(0, 60000);
    assert_near(video_speed(60000), 20000);
    assert_near(meter_read(&m, START + 60000, START).audio_speed, 2000);
}

/* Somebody has written over it. */
static void
test_no_more_than_can_be(void **state)
{
    static const uint64_t wrong[] = { UINT64_MAX, UINT64_C(1) << 62,
                                      (UINT64_C(1) << 60) + 1 };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        feed(0, 10000);
        atomic_store(&m.video, wrong[i]);
        assert_int_equal(meter_read(&m, START + 10000, START).video, 0);
        assert_int_equal(video_speed(10000), 0);
        atomic_store(&m.video, UINT64_C(1) << 60);
        assert_int_equal(video_speed(10000), 0);
        meter_clear(&m);
    }
}

/* Whenever one looks, within 2 %. */
static void
test_at_any_time(void **state)
{
    (void)state;
    for (int64_t t = 0; t < 30000; t += 40) {
        add(&m, START + t, 100, 10);
        if (t > 3000) {
            assert_near(video_speed(t + 20), 20000);
        }
    }
}

static void
test_falls_to_nothing(void **state)
{
    uint64_t before;

    (void)state;
    feed(0, 20000);
    before = video_speed(20000);
    for (int64_t t = 20100; t < 25000; t += 100) {
        assert_true(video_speed(t) <= before);
        before = video_speed(t);
    }
    assert_true(before < 2000);
    assert_int_equal(video_speed(25500), 0);
    assert_int_equal(video_speed(1000000), 0);
    assert_int_equal(meter_read(&m, START + 1000000, START).video, 50000);
}

/* What was before a silence does not come back. */
static void
test_after_a_silence(void **state)
{
    (void)state;
    feed(0, 20000);
    add(&m, START + 100000, 5000, 0);
    assert_in_range(video_speed(100001), 7200, 8000);
    feed(120000, 140000);
    assert_near(video_speed(140000), 20000);
}

/* Seldom, so that marks are far apart. */
static void
test_seldom(void **state)
{
    (void)state;
    for (int64_t t = 0; t < 200000; t += 3000) {
        add(&m, START + t, 1000, 0);
        assert_in_range(video_speed(t + 2999), 1400, 3300);
    }
    for (int64_t t = 210000; t < 400000; t += 7000) {
        add(&m, START + t, 1000, 0);
        assert_in_range(video_speed(t + 1), 1400, 1600);
        assert_int_equal(video_speed(t + 6000), 0);
    }
}

/* A silence after which marks come to stand where the one before the silence
 * does: what was before it is not what was added of late. */
static void
test_after_a_silence_of_a_round_of_marks(void **state)
{
    (void)state;
    add(&m, START, 1000000, 0);
    add(&m, START + METER_MARKS * METER_BUCKET_MS, 1000, 0);
    add(&m, START + (METER_MARKS + 1) * METER_BUCKET_MS, 1000, 0);
    assert_in_range(video_speed((METER_MARKS + 1) * METER_BUCKET_MS), 2800,
                    3200);
}

/* ---- several that add ---- */

/* One has not seen that a bucket began, which another one has left already. */
static void
test_one_that_is_late(void **state)
{
    (void)state;
    feed(0, 20000);
    meter_add_shared(&m, START + 19000, 0, 0);
    meter_add_shared(&m, START + 20000, 0, 0);
    meter_add_shared(&m, START + 19400, 0, 0);
    assert_near(video_speed(20000), 20000);
    feed(20000, 40000);
    assert_near(video_speed(40000), 20000);
    assert_int_equal(meter_read(&m, START + 40000, START).video, 100000);
}

/* Its process was killed before it made the mark of a bucket. */
static void
test_a_mark_that_was_not_made(void **state)
{
    (void)state;
    for (int64_t t = 0; t < 40000; t += 1000) {
        feed(t, t + 1000);
        if (t == 20000) {
            m.bucket++;
        }
        assert_in_range(video_speed(t + 1000), 19000, 24000);
    }
    assert_near(video_speed(40000), 20000);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, setup)
#define SHARED(f) cmocka_unit_test_setup(f, setup_shared)
    static const struct CMUnitTest tests[] = {
        TEST(test_nothing),
        TEST(test_totals),
        TEST(test_young),
        TEST(test_steady),
        TEST(test_no_more_than_can_be),
        TEST(test_at_any_time),
        TEST(test_falls_to_nothing),
        TEST(test_after_a_silence),
        TEST(test_seldom),
        TEST(test_after_a_silence_of_a_round_of_marks),
        SHARED(test_totals),
        SHARED(test_young),
        SHARED(test_steady),
        SHARED(test_at_any_time),
        SHARED(test_falls_to_nothing),
        SHARED(test_after_a_silence),
        SHARED(test_seldom),
        SHARED(test_after_a_silence_of_a_round_of_marks),
        SHARED(test_one_that_is_late),
        SHARED(test_a_mark_that_was_not_made),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

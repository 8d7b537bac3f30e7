/*
 * What is found out about pictures: rate, groups, what headers say.
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

#include "arena_fixture.h"
#include "live/stream_stats.h"

static struct stream *stream;
static struct writer writer;

static int
setup(void **state)
{
    (void)state;
    fixture_arena();
    stream = fixture_stream("live/a");
    writer_start(&writer, stream);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    fixture_arena_end();
    return 0;
}

static bool
take(void *arg, const struct live_stream_view *v)
{
    *(struct live_stream_view *)arg = *v;
    return false;
}

static struct live_stream_view
look(void)
{
    struct live_stream_view v = { .live = false };

    live_each_stream(take, &v);
    return v;
}

/* Pictures so many microseconds apart, a key frame every `group`. */
static void
feed(unsigned count, unsigned group, int64_t us, uint32_t from)
{
    for (unsigned i = 0; i < count; i++) {
        uint32_t time = from + (uint32_t)(i * us / 1000);

        append(&writer, i % group == 0 ? KEY : INTER, time, 100);
    }
}

static void
test_nothing_is_known(void **state)
{
    struct live_stream_view v = look();

    (void)state;
    assert_int_equal(v.video.codec, CODEC_NONE);
    assert_int_equal(v.audio.codec, CODEC_NONE);
    assert_int_equal(v.fps + v.gop_ms + v.gop_frames + v.key_frames, 0);
}

static void
test_rates(void **state)
{
    static const struct {
        int64_t us;
        uint32_t fps;
    } rows[] = {
        { 40000, 25000 }, { 33367, 29970 }, { 16667, 60000 }, { 200000, 5000 }
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        writer_start(&writer, stream);
        feed(200, 10, rows[i].us, 0);
        assert_in_range(look().fps, rows[i].fps - rows[i].fps / 500,
                        rows[i].fps + rows[i].fps / 500);
    }
}

static void
test_groups(void **state)
{
    (void)state;
    feed(60, 25, 40000, 0);
    assert_int_equal(look().gop_ms, 1000);
    assert_int_equal(look().gop_frames, 25);
    assert_int_equal(look().key_frames, 3);
    feed(3, 1, 500000, 60 * 40);
    assert_int_equal(look().gop_ms, 500);
    assert_int_equal(look().gop_frames, 1);
}

/* A gap is no slow rate. */
static void
test_gap(void **state)
{
    (void)state;
    feed(60, 25, 40000, 0);
    feed(60, 25, 40000, 1000000);
    assert_int_equal(look().fps, 25000);
}

static const uint8_t avc[] = { 0x17, 0,    0,    0,    0, /* tag */
                               0x01, 0x42, 0xc0, 0x0d, 0xff, 0xe1, 0x00, 0x18,
                               0x67, 0x42, 0xc0, 0x0d, 0xd9, 0x01, 0x51, 0x9e,
                               0x22, 0x6c, 0x04, 0x40, 0x00, 0x00, 0x03, 0x00,
                               0x40, 0x00, 0x00, 0x0c, 0x83, 0xc5, 0x0a, 0x92,
                               0x01, 0x00, 0x05, 0x68, 0xcb, 0x83, 0xcb, 0x20 };
static const uint8_t aac[] = { 0xaf, 0, 0x12, 0x10 };

static void
test_headers(void **state)
{
    struct live_stream_view v;

    (void)state;
    writer_append(&writer, MEDIA_VIDEO, 0, avc, sizeof(avc));
    writer_append(&writer, MEDIA_AUDIO, 0, aac, sizeof(aac));
    feed(2, 2, 40000, 0);
    v = look();
    assert_int_equal(v.video.codec, CODEC_H264);
    assert_int_equal(v.video.width, 322);
    assert_string_equal(v.video.profile, "Constrained Baseline");
    assert_int_equal(v.audio.rate, 44100);
    writer_start(&writer, stream); /* another publisher */
    assert_int_equal(look().video.codec, CODEC_NONE);
}

/* A codec without a header is known by its first frame. */
static void
test_no_header(void **state)
{
    static const uint8_t mp3[] = { 0x2f, 0xff, 0xfb, 0x90, 0x64, 0 };

    (void)state;
    writer_append(&writer, MEDIA_AUDIO, 0, mp3, sizeof(mp3));
    assert_int_equal(look().audio.codec, CODEC_MP3);
    assert_int_equal(look().audio.rate, 44100);
}

/* VP9's header is silent on the size: key frames say it, and a new one when it
 * changes. */
static void
test_size_in_key_frames(void **state)
{
    static const uint8_t header[] = { 0x90, 'v', 'p',  '0',  '9', 1, 0, 0, 0,
                                      0,    21,  0x82, 0x02, 2,   2, 0, 0 };
    uint8_t key[] = { 0x91, 'v',  'p',  '0',  '9',  0x82, 0x49, 0x83,
                      0x42, 0x00, 0x14, 0x10, 0x0b, 0x56, 0x04, 0x38 };

    (void)state;
    writer_append(&writer, MEDIA_VIDEO, 0, header, sizeof(header));
    assert_int_equal(look().video.width, 0);
    writer_append(&writer, MEDIA_VIDEO, 0, key, sizeof(key));
    assert_int_equal(look().video.width, 322);
    assert_int_equal(look().video.height, 182);
    assert_string_equal(look().video.profile, "Profile 0");
    key[0] = 0xa1; /* no key frame any more */
    key[10] = 0x24;
    writer_append(&writer, MEDIA_VIDEO, 40, key, sizeof(key));
    assert_int_equal(look().video.width, 322);
    key[0] = 0x91;
    writer_append(&writer, MEDIA_VIDEO, 80, key, sizeof(key));
    assert_int_equal(look().video.width, 322 + 256);
    assert_int_equal(look().video.height, 182);
}

/* Its writer was killed in the middle: unknown, until the next one. */
static void
test_half_changed(void **state)
{
    (void)state;
    writer_append(&writer, MEDIA_VIDEO, 0, avc, sizeof(avc));
    atomic_fetch_add(&stream->described, 1);
    assert_int_equal(look().video.codec, CODEC_NONE);
    writer_start(&writer, stream);
    writer_append(&writer, MEDIA_VIDEO, 0, avc, sizeof(avc));
    assert_int_equal(look().video.width, 322);
}

/* Colours are no picture: nobody starts there, and they are not measured. */
static void
test_metadata_of_a_track(void **state)
{
    static const uint8_t colours[] = { 0x94, 'h', 'v', 'c', '1', 2 };
    uint64_t at;

    (void)state;
    append(&writer, KEY, 0, 40);
    at = atomic_load(&stream->start);
    append(&writer, INTER, 40, 40);
    assert_int_equal(
        writer_append(&writer, MEDIA_VIDEO, 41, colours, sizeof(colours)), 0);
    append(&writer, INTER, 80, 40);
    assert_int_equal(atomic_load(&stream->start), at);
    assert_int_equal(atomic_load(&stream->video_interval), 40);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_is_known),
        TEST(test_rates),
        TEST(test_groups),
        TEST(test_gap),
        TEST(test_headers),
        TEST(test_no_header),
        TEST(test_size_in_key_frames),
        TEST(test_half_changed),
        TEST(test_metadata_of_a_track),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

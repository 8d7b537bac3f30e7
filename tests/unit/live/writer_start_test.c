/*
 * Appending: where players can start, and what with.
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

#include "writer_fixture.h"

static void
test_repeated_metadata_is_dropped(void **state)
{
    (void)state;
    append(&w, META, 0, 60);
    append(&w, META, 0, 60);
    assert_int_equal(tail(), 1);
    append(&w, META, 1, 60); /* other bytes */
    assert_int_equal(tail(), 2);
    assert_int_equal(prologue_of(s)->count, 1);
}

static void
test_starts_at_key_frames(void **state)
{
    (void)state;
    append(&w, VIDEO_HEADER, 0, 40);
    append(&w, SOUND_HEADER, 0, 10);
    append(&w, INTER, 0, 40);
    assert_int_equal(start(), FRAME_NONE);
    append(&w, KEY, 40, 40);
    append(&w, SOUND, 40, 40);
    append(&w, INTER, 80, 40);
    assert_int_equal(start(), 3);
    append(&w, VIDEO_HEADER, 0, 40); /* the same again */
    assert_int_equal(start(), 3);
    append(&w, VIDEO_HEADER, 1, 40); /* another picture size */
    assert_int_equal(start(), FRAME_NONE);
    append(&w, KEY, 160, 40);
    assert_int_equal(start(), tail() - 1);
    assert_int_equal(atomic_load(&s->tracks), TRACK_AUDIO | TRACK_VIDEO);
    assert_int_equal(atomic_load(&s->video_codec), CODEC_H264);
    assert_int_equal(atomic_load(&s->audio_codec), CODEC_AAC);
}

static uint64_t
first(void)
{
    return atomic_load(&s->first);
}

/* What came with another header of sound is no first frame; pictures can be
 * started at all the same. */
static void
test_header_of_sound_changes(void **state)
{
    (void)state;
    append(&w, VIDEO_HEADER, 0, 40);
    append(&w, KEY, 0, 40);
    append(&w, SOUND_HEADER, 0, 10); /* the first one changes nothing */
    append(&w, SOUND, 0, 40);
    append(&w, SOUND_HEADER, 0, 10); /* the same again */
    assert_int_equal(first(), 1);
    append(&w, SOUND_HEADER, 1, 10);
    assert_int_equal(first(), FRAME_NONE);
    assert_int_equal(start(), 1);
    append(&w, KEY, 40, 40);
    assert_int_equal(first(), tail() - 1);
}

static void
test_header_of_sound_alone_changes(void **state)
{
    (void)state;
    append(&w, SOUND, 0, 40);
    append(&w, SOUND_HEADER, 0, 10);
    append(&w, SOUND, 0, 40);
    append(&w, SOUND, 20, 40);
    w.started_ms -= 600;
    append(&w, SOUND, 40, 40);
    assert_int_equal(first(), 2); /* behind the header */
    assert_int_equal(start(), 4);
    append(&w, SOUND_HEADER, 1, 10);
    assert_int_equal(start(), FRAME_NONE);
    append(&w, SOUND, 60, 40);
    assert_int_equal(first(), 6);
    assert_int_equal(start(), 6);
}

/* A picture of a track of Enhanced RTMP. */
static void
append_track(uint8_t track, bool key, uint32_t timestamp)
{
    uint8_t payload[20] = {
        key ? 0x96 : 0xa6, 0x01, 'a', 'v', '0', '1', track
    };

    assert_int_equal(
        writer_append(&w, MEDIA_VIDEO, timestamp, payload, sizeof(payload)), 0);
}

/* Of several tracks the lowest one's key frames are it. */
static void
test_starts_of_the_first_track(void **state)
{
    (void)state;
    append_track(2, true, 0);
    assert_int_equal(start(), 0);
    append_track(1, false, 0);
    assert_int_equal(start(), FRAME_NONE);
    append_track(2, true, 40);
    assert_int_equal(start(), FRAME_NONE);
    append_track(1, true, 40);
    assert_int_equal(start(), 3);
    append(&w, INTER, 80, 40); /* without a number: track 0 */
    append_track(1, true, 80);
    append(&w, KEY, 120, 40);
    append_track(1, true, 120);
    assert_int_equal(start(), 6);
    assert_int_equal(atomic_load(&s->first), 6);
    assert_int_equal(atomic_load(&s->key_frames), 3);
}

/* Another track's header changes nothing when it comes, for the first time. */
static void
test_header_of_another_track(void **state)
{
    uint8_t header[] = { 0x96, 0x00, 'a', 'v', '0', '1', 1, 'x' };

    (void)state;
    append(&w, VIDEO_HEADER, 0, 40);
    append(&w, KEY, 0, 40);
    writer_append(&w, MEDIA_VIDEO, 0, header, sizeof(header));
    assert_int_equal(start(), 1);
    writer_append(&w, MEDIA_VIDEO, 0, header, sizeof(header));
    assert_int_equal(first(), 1);
    header[7]++;
    writer_append(&w, MEDIA_VIDEO, 0, header, sizeof(header));
    assert_int_equal(first(), FRAME_NONE);
    assert_int_equal(start(), FRAME_NONE);
}

/* A track that is far behind the leading one is no clock that went back. */
static void
test_time_of_the_first_track(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 30; i++) {
        append(&w, INTER, 5000 + i * 40, 40);
        append_track(1, false, i * 40);
        assert_int_equal(time_of_last(), i * 40);
    }
    append(&w, INTER, 6200, 40);
    assert_int_equal(time_of_last(), 6200);
}

static void
test_sound_alone_after_a_grace(void **state)
{
    (void)state;
    append(&w, SOUND_HEADER, 0, 10);
    append(&w, SOUND, 0, 40);
    assert_int_equal(start(), FRAME_NONE);
    w.started_ms -= 600;
    append(&w, SOUND, 20, 40);
    assert_int_equal(start(), 2);
    append(&w, SOUND, 40, 40);
    assert_int_equal(start(), 3);
    append(&w, INTER, 60, 40); /* there are pictures after all */
    append(&w, SOUND, 60, 40);
    assert_int_equal(start(), 3);
}

/* The grace is counted from this publisher's first frame. */
static void
test_sound_first_of_a_later_publisher(void **state)
{
    (void)state;
    append(&w, KEY, 90000, 40);
    stream_leave(s);
    assert_ptr_equal(fixture_stream("live/a"), s);
    writer_start(&w, s);
    append(&w, SOUND_HEADER, 0, 10);
    append(&w, SOUND, 0, 40);
    append(&w, SOUND, 20, 40);
    assert_int_equal(start(), FRAME_NONE);
    append(&w, KEY, 40, 40);
    assert_int_equal(start(), tail() - 1);
}

static void
test_declared_video_is_waited_for(void **state)
{
    static const uint8_t meta[] = "\2\0\012onMetaData\10\0\0\0\1\0\014"
                                  "videocodecid\0@\34\0\0\0\0\0\0\0\0\11";

    (void)state;
    writer_append(&w, MEDIA_DATA, 0, meta, sizeof(meta) - 1);
    w.started_ms -= 600;
    append(&w, SOUND, 20, 40);
    assert_int_equal(start(), FRAME_NONE);
    w.started_ms -= 1500;
    append(&w, SOUND, 40, 40);
    assert_int_equal(start(), 2);
}

/* A codec header alone makes nobody wait for ever. */
static void
test_pictures_that_are_announced_and_never_come(void **state)
{
    (void)state;
    append(&w, VIDEO_HEADER, 0, 10);
    append(&w, SOUND_HEADER, 0, 10);
    w.started_ms -= 600;
    append(&w, SOUND, 20, 40);
    assert_int_equal(start(), FRAME_NONE);
    w.started_ms -= 1500;
    append(&w, SOUND, 40, 40);
    assert_int_equal(start(), 3);
    append(&w, INTER, 60, 40); /* they come after all */
    append(&w, SOUND, 60, 40);
    assert_int_equal(start(), 3);
    append(&w, KEY, 80, 40);
    assert_int_equal(start(), tail() - 1);
}

static void
test_distance_between_pictures(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 50; i++) {
        append(&w, i == 0 ? KEY : INTER, i * 40, 40);
        append(&w, SOUND, i * 40 + 7, 40);
    }
    assert_int_equal(atomic_load(&s->video_interval), 40);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_repeated_metadata_is_dropped),
        TEST(test_starts_at_key_frames),
        TEST(test_header_of_sound_changes),
        TEST(test_header_of_sound_alone_changes),
        TEST(test_starts_of_the_first_track),
        TEST(test_header_of_another_track),
        TEST(test_time_of_the_first_track),
        TEST(test_sound_alone_after_a_grace),
        TEST(test_sound_first_of_a_later_publisher),
        TEST(test_declared_video_is_waited_for),
        TEST(test_pictures_that_are_announced_and_never_come),
        TEST(test_distance_between_pictures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

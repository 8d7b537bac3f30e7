/*
 * Messages that tell nothing of their track.
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
#include "live/stray.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct row {
    enum media_type type;
    uint8_t bytes[20];
    size_t len;
};

static const struct row empties[] = {
    { MEDIA_VIDEO, { 0 }, 0 },
    { MEDIA_AUDIO, { 0 }, 0 },
    { MEDIA_VIDEO, { 0x17 }, 1 },
    { MEDIA_VIDEO, { 0x17, 1, 0, 0, 0 }, 5 },
    { MEDIA_VIDEO, { 0x27, 1, 0, 0, 0 }, 5 },
    { MEDIA_VIDEO, { 0x17, 0, 0, 0, 0 }, 5 },
    { MEDIA_VIDEO, { 0x17, 0 }, 2 },
    { MEDIA_VIDEO, { 0x12 }, 1 },
    { MEDIA_VIDEO, { 0x90, 'h', 'v', 'c', '1' }, 5 },
    { MEDIA_VIDEO, { 0x93, 'h', 'v', 'c', '1' }, 5 },
    { MEDIA_VIDEO, { 0x91, 'h', 'v', 'c', '1', 0, 0, 0 }, 8 },
    { MEDIA_AUDIO, { 0xaf }, 1 },
    { MEDIA_AUDIO, { 0xaf, 1 }, 2 },
    { MEDIA_AUDIO, { 0xaf, 0 }, 2 },
    { MEDIA_AUDIO, { 0x2f }, 1 },
    { MEDIA_AUDIO, { 0x90, 'O', 'p', 'u', 's' }, 5 },
    { MEDIA_AUDIO, { 0x91, 'm', 'p', '4', 'a' }, 5 },
    /* Several tracks: empty, none, cut, one of them twice. */
    { MEDIA_AUDIO, { 0x95, 0x11, 'm', 'p', '4', 'a', 1, 0, 0, 0 }, 10 },
    { MEDIA_AUDIO, { 0x95, 0x10, 'm', 'p', '4', 'a' }, 6 },
    { MEDIA_AUDIO, { 0x95, 0x10, 'm', 'p', '4', 'a', 1, 0, 0, 2, 9 }, 11 },
    { MEDIA_AUDIO, { 0x95, 0x14, 'm', 'p', '4', 'a', 1, 0, 0, 2, 9 }, 11 },
    { MEDIA_VIDEO, { 0x96, 0x12, 'h', 'v', 'c', '1', 1, 0, 0 }, 9 },
    { MEDIA_VIDEO,
      { 0x96, 0x13, 'h', 'v', 'c', '1', 1, 0, 0, 1, 9, 1, 0, 0, 1, 9 },
      16 },
};

static const struct row key = { MEDIA_VIDEO, { 0x17, 1, 0, 0, 0, 9 }, 6 };
static const struct row inter = { MEDIA_VIDEO, { 0x27, 1, 0, 0, 0, 9 }, 6 };
static const struct row h263 = { MEDIA_VIDEO, { 0x12, 0, 0, 0x84 }, 4 };
static const struct row aac = { MEDIA_AUDIO, { 0xaf, 1, 0x21, 9 }, 4 };
static const struct row mp3 = { MEDIA_AUDIO, { 0x2f, 0xff, 0xfb, 0x90 }, 4 };
static const struct row opus_header = { MEDIA_AUDIO,
                                        { 0x90, 'O', 'p', 'u', 's', 'O' },
                                        6 };
static const struct row opus = { MEDIA_AUDIO,
                                 { 0x91, 'O', 'p', 'u', 's', 9 },
                                 6 };
/* Another track. */
static const struct row second = { MEDIA_AUDIO,
                                   { 0x95, 1, '.', 'm', 'p', '3', 1, 0xff },
                                   8 };

static struct media_info
look(struct stray_watch *w, const struct row *r)
{
    return stray_look(w, r->type, str_of(r->bytes, r->len));
}

static void
test_without_a_body(void **state)
{
    struct stray_watch w = { 0 };

    (void)state;
    for (size_t i = 0; i < COUNT(empties); i++) {
        struct media_info info = look(&w, &empties[i]);

        assert_int_equal(info.codec, CODEC_NONE);
        assert_int_equal(info.flags, 0);
    }
    /* They were none: the first one with a body tells. */
    assert_int_equal(look(&w, &mp3).codec, CODEC_MP3);
    assert_int_equal(look(&w, &key).flags, MEDIA_KEY);
}

static const struct row end = { MEDIA_VIDEO, { 0x17, 2, 0, 0, 0 }, 5 };

/* An end of sequence has no body, and says so. */
static void
test_what_needs_no_body(void **state)
{
    static const struct row data = { MEDIA_DATA, { 2, 0, 1, 'x' }, 4 };
    static const struct row colours = { MEDIA_VIDEO,
                                        { 0xd4, 'h', 'v', 'c', '1' },
                                        5 };
    struct stray_watch w = { 0 };

    (void)state;
    look(&w, &key);
    assert_int_equal(look(&w, &end).flags, MEDIA_END);
    assert_int_equal(look(&w, &colours).flags, MEDIA_TRACK_META);
    assert_int_equal(look(&w, &data).codec, CODEC_NONE);
}

static void
test_ends_of_another_codec(void **state)
{
    static const struct row other = { MEDIA_VIDEO,
                                      { 0x92, 'h', 'v', 'c', '1' },
                                      5 };
    struct stray_watch w = { 0 };

    (void)state;
    assert_int_equal(look(&w, &end).codec, CODEC_NONE);
    look(&w, &key);
    assert_int_equal(look(&w, &end).codec, CODEC_H264);
    assert_int_equal(look(&w, &other).codec, CODEC_NONE);
    assert_int_equal(look(&w, &other).flags, MEDIA_END);
}

/* What no codec is known of may be a command: no track is that. */
static void
test_an_unknown_one_is_no_track(void **state)
{
    static const struct row unknown = { MEDIA_VIDEO, { 0x11, 0, 9 }, 3 };
    struct stray_watch w = { 0 };

    (void)state;
    assert_int_equal(look(&w, &unknown).codec, CODEC_OTHER);
    assert_int_equal(look(&w, &key).codec, CODEC_H264);
    assert_int_equal(look(&w, &unknown).codec, CODEC_NONE);
}

static void
test_one_of_another_codec(void **state)
{
    struct stray_watch w = { 0 };

    (void)state;
    assert_int_equal(look(&w, &aac).codec, CODEC_AAC);
    assert_int_equal(look(&w, &key).codec, CODEC_H264);
    for (unsigned i = 0; i < 10 * STRAYS_MOST; i++) {
        assert_int_equal(look(&w, &mp3).codec, CODEC_NONE);
        assert_int_equal(look(&w, &h263).flags, 0);
        assert_int_equal(look(&w, &opus).codec, CODEC_NONE);
        assert_int_equal(look(&w, &aac).codec, CODEC_AAC);
        assert_int_equal(look(&w, &inter).codec, CODEC_H264);
        assert_int_equal(look(&w, &second).codec, CODEC_MP3);
    }
}

static void
test_many_of_another_codec(void **state)
{
    struct stray_watch w = { 0 };

    (void)state;
    look(&w, &aac);
    for (unsigned i = 1; i < STRAYS_MOST; i++) {
        assert_int_equal(look(&w, &mp3).codec, CODEC_NONE);
    }
    assert_int_equal(look(&w, &mp3).codec, CODEC_MP3);
    assert_int_equal(look(&w, &mp3).codec, CODEC_MP3);
    assert_int_equal(look(&w, &aac).codec, CODEC_NONE);
}

static void
test_a_header_changes_it(void **state)
{
    struct stray_watch w = { 0 };

    (void)state;
    look(&w, &aac);
    assert_int_equal(look(&w, &opus).codec, CODEC_NONE);
    assert_int_equal(look(&w, &opus_header).flags, MEDIA_HEADER);
    assert_int_equal(look(&w, &opus).codec, CODEC_OPUS);
    assert_int_equal(look(&w, &aac).codec, CODEC_NONE);
}

/* ---- in a stream ---- */

static void
put(struct writer *w, const struct row *r, uint32_t time)
{
    assert_int_equal(writer_append(w, r->type, time, r->bytes, r->len), 0);
}

/* What new players get, where they begin, and what statistics say. */
static void
test_they_change_no_stream(void **state)
{
    static const struct row header = {
        MEDIA_VIDEO, { 0x17, 0, 0, 0, 0, 1, 0x64, 0, 0x1f, 0xff }, 10
    };
    static const struct row ahead = { MEDIA_VIDEO, { 0x12 }, 1 };
    struct writer w;
    struct stream *s;
    uint32_t prologue;

    (void)state;
    fixture_arena();
    s = fixture_stream("live/a");
    writer_start(&w, s);
    put(&w, &header, 0);
    put(&w, &key, 0);
    prologue = atomic_load(&s->prologue);
    for (size_t i = 0; i < COUNT(empties); i++) {
        if (empties[i].type == MEDIA_VIDEO) {
            put(&w, &empties[i], 40);
        }
        put(&w, &h263, 40);
        put(&w, &inter, 40);
    }
    assert_int_equal(atomic_load(&s->prologue), prologue);
    assert_int_equal(atomic_load(&s->start), 1);
    assert_int_equal(atomic_load(&s->video_codec), CODEC_H264);
    assert_int_equal(s->video.codec, CODEC_H264);
    assert_int_equal(atomic_load(&s->key_frames), 1);
    assert_int_equal(atomic_load(&s->tracks), TRACK_VIDEO);
    put(&w, &(struct row){ MEDIA_AUDIO, { 0xaf, 1 }, 2 }, 40);
    assert_int_equal(atomic_load(&s->tracks), TRACK_VIDEO);
    /* One with an old time, or one far ahead, moves no clock. */
    put(&w, &ahead, 0);
    put(&w, &inter, 80);
    put(&w, &ahead, 0);
    put(&w, &inter, 120);
    assert_int_equal(frame_at(s, atomic_load(&s->tail) - 1)->timestamp, 120);
    fixture_arena_end();
}

/* Sound alone stays sound alone: its players can begin anywhere. */
static void
test_no_picture_comes(void **state)
{
    struct writer w;
    struct stream *s;

    (void)state;
    fixture_arena();
    s = fixture_stream("live/a");
    writer_start(&w, s);
    put(&w, &empties[0], 0);
    put(&w, &empties[2], 0);
    put(&w, &empties[7], 0);
    put(&w, &end, 0);
    for (uint32_t time = 0; time < 2000; time += 20) {
        put(&w, &aac, time);
    }
    assert_int_equal(atomic_load(&s->start), atomic_load(&s->tail) - 1);
    fixture_arena_end();
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_body),
        cmocka_unit_test(test_what_needs_no_body),
        cmocka_unit_test(test_ends_of_another_codec),
        cmocka_unit_test(test_an_unknown_one_is_no_track),
        cmocka_unit_test(test_one_of_another_codec),
        cmocka_unit_test(test_many_of_another_codec),
        cmocka_unit_test(test_a_header_changes_it),
        cmocka_unit_test(test_they_change_no_stream),
        cmocka_unit_test(test_no_picture_comes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

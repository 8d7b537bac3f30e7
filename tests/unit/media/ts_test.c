/*
 * Transport streams, byte for byte: what a segment begins with, times that
 * wrap, clocks, elementary streams, and all that is refused.
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

#include "base/bytes.h"
#include "media/container.h"

#define PACKET 188
#define VIDEO_PID 0x100
#define SECOND 90000u /* stream time 0 has this PTS */

static const char avcc[] = "\x01\x42\xc0\x0a\xff\xe1\0\2\x67\x42\1\0\2\x68\xce";

static const struct media_track pictures = {
    .type = MEDIA_VIDEO,
    .codec = CODEC_H264,
    .config = { avcc, sizeof(avcc) - 1 },
    .timescale = MEDIA_VIDEO_TIMESCALE,
};
static const struct media_track sound = {
    .type = MEDIA_AUDIO,
    .codec = CODEC_AAC,
    .config = { "\x12\x10", 2 },
    .timescale = 44100,
    .rate = 44100,
    .channels = 2,
};

#define SAMPLE(bytes, length, difference, is_key)                             \
    {                                                                         \
        .size = sizeof(bytes) - 1, .duration = (length), .cts = (difference), \
        .key = (is_key),                                                      \
        .pieces =                                                             \
            &(const struct iovec){ (char[]){ bytes }, sizeof(bytes) - 1 },    \
        .piece_count = 1                                                      \
    }

static struct buf out;

static int
make(const struct media_run *runs, size_t count)
{
    struct media_fragment f = {
        .sequence = 1, .first = true, .runs = runs, .count = count, .steps = 1
    };

    buf_clear(&out);
    buf_init(&out, 1 << 20);
    return media_ts.fragment(&out, &f);
}

static const uint8_t *
packet(size_t i)
{
    assert_true((i + 1) * PACKET <= buf_len(&out));
    return buf_data(&out) + i * PACKET;
}

static unsigned
pid_of(const uint8_t *p)
{
    return get_be16(p + 1) & 0x1fff;
}

/* What a packet carries; begins: a PES packet begins in it. */
static struct str
payload(const uint8_t *p, bool *begins)
{
    size_t at = 4 + ((p[3] & 0x20) != 0 ? 1 + (size_t)p[4] : 0);

    *begins = (p[1] & 0x40) != 0;
    return str_of(p + at, PACKET - at);
}

static uint64_t
read_time(const uint8_t *p)
{
    return (uint64_t)(p[0] >> 1 & 7) << 30 |
           (uint64_t)(get_be16(p + 1) >> 1) << 15 | get_be16(p + 3) >> 1;
}

/* The bytes of the PES packets of a PID without their headers; the times of the
 * last one. */
static size_t
elementary(unsigned pid, uint8_t *dst, uint64_t *pts, uint64_t *dts)
{
    size_t n = 0;

    for (size_t i = 2; i < buf_len(&out) / PACKET; i++) {
        bool begins;
        struct str s = payload(packet(i), &begins);
        const uint8_t *p = (const uint8_t *)s.ptr;

        if (pid_of(packet(i)) != pid) {
            continue;
        }
        if (begins) {
            *pts = read_time(p + 9);
            *dts = p[7] == 0xc0 ? read_time(p + 14) : *pts;
            s = str_skip(s, 9 + (size_t)p[8]);
        }
        memcpy(dst + n, s.ptr, s.len);
        n += s.len;
    }
    return n;
}

static void
test_a_segment_begins_with_tables_and_a_key_frame(void **state)
{
    const struct media_sample frames[] = {
        SAMPLE("\0\0\0\2\x09\xf0\0\0\0\3\x65kk", 3600, 7200, true),
    };
    const struct media_sample early[] = { SAMPLE("aaaaaaaaaaaaa", 1024, 0,
                                                 false) };
    /* The sound is a little earlier. */
    const struct media_run runs[] = { { &pictures, 9000, frames, 1 },
                                      { &sound, 4000, early, 1 } };
    static const uint8_t unit[] = "\0\0\0\1\x09\xf0\0\0\0\1\x67\x42"
                                  "\0\0\0\1\x68\xce\0\0\0\1\x65kk";
    uint8_t bytes[1000];
    uint64_t pts, dts;

    (void)state;
    assert_int_equal(make(runs, 2), 0);
    assert_int_equal(pid_of(packet(0)), 0);
    assert_int_equal(pid_of(packet(1)), 0x1000);
    assert_int_equal(pid_of(packet(2)), VIDEO_PID);
    assert_int_equal(packet(2)[5] & 0x50, 0x50); /* random access, PCR */
    size_t n = elementary(VIDEO_PID, bytes, &pts, &dts);
    assert_int_equal(n, sizeof(unit) - 1);
    assert_memory_equal(bytes, unit, n);
    assert_int_equal(dts, SECOND + 9000);
    assert_int_equal(pts, SECOND + 9000 + 7200);
    /* ADTS: LC, 44.1 kHz, stereo, 20 bytes. */
    n = elementary(VIDEO_PID + 1, bytes, &pts, &dts);
    assert_int_equal(n, 20);
    assert_memory_equal(bytes, "\xff\xf1\x50\x80\x02\x9f\xfc", 7);
    assert_memory_equal(bytes + 7, "aaaaaaaaaaaaa", 13);
    assert_int_equal(pts, SECOND + 4000u * 90000 / 44100);
}

static void
test_times_wrap_at_33_bits(void **state)
{
    const struct media_sample frames[] = {
        SAMPLE("\0\0\0\1\x65", 3600, 2000, true),
    };
    uint64_t wrap = (uint64_t)1 << 33, pts, dts;
    const struct media_run run = { &pictures, 5 * wrap - SECOND - 1000, frames,
                                   1 };
    uint8_t bytes[1000];

    (void)state;
    assert_int_equal(make(&run, 1), 0);
    elementary(VIDEO_PID, bytes, &pts, &dts);
    assert_int_equal(dts, wrap - 1000);
    assert_int_equal(pts, 1000);
}

/* A picture each second: the clock comes ten times as often. */
static void
test_clocks_are_at_most_100_ms_apart(void **state)
{
    const struct media_sample frames[] = {
        SAMPLE("\0\0\0\1\x65", 90000, 0, true),
        SAMPLE("\0\0\0\1\x41", 90000, 0, false),
    };
    const struct media_run runs[] = { { &pictures, 0, frames, 2 },
                                      { &sound, 0, NULL, 0 } };
    uint64_t last = 0;
    size_t count = 0;

    (void)state;
    assert_int_equal(make(runs, 2), 0);
    for (size_t i = 2; i < buf_len(&out) / PACKET; i++) {
        const uint8_t *p = packet(i);

        if ((p[3] & 0x20) != 0 && p[4] > 0 && (p[5] & 0x10) != 0) {
            uint64_t pcr = (uint64_t)get_be32(p + 6) << 1 | p[10] >> 7;
            assert_true(count == 0 || pcr - last <= 9000);
            last = pcr;
            count++;
        }
    }
    assert_int_equal(count, 20);
    assert_int_equal(buf_len(&out) / PACKET, 2 + 16 + 18);
}

/* Sound while the pictures stand still has clocks all the same. */
static void
test_sound_without_pictures_has_clocks(void **state)
{
    const struct media_sample frames[] = {
        SAMPLE("aaaaaaaaaaaaaaaaaa", 4410, 0, false),
        SAMPLE("aaaaaaaaaaaaaaaaaa", 4410, 0, false),
    };
    const struct media_run runs[] = { { &pictures, 0, NULL, 0 },
                                      { &sound, 0, frames, 2 } };

    (void)state;
    assert_int_equal(make(runs, 2), 0);
    assert_int_equal(buf_len(&out) / PACKET, 2 + 2 + 16);
    assert_int_equal(pid_of(packet(2)), VIDEO_PID);
    assert_int_equal(packet(2)[3], 0x2f); /* no payload, counter 15 */
}

/* Where sound is ahead of its pictures, clocks go on from where those are. */
static void
test_clocks_of_pictures_that_pause(void **state)
{
    const struct media_sample frame = SAMPLE("aaaa", 1024, 0, false);
    const struct media_run runs[] = {
        { &pictures, MEDIA_VIDEO_TIMESCALE, NULL, 0 },
        { &sound, 5 * (uint64_t)sound.timescale, &frame, 1 },
    };
    const uint8_t *p;
    uint64_t pcr;

    (void)state;
    assert_int_equal(make(runs, 2), 0);
    p = packet(2);
    pcr = (uint64_t)p[6] << 25 | (uint64_t)p[7] << 17 | (uint64_t)p[8] << 9 |
          (uint64_t)p[9] << 1 | p[10] >> 7;
    assert_int_equal(pcr, 90000 + 90000 - 90000 / 5);
}

/* Frames of sound share a PES packet up to 100 ms.  Their PID is the same with
 * and without pictures. */
static void
test_frames_of_sound_share_packets(void **state)
{
    struct media_sample frames[9];
    const struct media_sample one = SAMPLE("aaaa", 1024, 0, false);
    const struct media_run run = { &sound, 0, frames, 9 };
    size_t begun = 0;

    (void)state;
    for (size_t i = 0; i < 9; i++) {
        frames[i] = one;
    }
    assert_int_equal(make(&run, 1), 0);
    for (size_t i = 2; i < buf_len(&out) / PACKET; i++) {
        begun += (packet(i)[1] & 0x40) != 0;
        assert_int_equal(pid_of(packet(i)), VIDEO_PID + 1);
    }
    assert_int_equal(begun, 3); /* 4, 4, 1 */
}

static void
test_bad_samples_refuse_the_fragment(void **state)
{
    const struct media_sample rows[] = {
        SAMPLE("\0\0\0", 3600, 0, true),
        SAMPLE("\0\0\0\2\x65", 3600, 0, true),
        SAMPLE("\xff\xff\xff\xff\x65", 3600, 0, true),
        SAMPLE("\0\0\0\1\x65\0", 3600, 0, true),
        { .size = 5, .duration = 1, .key = true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct media_run run = { &pictures, 0, &rows[i], 1 };

        assert_int_equal(make(&run, 1), -1);
        assert_int_equal(buf_len(&out), 0);
    }
}

/* A segment in one piece ends where its last part would. */
static void
test_tables_are_counted_by_parts(void **state)
{
    const struct media_sample frames[] = {
        SAMPLE("\0\0\0\1\x65", 3600, 0, true),
    };
    const struct media_run run = { &pictures, 0, frames, 1 };
    static const struct {
        uint32_t steps;
        size_t tables;
    } rows[] = { { 0, 1 }, { 1, 1 }, { 6, 6 }, { 16, 16 }, { 17, 1 } };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct media_fragment f = { .sequence = 30,
                                    .first = true,
                                    .runs = &run,
                                    .count = 1,
                                    .steps = rows[i].steps };

        buf_clear(&out);
        buf_init(&out, 1 << 20);
        assert_int_equal(media_ts.fragment(&out, &f), 0);
        assert_int_equal(buf_len(&out) / PACKET, 2 * rows[i].tables + 16);
        for (size_t k = 0; k < 2 * rows[i].tables; k++) {
            assert_int_equal(pid_of(packet(k)), k % 2 == 0 ? 0 : 0x1000);
            assert_int_equal(packet(k)[3] & 15, (30 + k / 2) & 15);
        }
    }
}

static void
test_no_room_adds_nothing(void **state)
{
    const struct media_sample frames[] = {
        SAMPLE("\0\0\0\1\x65", 3600, 0, true),
    };
    const struct media_run run = { &pictures, 0, frames, 1 };
    struct media_fragment f = {
        .sequence = 1, .first = true, .runs = &run, .count = 1, .steps = 1
    };

    (void)state;
    for (size_t limit = 18 * PACKET - 1; limit <= 18 * PACKET; limit++) {
        buf_clear(&out);
        buf_init(&out, limit);
        assert_int_equal(media_ts.fragment(&out, &f),
                         limit == 18 * PACKET ? 0 : -1);
        assert_int_equal(buf_len(&out), limit == 18 * PACKET ? limit : 0);
    }
}

static void
test_carries(void **state)
{
    static const struct {
        enum media_codec codec;
        struct str config;
        bool right;
    } rows[] = {
        { CODEC_H264, { avcc, sizeof(avcc) - 1 }, true },
        { CODEC_H264, { avcc, sizeof(avcc) - 2 }, false },
        { CODEC_HEVC, { avcc, sizeof(avcc) - 1 }, false },
        { CODEC_AAC, { "\x12\x10", 2 }, true },
        { CODEC_AAC, { "\x2b\x92\x08\x00", 4 }, true }, /* HE-AAC */
        { CODEC_AAC, { "\x12", 1 }, false },
        { CODEC_AAC, { "\x12\x00", 2 }, false }, /* speakers told elsewhere */
        { CODEC_AAC, { "\xf9\x48\x40\x00", 4 }, false }, /* xHE-AAC */
        { CODEC_MP3, { "", 0 }, true },
        { CODEC_AC3, { "", 0 }, true },
        { CODEC_EAC3, { "", 0 }, true },
        { CODEC_OPUS, { "OpusHead", 8 }, false },
        { CODEC_FLAC, { "fLaC", 4 }, false },
        { CODEC_AV1, { "\x81\0\0\0", 4 }, false },
        { CODEC_VP9, { "", 0 }, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct media_track t = { .codec = (uint8_t)rows[i].codec,
                                 .config = rows[i].config,
                                 .timescale = 48000 };

        assert_int_equal(media_ts.carries(&t), rows[i].right);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_segment_begins_with_tables_and_a_key_frame),
        cmocka_unit_test(test_times_wrap_at_33_bits),
        cmocka_unit_test(test_clocks_are_at_most_100_ms_apart),
        cmocka_unit_test(test_sound_without_pictures_has_clocks),
        cmocka_unit_test(test_clocks_of_pictures_that_pause),
        cmocka_unit_test(test_frames_of_sound_share_packets),
        cmocka_unit_test(test_bad_samples_refuse_the_fragment),
        cmocka_unit_test(test_tables_are_counted_by_parts),
        cmocka_unit_test(test_no_room_adds_nothing),
        cmocka_unit_test(test_carries),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    buf_clear(&out);
    return failed;
}

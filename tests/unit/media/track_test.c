/*
 * Tracks and samples out of messages: headers and frames that ffmpeg's encoders
 * made, and all that can be broken about them.
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
#include <string.h>

#include "media/track.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

#define H264                                                             \
    "9061766331014d400dffe10019674d400deca0a8cf113602200000030020000006" \
    "41e28532c001000468ce0fc8"
#define H264_HLG                                                         \
    "9061766331016e000dffe1001e676e000da6cb40a8cf113602d424482500000300" \
    "0100000300320f142aa001000468ce0fc8fdfafa00"
#define HEVC                                                             \
    "90687663310101600000009000000000003cf000fcfdf8f800000f032000010018" \
    "40010c01ffff01600000030090000003000003003c959409210001002c42010101" \
    "600000030090000003000003003ca00a880c1c44d965654a4c2f01680800000300" \
    "0800000300c84022000100064401c073c189"
#define HEVC_PQ                                                          \
    "90687663310102200000009000000000003cf000fcfdfafa00000f032000010018" \
    "40010c01ffff02200000030090000003000003003c959409210001002e42010102" \
    "200000030090000003000003003ca00a880c1c44cd965654a4c2f016a122012080" \
    "000003008000000c8422000100064401c073c189"
#define AV1_PQ "906176303181000c000a0e000000043d06d402f81091009040"
#define AV1_HLG "906176303181004c000a0e000000043d06d4daf95091209040"
#define VP9 "907670303901000000001f820202020000"
#define OPUS "904f7075734f707573486561640101380180bb0000000000"
#define FLAC                                   \
    "90664c6143664c61438000002212001200000358" \
    "0004ff0bb800f00002ee002a6ba4825dc1428345546ac64bc657fa"

static const struct track_row {
    const char *what;
    enum media_type type;
    const char *payload, *codec, *range;
    uint32_t config; /* bytes */
    uint32_t timescale, width, height, rate, channels;
    uint8_t id;
} tracks[] = {
    { "H.264", MEDIA_VIDEO, H264, "avc1.4d400d", "SDR", 40, 90000, 322, 182, 0,
      0, 0 },
    { "H.264, legacy tag", MEDIA_VIDEO,
      "170000000001640028ffe1001967640028acd940780227e5c04400000fa4"
      "0003a9803c60c65801000668ebe3cb22c0fdf8f800",
      "avc1.640028", "SDR", 46, 90000, 1920, 1080, 0, 0, 0 },
    { "H.264, HLG", MEDIA_VIDEO, H264_HLG, "avc1.6e000d", "HLG", 49, 90000, 322,
      182, 0, 0, 0 },
    { "HEVC", MEDIA_VIDEO, HEVC, "hvc1.1.6.L60.90", "SDR", 112, 90000, 322, 182,
      0, 0, 0 },
    { "HEVC, PQ", MEDIA_VIDEO, HEVC_PQ, "hvc1.2.4.L60.90", "PQ", 114, 90000,
      322, 182, 0, 0, 0 },
    { "HEVC, all that stands before colours", MEDIA_VIDEO,
      "90687663310102200000009000000000005df000fcfdfafa00000f012100"
      "0100c942010102200000030090000003000003005da00a080b936595e493"
      "dba74e9d3a6dd3a74e9d36e9d3a74e9b74e9d3a74e9d3a74e9d3a74e9d3a"
      "74e9d3a74dba74e9d3a74e9d3a74e9d3a74e9d3a74e9d3a6dd3a74e9d3a7"
      "4e9d3a74e9d3a74e9d3a74e9d3621d3a74e9d3a74e9d3a74e9d3a74e9d3a"
      "74e9d3621d3a74e9d3a74e9d3a74e9d3a74e9d3a74e9d3621d3a74e9d3a7"
      "4e9d3a74e9d3a74e9d3a74e9d3621d3a74e9d3a74e9d3a74e9d3a74e9d3a"
      "74e9d3eef88d6bdb0a4d82c25ffe000200036e1224120080",
      "hvc1.2.4.L93.90", "HLG", 229, 90000, 320, 184, 0, 0, 0 },
    { "HEVC, range extensions", MEDIA_VIDEO,
      "90687663310104080000009d08000000003cf000fcfef8f8000013042000"
      "01001b40010c02ffff0408000003009d0800000300003c00009598acc048"
      "210001002e4201020408000003009d0800000300003c0000b00a080b9f2e"
      "59598acd24995e02d01000000300100000030190802200010007",
      "hvc1.4.10.L60.9D.8", "SDR", 111, 90000, 320, 180, 0, 0, 0 },
    { "AV1, PQ", MEDIA_VIDEO, AV1_PQ, "av01.0.00M.08", "PQ", 20, 90000, 322,
      182, 0, 0, 0 },
    { "AV1, 10 bits, HLG", MEDIA_VIDEO, AV1_HLG, "av01.0.00M.10", "HLG", 20,
      90000, 322, 182, 0, 0, 0 },
    { "AV1, no colours", MEDIA_VIDEO,
      "906176303181050c000a0b0000002d4cffb3c02f8004", "av01.0.05M.08", "SDR",
      17, 90000, 1280, 720, 0, 0, 0 },
    { "VP9", MEDIA_VIDEO, VP9, "vp09.00.31.08", "SDR", 8, 90000, 0, 0, 0, 0,
      0 },
    { "VP9, no full box, PQ", MEDIA_VIDEO, "9076703039021fa20910090000",
      "vp09.02.31.10", "PQ", 8, 90000, 0, 0, 0, 0, 0 },
    { "VP8", MEDIA_VIDEO, "9176703038f067009d012a4201b6000007", "", "SDR", 12,
      90000, 322, 182, 0, 0, 0 },
    { "AAC", MEDIA_AUDIO, "af00119056e500", "mp4a.40.2", "SDR", 5, 48000, 0, 0,
      48000, 2, 0 },
    { "AAC of 96 kHz", MEDIA_AUDIO, "906d703461100856e500", "mp4a.40.2", "SDR",
      5, 96000, 0, 0, 96000, 1, 0 },
    { "HE-AAC", MEDIA_AUDIO, "af002b920800", "mp4a.40.5", "SDR", 4, 22050, 0, 0,
      44100, 2, 0 },
    { "MP3", MEDIA_AUDIO, "2ffffb90640000", "mp4a.40.34", "SDR", 6, 44100, 0, 0,
      44100, 2, 0 },
    { "Opus", MEDIA_AUDIO, OPUS, "Opus", "SDR", 19, 48000, 0, 0, 48000, 1, 0 },
    { "FLAC", MEDIA_AUDIO, FLAC, "fLaC", "SDR", 42, 48000, 0, 0, 48000, 1, 0 },
    { "AC-3", MEDIA_AUDIO, "9161632d330b77b50b1e40ebf8403e", "ac-3", "SDR", 10,
      48000, 0, 0, 48000, 6, 0 },
    { "E-AC-3", MEDIA_AUDIO, "9165632d330b77017f3487c0002084", "ec-3", "SDR",
      10, 48000, 0, 0, 48000, 2, 0 },
    { "the one track of a message", MEDIA_AUDIO,
      "95006d70346103"
      "119056e500",
      "mp4a.40.2", "SDR", 5, 48000, 0, 0, 48000, 2, 3 },
    { "the first of two tracks", MEDIA_AUDIO,
      "95106d70346103000005"
      "119056e500"
      "04000002"
      "1210",
      "mp4a.40.2", "SDR", 5, 48000, 0, 0, 48000, 2, 3 },
};

/* Messages that begin no track. */
static const struct broken_row {
    const char *what;
    enum media_type type;
    const char *payload;
} broken[] = {
    { "nothing", MEDIA_VIDEO, "" },
    { "data", MEDIA_DATA, "02000a6f6e4d65746144617461" },
    { "a picture of a codec with headers", MEDIA_VIDEO, "17010000000000" },
    { "AVC, no parameter set", MEDIA_VIDEO, "170000000001640028ffe0000000" },
    { "AVC, cut", MEDIA_VIDEO, "170000000001640028ff" },
    { "AVC, composition time cut", MEDIA_VIDEO, "17000000" },
    { "HEVC, cut", MEDIA_VIDEO, "906876633101016000" },
    { "AV1, no marker", MEDIA_VIDEO, "906176303101000c00" },
    { "VP9, cut", MEDIA_VIDEO, "907670303901000000001f82" },
    { "VP8, not a key frame", MEDIA_VIDEO, "a176703038f167009d012a42" },
    { "metadata of colours", MEDIA_VIDEO, "9468766331020009" },
    { "AAC, cut", MEDIA_AUDIO, "af0011" },
    { "AAC, a rate that is none", MEDIA_AUDIO, "af00169056e500" },
    { "AAC, a rate of 1 Hz", MEDIA_AUDIO, "af001780000090" },
    { "HE-AAC, cut", MEDIA_AUDIO, "af002b92" },
    { "MP3, no frame", MEDIA_AUDIO, "2f00000000" },
    { "Opus, no name", MEDIA_AUDIO, "904f7075734f707573486561" },
    { "FLAC, cut", MEDIA_AUDIO, "90664c6143664c614380000022120012" },
    { "AC-3, no sync", MEDIA_AUDIO, "9161632d330b78b50b1e40ebf8403e" },
    { "AC-3, cut", MEDIA_AUDIO, "9161632d330b77b50b1e40" },
    { "AC-3, a rate that is none", MEDIA_AUDIO, "9161632d330b77b50bde40ebf8" },
    { "E-AC-3 told as AC-3", MEDIA_AUDIO, "9161632d330b77017f3487c0002084" },
    { "an unknown stream", MEDIA_AUDIO, "9161632d330b77b50b1ef0ebf8403e" },
    { "Speex", MEDIA_AUDIO, "b600" },
    { "nothing of several tracks", MEDIA_AUDIO, "95106d703461030000" },
};

static const struct sample_row {
    const char *what;
    enum media_type type;
    const char *payload;
    uint32_t offset;
    int32_t cts;
    int key;
    uint8_t track;
} samples[] = {
    { "AVC", MEDIA_VIDEO, "17010000280000", 5, 40, 1, 0 },
    { "AVC, a time before", MEDIA_VIDEO, "2701ffffd80000", 5, -40, 0, 0 },
    { "HEVC of legacy tags", MEDIA_VIDEO, "1c010000280000", 5, 40, 1, 0 },
    { "AAC", MEDIA_AUDIO, "af0121", 2, 0, 1, 0 },
    { "MP3", MEDIA_AUDIO, "2fff", 1, 0, 1, 0 },
    { "frames", MEDIA_VIDEO, "916876633100005000", 8, 80, 1, 0 },
    { "frames without a time", MEDIA_VIDEO, "a36876633100", 5, 0, 0, 0 },
    { "AV1 has no times", MEDIA_VIDEO, "916176303100", 5, 0, 1, 0 },
    { "behind ModEx", MEDIA_VIDEO, "97020102030168766331ffffff00", 13, -1, 1,
      0 },
    { "one track", MEDIA_VIDEO, "960168766331050000500000", 10, 80, 1, 5 },
    { "one track, no time", MEDIA_VIDEO, "a603687663310500", 7, 0, 0, 5 },
    { "one track of sound", MEDIA_AUDIO, "95014f7075730200", 7, 0, 1, 2 },
    { "Opus", MEDIA_AUDIO, "914f707573f8", 5, 0, 1, 0 },
};

static const struct broken_row no_samples[] = {
    { "nothing", MEDIA_AUDIO, "" },
    { "a header", MEDIA_VIDEO, H264 },
    { "a legacy header", MEDIA_AUDIO, "af001210" },
    { "an end", MEDIA_VIDEO, "17020000000000" },
    { "an end of sound", MEDIA_AUDIO, "924f70757300" },
    { "metadata", MEDIA_VIDEO, "946876633102" },
    { "a command", MEDIA_VIDEO, "5700" },
    { "several tracks", MEDIA_VIDEO, "96116876633101000004000000ff" },
    { "an empty picture", MEDIA_VIDEO, "1701000000" },
    { "a cut composition time", MEDIA_VIDEO, "17010000" },
    { "an empty sound", MEDIA_AUDIO, "af01" },
    { "data", MEDIA_DATA, "02000a6f6e4d65746144617461" },
};

static const struct duration_row {
    const char *what, *header, *body;
    uint32_t duration;
} durations[] = {
    { "AAC", "af00119056e500", "2110", 1024 },
    { "AAC of 960", "af001194", "2110", 960 },
    { "AAC, nothing more told", "af001190", "2110", 1024 },
    { "HE-AAC", "af002b920800", "2110", 1024 },
    { "AAC-LD", "af00b9900000", "2110", 512 },
    { "MP3", "2ffffb90640000", "fffb9064", 1152 },
    { "MP3 of MPEG-2", "2ffff340c4", "fff340c4", 576 },
    { "layer II", "2ffffb90640000", "fffd9064", 1152 },
    { "layer I", "2ffffb90640000", "ffff9064", 384 },
    { "MP3, no frame", "2ffffb90640000", "00fb9064", 0 },
    { "Opus, 20 ms", OPUS, "f800", 960 },
    { "Opus, 60 ms in three", OPUS, "fb83", 2880 },
    { "Opus, two frames", OPUS, "f900", 1920 },
    { "Opus, SILK of 60 ms", OPUS, "1800", 2880 },
    { "Opus, hybrid of 10 ms", OPUS, "6000", 480 },
    { "Opus, 2.5 ms", OPUS, "8000", 120 },
    { "Opus, too long", OPUS, "1b03", 0 },
    { "Opus, cut", OPUS, "fb", 0 },
    { "FLAC, 16 bits of size", FLAC, "fff87a0800147fff00", 5248 },
    { "FLAC, 8 bits of size", FLAC, "fff86a080014ff00", 21 },
    { "FLAC, 4608", FLAC, "fff85a08008100", 4608 },
    { "FLAC, 4096", FLAC, "fff8c80800", 4096 },
    { "FLAC, 192", FLAC, "fff8180800", 192 },
    { "FLAC, a long number", FLAC, "fff87a08e281810fff", 4096 },
    { "FLAC, reserved", FLAC, "fff8080800", 0 },
    { "FLAC, cut", FLAC, "fff87a08e28181", 0 },
    { "FLAC, no frame", FLAC, "00f87a0800147fff00", 0 },
    { "AC-3", "9161632d330b77b50b1e40ebf8403e", "0b77b50b1e40ebf8", 1536 },
    { "E-AC-3 of six blocks", "9165632d330b77017f3487c0002084",
      "0b77017f3487c000", 1536 },
    { "E-AC-3 of one block", "9165632d330b77017f3487c0002084",
      "0b77017f0487c000", 256 },
    { "AC-3, no frame", "9161632d330b77b50b1e40ebf8403e", "0b", 0 },
};

/* Exactly as large as the payload, so that reading past it is noticed. */
static struct str
bytes_of(const char *hex)
{
    size_t len = strlen(hex) / 2;
    uint8_t *bytes = malloc(len);

    for (size_t i = 0; i < len; i++) {
        bytes[i] = (uint8_t)(str_hex_digit(hex[2 * i]) << 4 |
                             str_hex_digit(hex[2 * i + 1]));
    }
    return str_of(bytes, len);
}

static void
drop(struct str s)
{
    free((void *)(uintptr_t)s.ptr);
}

static void
codec_headers_begin_tracks(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(tracks); i++) {
        const struct track_row *r = &tracks[i];
        struct str payload = bytes_of(r->payload);
        char name[MEDIA_CODEC_STRING_MAX];
        struct media_track t;

        print_message("%s\n", r->what);
        assert_int_equal(media_track_of(&t, r->type, payload), 0);
        assert_int_equal(t.type, r->type);
        assert_int_equal(t.id, r->id);
        assert_int_equal(t.config.len, r->config);
        assert_int_equal(t.timescale, r->timescale);
        assert_int_equal(t.width, r->width);
        assert_int_equal(t.height, r->height);
        assert_int_equal(t.rate, r->rate);
        assert_int_equal(t.channels, r->channels);
        assert_int_equal(media_codec_string(name, &t), strlen(r->codec));
        assert_string_equal(name, r->codec);
        assert_string_equal(media_video_range(&t), r->range);
        drop(payload);
    }
}

static void
others_begin_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(broken); i++) {
        struct str payload = bytes_of(broken[i].payload);
        struct media_track t;

        print_message("%s\n", broken[i].what);
        assert_int_equal(media_track_of(&t, broken[i].type, payload), -1);
        drop(payload);
    }
}

/* A header that ends anywhere is read up to its end only. */
static void
headers_may_be_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(tracks); i++) {
        for (size_t n = 0; n < strlen(tracks[i].payload); n += 2) {
            char hex[512] = { 0 };
            struct media_track t;
            struct str payload;

            memcpy(hex, tracks[i].payload, n);
            payload = bytes_of(hex);
            if (media_track_of(&t, tracks[i].type, payload) == 0) {
                assert_int_not_equal(t.timescale, 0);
                media_video_range(&t);
            }
            drop(payload);
        }
    }
}

static void
messages_hold_samples(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(samples); i++) {
        const struct sample_row *r = &samples[i];
        struct str front = bytes_of(r->payload);
        struct media_sample_head h;

        print_message("%s\n", r->what);
        assert_int_equal(media_sample_head(&h, r->type, front), 0);
        assert_int_equal(h.offset, r->offset);
        assert_int_equal(h.cts, r->cts);
        assert_int_equal(h.key, r->key);
        assert_int_equal(h.track, r->track);
        assert_int_equal(
            h.codec,
            media_inspect(r->type, (const uint8_t *)front.ptr, front.len)
                .codec);
        drop(front);
    }
    for (size_t i = 0; i < COUNT(no_samples); i++) {
        struct str front = bytes_of(no_samples[i].payload);
        struct media_sample_head h;

        print_message("%s\n", no_samples[i].what);
        assert_int_equal(media_sample_head(&h, no_samples[i].type, front), -1);
        drop(front);
    }
}

static void
frames_of_sound_have_a_duration(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(durations); i++) {
        const struct duration_row *r = &durations[i];
        struct str header = bytes_of(r->header), body = bytes_of(r->body);
        struct media_track t;

        print_message("%s\n", r->what);
        assert_int_equal(media_track_of(&t, MEDIA_AUDIO, header), 0);
        assert_int_equal(media_sound_duration(&t, body), r->duration);
        drop(header);
        drop(body);
    }
}

static void
pictures_have_no_such_duration(void **state)
{
    struct media_track t = { .type = MEDIA_VIDEO, .codec = CODEC_H264 };

    (void)state;
    assert_int_equal(media_sound_duration(&t, STR("frame")), 0);
}

/* Exactly those whose header is a message of its own. */
static void
some_codecs_have_headers(void **state)
{
    static const enum media_codec with[] = {
        CODEC_H264, CODEC_HEVC, CODEC_AV1,  CODEC_VP9,
        CODEC_VVC,  CODEC_AAC,  CODEC_OPUS, CODEC_FLAC,
    };
    size_t count = 0;

    (void)state;
    for (size_t i = 0; i < COUNT(with); i++) {
        assert_true(media_codec_has_header(with[i]));
    }
    for (unsigned codec = CODEC_NONE; codec <= CODEC_OTHER; codec++) {
        count += media_codec_has_header((enum media_codec)codec) ? 1 : 0;
    }
    assert_int_equal(count, COUNT(with));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codec_headers_begin_tracks),
        cmocka_unit_test(others_begin_none),
        cmocka_unit_test(headers_may_be_cut),
        cmocka_unit_test(messages_hold_samples),
        cmocka_unit_test(frames_of_sound_have_a_duration),
        cmocka_unit_test(pictures_have_no_such_duration),
        cmocka_unit_test(some_codecs_have_headers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

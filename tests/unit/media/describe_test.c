/*
 * What codec headers say: headers that ffmpeg's encoders made, and all that
 * can be broken about them.
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

#include "media/describe.h"

/* Payloads as hexadecimal digits. */
static const struct video_row {
    const char *what, *payload;
    struct media_video right;
} videos[] = {
    { "cropped",
      "170000000001640028ffe1001967640028acd940780227e5c04400000fa4"
      "0003a9803c60c65801000668ebe3cb22c0fdf8f800",
      { CODEC_H264, "High", "4.0", 1920, 1080, 29970 } },
    { "baseline, odd size",
      "17000000000142c00dffe100186742c00dd901519e226c04400000030040"
      "00000c83c50a9201000568cb83cb20",
      { CODEC_H264, "Constrained Baseline", "1.3", 322, 182, 25000 } },
    { "interlaced",
      "1700000000014d401effe10018674d401eeca05a126c0440000003004000"
      "000c87c50a658001000568fba3cb20",
      { CODEC_H264, "Main", "3.0", 720, 576, 25000 } },
    { "4:4:4",
      "170000000001f4000bffe1001a67f4000b919b28e4f1b2e0220000030002"
      "00000300f01e28532c01000668ebe3c44844fff8f800",
      { CODEC_H264, "High 4:4:4", "1.1", 100, 60, 60000 } },
    { "4:2:2, 10 bit",
      "1700000000017a001fffe1001a677a001fb6cd940a02ff9f011000000300"
      "1000000640f183196001000668ebe3cb22c0fefafa00",
      { CODEC_H264, "High 4:2:2", "3.1", 640, 362, 50000 } },
    { "scaling lists",
      "17000000000164001effe1001a6764001eacd940a02ff970110000030001"
      "00000300320f162d9601000768ebe3cb3002c0fdf8f800",
      { CODEC_H264, "High", "3.0", 640, 360, 25000 } },
    { "HEVC",
      "906876633101016000000090000000000078f000fcfdf8f800000f042000"
      "01001840010c01ffff016000000300900000030000030078959809210001"
      "002a420101016000000300900000030000030078a003c08010e596566924"
      "caf0168080000003008000000c842200010007",
      { CODEC_HEVC, "Main", "4.0", 1920, 1080, 0 } },
    { "HEVC, 10 bit",
      "90687663310102200000009000000000003ff000fcfdfafa00000f042000"
      "01001840010c01ffff02200000030090000003000003003f959809210001"
      "002c42010102200000030090000003000003003fa005120171c92365959a"
      "4932bc05a020000003002000000303212200010007",
      { CODEC_HEVC, "Main 10", "2.1", 642, 362, 0 } },
    { "HEVC, two temporal layers",
      "90687663310104080000009d08000000003cf000fcfef8f8000013042000"
      "01001b40010c02ffff0408000003009d0800000300003c00009598acc048"
      "210001002e4201020408000003009d0800000300003c0000b00a080b9f2e"
      "59598acd24995e02d01000000300100000030190802200010007",
      { CODEC_HEVC, "Range Extensions", "2.0", 320, 180, 0 } },
    { "libaom",
      "906176303181000c000a0b000000043d06d4daf90040",
      { CODEC_AV1, "Main", "2.0", 322, 182, 0 } },
    { "SVT-AV1",
      "906176303181050c000a0b0000002d4cffb3c02f8004",
      { CODEC_AV1, "Main", "3.1", 1280, 720, 0 } },
    { "rav1e",
      "9061763031811f0c000a0e000000fa627fb38842a204040428",
      { CODEC_AV1, "Main", "", 640, 360, 0 } },
    { "VP9",
      "9076703039010000000015820202020000",
      { CODEC_VP9, "Profile 0", "2.1", 0, 0, 0 } },
};

/* Key frames as libvpx makes them, of 322 x 182; and what is none. */
static const struct frame_row {
    const char *what, *payload;
    uint32_t width, height;
} frames[] = {
    { "VP9",
      "91767030398249834200"
      "14100b5604",
      322, 182 },
    { "VP9, 4:4:4 of 10 bits", "9176703039b124c1a10000a0805ab0", 322, 182 },
    { "VP9, RGB", "9176703039a2498342e014100b5604", 322, 182 },
    { "VP9, cut",
      "91767030398249834200"
      "14100b",
      0, 0 },
    { "VP9, no sync",
      "91767030398249834300"
      "14100b5604",
      0, 0 },
    { "VP9, not a key frame",
      "91767030398649834200"
      "14100b5604",
      0, 0 },
    { "VP9, inter",
      "a1767030398249834200"
      "14100b5604",
      0, 0 },
    { "VP8", "9176703038f067009d012a4201b6000007", 322, 182 },
    { "VP8, not a key frame", "9176703038f167009d012a4201b6000007", 0, 0 },
    { "VP8, no start code", "9176703038f067009d012b4201b6000007", 0, 0 },
    { "VP8, cut", "9176703038f067009d012a4201b6", 0, 0 },
    { "H.264", "1701000000000000026588", 0, 0 },
};

static const struct audio_row {
    const char *what, *payload;
    struct media_audio right;
} audios[] = {
    { "AAC", "af00119056e500", { CODEC_AAC, "LC", 48000, 2 } },
    { "AAC mono", "af00120856e500", { CODEC_AAC, "LC", 44100, 1 } },
    { "AAC 5.1", "af0011b056e500", { CODEC_AAC, "LC", 48000, 6 } },
    { "AAC, two bytes", "af001210", { CODEC_AAC, "LC", 44100, 2 } },
    { "HE-AAC", "af002b920800", { CODEC_AAC, "HE-AAC", 44100, 2 } },
    { "HE-AACv2", "af00eb8a0800", { CODEC_AAC, "HE-AACv2", 44100, 2 } },
    { "AAC, rate told", "af0017801f400800", { CODEC_AAC, "LC", 16000, 1 } },
    { "MP3", "2ffffb90640000", { CODEC_MP3, "Layer III", 44100, 2 } },
    { "MP3 mono", "2afff340c4", { CODEC_MP3, "Layer III", 22050, 1 } },
    { "MP3, no frame", "2f000000", { CODEC_MP3, "", 44100, 2 } },
    { "MP3 of 8 kHz", "ee00", { CODEC_MP3, "", 8000, 1 } },
    { "extended MP3",
      "912e6d7033fffb90640000",
      { CODEC_MP3, "Layer III", 44100, 2 } },
    { "Opus",
      "904f7075734f707573486561640102380180bb0000000000",
      { CODEC_OPUS, "", 48000, 2 } },
    { "FLAC",
      "90664c6143664c614300000022120012000004a30005080ac442f0000022",
      { CODEC_FLAC, "", 44100, 2 } },
    { "A-law", "7200", { CODEC_G711A, "", 8000, 1 } },
    { "Speex", "b600", { CODEC_SPEEX, "", 16000, 1 } },
    { "PCM", "3b00", { CODEC_PCM, "", 22050, 2 } },
    { "AAC frame", "af01211004", { CODEC_AAC, "", 0, 0 } },
    { "nothing", "", { CODEC_NONE, "", 0, 0 } },
};

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

/* Exactly as large as the payload, so that reading past it is noticed. */
static uint8_t *
bytes_of(const char *hex, size_t *len)
{
    uint8_t *bytes;

    *len = strlen(hex) / 2;
    bytes = malloc(*len);
    for (size_t i = 0; i < *len; i++) {
        bytes[i] = (uint8_t)(str_hex_digit(hex[2 * i]) << 4 |
                             str_hex_digit(hex[2 * i + 1]));
    }
    return bytes;
}

static void
test_video(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(videos); i++) {
        const struct media_video *right = &videos[i].right;
        size_t len;
        uint8_t *bytes = bytes_of(videos[i].payload, &len);
        struct media_video v = media_describe_video(bytes, len);

        if (memcmp(&v, right, sizeof(v)) != 0) {
            fail_msg("%s: %u \"%s\" \"%s\" %ux%u %u", videos[i].what, v.codec,
                     v.profile, v.level, v.width, v.height, v.fps);
        }
        free(bytes);
    }
}

static void
test_audio(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(audios); i++) {
        const struct media_audio *right = &audios[i].right;
        size_t len;
        uint8_t *bytes = bytes_of(audios[i].payload, &len);
        struct media_audio a = media_describe_audio(bytes, len);

        if (memcmp(&a, right, sizeof(a)) != 0) {
            fail_msg("%s: %u \"%s\" %u %u", audios[i].what, a.codec, a.profile,
                     a.rate, a.channels);
        }
        free(bytes);
    }
}

static void
test_sizes_of_frames(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(frames); i++) {
        uint32_t width = 0, height = 0;
        size_t len;
        uint8_t *bytes = bytes_of(frames[i].payload, &len);
        bool said = media_frame_size(bytes, len, &width, &height);

        if (said != (frames[i].width > 0) ||
            (said &&
             (width != frames[i].width || height != frames[i].height))) {
            fail_msg("%s: %d %ux%u", frames[i].what, said, width, height);
        }
        free(bytes);
    }
}

static void
look(const uint8_t *bytes, size_t len)
{
    uint8_t *copy = malloc(len);
    struct media_video v;
    struct media_audio a;
    uint32_t width, height;

    memcpy(copy, bytes, len);
    v = media_describe_video(copy, len);
    a = media_describe_audio(copy, len);
    assert_true(v.width <= 65536 && v.height <= 65536);
    assert_true(v.fps <= 1000000);
    if (media_frame_size(copy, len, &width, &height)) {
        assert_in_range(width, 1, 65536);
        assert_in_range(height, 1, 65536);
    }
    assert_true(memchr(v.profile, 0, sizeof(v.profile)) != NULL);
    assert_true(memchr(v.level, 0, sizeof(v.level)) != NULL);
    assert_true(memchr(a.profile, 0, sizeof(a.profile)) != NULL);
    free(copy);
}

/* Cut anywhere, and with any one byte of some other value. */
static void
look_at_broken(const char *hex)
{
    size_t len;
    uint8_t *bytes = bytes_of(hex, &len);

    for (size_t n = 0; n < len; n++) {
        look(bytes, n);
    }
    for (size_t at = 0; at < len; at++) {
        static const uint8_t others[] = { 0, 1, 0x55, 0x7f, 0x80, 0xff };
        uint8_t before = bytes[at];

        for (size_t i = 0; i < sizeof(others); i++) {
            bytes[at] = others[i];
            look(bytes, len);
        }
        bytes[at] = before;
    }
    free(bytes);
}

static void
test_broken(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(videos); i++) {
        look_at_broken(videos[i].payload);
    }
    for (size_t i = 0; i < COUNT(audios); i++) {
        look_at_broken(audios[i].payload);
    }
    for (size_t i = 0; i < COUNT(frames); i++) {
        look_at_broken(frames[i].payload);
    }
}

/* Several tracks in one message: the lowest one's. */
static void
test_multitrack(void **state)
{
    static const char *const rows[] = {
        "96006176303100"
        "81000c000a0b000000043d06d4daf90040",
        "96106176303100000011"
        "81000c000a0b000000043d06d4daf9004001000001aa",
        "96206176303100000011"
        "81000c000a0b000000043d06d4daf900407670303901000002aaaa",
        "96207670303901000002aaaa6176303100000011"
        "81000c000a0b000000043d06d4daf90040",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        size_t len;
        uint8_t *bytes = bytes_of(rows[i], &len);
        struct media_video v = media_describe_video(bytes, len);

        assert_int_equal(v.codec, CODEC_AV1);
        assert_int_equal(v.width, 322);
        free(bytes);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_video),
        cmocka_unit_test(test_audio),
        cmocka_unit_test(test_sizes_of_frames),
        cmocka_unit_test(test_multitrack),
        cmocka_unit_test(test_broken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

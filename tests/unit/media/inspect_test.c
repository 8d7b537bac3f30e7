/*
 * What payloads are recognised as: one row for each kind.
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

#include "media/media.h"

struct row {
    const char *what;
    const char *bytes;
    size_t len;
    enum media_codec codec;
    unsigned flags;
    unsigned track;
};

#define ROW(what, bytes, codec, flags)                  \
    {                                                   \
        what, bytes, sizeof(bytes) - 1, codec, flags, 0 \
    }
#define TRACK_ROW(what, bytes, codec, flags, track)         \
    {                                                       \
        what, bytes, sizeof(bytes) - 1, codec, flags, track \
    }

static const struct row video_rows[] = {
    ROW("empty", "", CODEC_NONE, 0),
    ROW("AVC key", "\x17\x01\0\0\0", CODEC_H264, MEDIA_KEY),
    ROW("AVC inter", "\x27\x01\0\0\0", CODEC_H264, 0),
    ROW("AVC disposable", "\x37\x01\0\0\0", CODEC_H264, 0),
    ROW("AVC generated key", "\x47\x01\0\0\0", CODEC_H264, MEDIA_KEY),
    ROW("AVC header", "\x17\0\0\0\0\x01", CODEC_H264, MEDIA_HEADER),
    ROW("AVC header, cut", "\x17\0", CODEC_H264, MEDIA_HEADER),
    ROW("AVC end", "\x17\x02\0\0\0", CODEC_H264, MEDIA_END),
    ROW("AVC end, short", "\x17\x02", CODEC_H264, MEDIA_END),
    ROW("AVC one byte", "\x17", CODEC_H264, 0),
    ROW("AVC command frame", "\x57\x00", CODEC_H264, 0),
    ROW("id 12 header", "\x1c\0\0\0\0", CODEC_HEVC, MEDIA_HEADER),
    ROW("id 12 key", "\x1c\x01\0\0\0", CODEC_HEVC, MEDIA_KEY),
    ROW("H.263 key", "\x12\x00", CODEC_H263, MEDIA_KEY),
    ROW("H.263 inter", "\x22\x00", CODEC_H263, 0),
    ROW("Screen key", "\x13", CODEC_SCREEN, MEDIA_KEY),
    ROW("Screen 2 inter", "\x26", CODEC_SCREEN, 0),
    ROW("VP6 key", "\x14", CODEC_VP6, MEDIA_KEY),
    ROW("VP6 with alpha inter", "\x25", CODEC_VP6, 0),
    ROW("unknown id key", "\x1f", CODEC_OTHER, MEDIA_KEY),
    ROW("HEVC header", "\x90hvc1\x01", CODEC_HEVC, MEDIA_HEADER),
    ROW("HEVC key", "\x91hvc1\0\0\0", CODEC_HEVC, MEDIA_KEY),
    ROW("HEVC inter", "\xa1hvc1\0\0\0", CODEC_HEVC, 0),
    ROW("HEVC key without cts", "\x93hvc1", CODEC_HEVC, MEDIA_KEY),
    ROW("HEVC inter without cts", "\xa3hvc1", CODEC_HEVC, 0),
    ROW("HEVC end", "\x92hvc1", CODEC_HEVC, MEDIA_END),
    ROW("HEVC HDR metadata", "\xd4hvc1", CODEC_HEVC, MEDIA_TRACK_META),
    ROW("metadata marked key", "\x94hvc1", CODEC_HEVC, MEDIA_TRACK_META),
    ROW("metadata cut", "\xd4hvc", CODEC_OTHER, 0),
    ROW("AV1 header",
        "\x90"
        "av01",
        CODEC_AV1, MEDIA_HEADER),
    ROW("AV1 header as TS",
        "\x95"
        "av01",
        CODEC_AV1, MEDIA_HEADER),
    ROW("AV1 key",
        "\x91"
        "av01",
        CODEC_AV1, MEDIA_KEY),
    ROW("AVC by FourCC",
        "\x91"
        "avc1",
        CODEC_H264, MEDIA_KEY),
    ROW("VP8 key", "\x91vp08", CODEC_VP8, MEDIA_KEY),
    ROW("VP9 key", "\x91vp09", CODEC_VP9, MEDIA_KEY),
    ROW("VP9 inter", "\xa1vp09", CODEC_VP9, 0),
    ROW("VVC key", "\x91vvc1", CODEC_VVC, MEDIA_KEY),
    ROW("unknown FourCC", "\x91zzzz", CODEC_OTHER, MEDIA_KEY),
    ROW("FourCC cut", "\x91hvc", CODEC_OTHER, 0),
    ROW("command frame", "\xd1\x00", CODEC_OTHER, 0),
    ROW("ModEx then key", "\x97\x02\x01\x02\x03\x01hvc1", CODEC_HEVC,
        MEDIA_KEY),
    ROW("two ModEx", "\xa7\x00\x01\x07\x00\x01\x01hvc1", CODEC_HEVC, 0),
    ROW("ModEx long size",
        "\x97\xff\x00\x01\xaa\xbb\x03"
        "av01",
        CODEC_AV1, MEDIA_KEY),
    ROW("ModEx cut in size", "\x97\xff\x00", CODEC_OTHER, 0),
    ROW("ModEx cut in data", "\x97\x05\x01\x02", CODEC_OTHER, 0),
    ROW("ModEx alone", "\x97", CODEC_OTHER, 0),
    TRACK_ROW("one track key", "\x96\x01hvc1\x03\0\0\0", CODEC_HEVC,
              MEDIA_KEY | MEDIA_MULTITRACK, 3),
    TRACK_ROW("one track header",
              "\x96\x00"
              "avc1\x02",
              CODEC_H264, MEDIA_HEADER | MEDIA_MULTITRACK, 2),
    TRACK_ROW("one track metadata", "\xd6\x04hvc1\x02", CODEC_HEVC,
              MEDIA_TRACK_META | MEDIA_MULTITRACK, 2),
    TRACK_ROW("many tracks key",
              "\x96\x11"
              "avc1\x00\x00\x00\x01z\x01\x00\x00\x01z",
              CODEC_H264, MEDIA_KEY | MEDIA_MULTITRACK | MEDIA_MANY, 0),
    TRACK_ROW("many codecs inter",
              "\xa6\x21"
              "av01\x05\x00\x00\x01z",
              CODEC_AV1, MEDIA_MULTITRACK | MEDIA_MANY, 5),
    TRACK_ROW("multitrack cut", "\x96", CODEC_OTHER, 0, 0),
};

static const struct row audio_rows[] = {
    ROW("empty", "", CODEC_NONE, 0),
    ROW("AAC header", "\xaf\x00\x12\x10", CODEC_AAC, MEDIA_HEADER),
    ROW("AAC raw", "\xaf\x01\x21", CODEC_AAC, 0),
    ROW("AAC one byte", "\xaf", CODEC_AAC, 0),
    ROW("MP3", "\x2f\xff\xfb", CODEC_MP3, 0),
    ROW("MP3 8 kHz", "\xe2", CODEC_MP3, 0),
    ROW("PCM", "\x3e", CODEC_PCM, 0),
    ROW("ADPCM", "\x1e", CODEC_ADPCM, 0),
    ROW("Nellymoser", "\x5e", CODEC_NELLYMOSER, 0),
    ROW("A-law", "\x7e", CODEC_G711A, 0),
    ROW("mu-law", "\x8e", CODEC_G711U, 0),
    ROW("Speex", "\xb2\x00", CODEC_SPEEX, 0),
    ROW("reserved", "\xf2", CODEC_OTHER, 0),
    ROW("Opus header", "\x90OpusOpusHead", CODEC_OPUS, MEDIA_HEADER),
    ROW("Opus frame", "\x91Opus\xfc", CODEC_OPUS, 0),
    ROW("Opus end", "\x92Opus", CODEC_OPUS, MEDIA_END),
    ROW("Opus channels", "\x94Opus\x01\x02", CODEC_OPUS, MEDIA_TRACK_META),
    ROW("FLAC header",
        "\x90"
        "fLaC",
        CODEC_FLAC, MEDIA_HEADER),
    ROW("AC-3",
        "\x91"
        "ac-3",
        CODEC_AC3, 0),
    ROW("E-AC-3",
        "\x91"
        "ec-3",
        CODEC_EAC3, 0),
    ROW("MP3 by FourCC", "\x91.mp3", CODEC_MP3, 0),
    ROW("AAC by FourCC header", "\x90mp4a\x12\x10", CODEC_AAC, MEDIA_HEADER),
    ROW("ModEx then frame", "\x97\x00\x00\x01Opus", CODEC_OPUS, 0),
    TRACK_ROW("one track", "\x95\x01Opus\x01", CODEC_OPUS, MEDIA_MULTITRACK, 1),
    TRACK_ROW("one track channels", "\x95\x04Opus\x01\x01\x02", CODEC_OPUS,
              MEDIA_TRACK_META | MEDIA_MULTITRACK, 1),
    TRACK_ROW("one track header", "\x95\x00mp4a\x02\x12\x10", CODEC_AAC,
              MEDIA_HEADER | MEDIA_MULTITRACK, 2),
    ROW("cut", "\x91Opu", CODEC_OTHER, 0),
};

static void
check(enum media_type type, const struct row *row)
{
    /* An exact copy, so that the sanitizer sees a byte too far. */
    uint8_t copy[64];
    memcpy(copy + sizeof(copy) - row->len, row->bytes, row->len);
    struct media_info got =
        media_inspect(type, copy + sizeof(copy) - row->len, row->len);
    if (got.codec != row->codec || got.flags != row->flags ||
        got.track != row->track) {
        fail_msg("%s: codec %s, flags %u, track %u", row->what,
                 media_codec_name(got.codec), got.flags, got.track);
    }
}

static void
video(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(video_rows) / sizeof(video_rows[0]); i++) {
        check(MEDIA_VIDEO, &video_rows[i]);
    }
}

static void
audio(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(audio_rows) / sizeof(audio_rows[0]); i++) {
        check(MEDIA_AUDIO, &audio_rows[i]);
    }
}

#define WRAPPER "\x02\x00\x0d@setDataFrame"
#define META "\x02\x00\x0aonMetaData"

static void
metadata(void **state)
{
    (void)state;
    static const struct row rows[] = {
        ROW("bare", META "\x08", CODEC_NONE, MEDIA_META),
        ROW("wrapped", WRAPPER META "\x08", CODEC_NONE, MEDIA_META),
        ROW("name alone", META, CODEC_NONE, MEDIA_META),
        ROW("cut name", "\x02\x00\x0aonMetaDat", CODEC_NONE, 0),
        ROW("longer name", "\x02\x00\x0bonMetaDataX", CODEC_NONE, 0),
        ROW("other", "\x02\x00\x0aonTextData", CODEC_NONE, 0),
        ROW("empty", "", CODEC_NONE, 0),
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        check(MEDIA_DATA, &rows[i]);
    }
}

static void
wrapper_is_cut_off(void **state)
{
    (void)state;
    struct str in = STR(WRAPPER META);
    struct str out = media_data_content(in);
    assert_int_equal(out.len, sizeof(META) - 1);
    assert_memory_equal(out.ptr, META, out.len);
    in = STR(META);
    assert_int_equal(media_data_content(in).len, in.len);
    in = STR(WRAPPER);
    assert_int_equal(media_data_content(in).len, 0);
    assert_int_equal(media_data_content(STR_NONE).len, 0);
}

static void
every_codec_has_a_name(void **state)
{
    (void)state;
    for (int c = CODEC_NONE; c <= CODEC_OTHER; c++) {
        assert_non_null(media_codec_name((enum media_codec)c));
    }
    assert_string_equal(media_codec_name(CODEC_H264), "H.264");
    assert_string_equal(media_codec_name(CODEC_AAC), "AAC");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(video),
        cmocka_unit_test(audio),
        cmocka_unit_test(metadata),
        cmocka_unit_test(wrapper_is_cut_off),
        cmocka_unit_test(every_codec_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

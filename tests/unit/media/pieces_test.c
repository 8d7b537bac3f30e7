/*
 * Several tracks in one message.
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

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "media/pieces.h"
#include "media/track.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Of each piece "track:codec:at:len:cts ". */
static const struct row {
    const char *what;
    enum media_type type;
    const char *message;
    const char *pieces;
    uint8_t codec, track; /* media_inspect(); CODEC_NONE: not whole */
    const char *body;     /* media_body() */
} rows[] = {
    { "one codec", MEDIA_AUDIO,
      "9511"
      "6d703461"
      "00000002aabb"
      "01000001cc",
      "0:AAC:10:2:0 1:AAC:16:1:0 ", CODEC_AAC, 0, "aabb" },
    { "headers", MEDIA_AUDIO,
      "9510"
      "6d703461"
      "000000021190"
      "010000021210",
      "0:AAC:10:2:0 1:AAC:16:2:0 ", CODEC_AAC, 0, "1190" },
    { "the highest first", MEDIA_AUDIO,
      "9511"
      "4f707573"
      "07000001aa"
      "03000001bb"
      "05000001cc",
      "7:Opus:10:1:0 3:Opus:15:1:0 5:Opus:20:1:0 ", CODEC_OPUS, 3, "bb" },
    { "codecs", MEDIA_AUDIO,
      "9521"
      "4f707573"
      "02000001aa"
      "664c6143"
      "01000002bbcc",
      "2:Opus:10:1:0 1:FLAC:19:2:0 ", CODEC_FLAC, 1, "bbcc" },
    { "a codec that is not known", MEDIA_AUDIO,
      "9521"
      "7a7a7a7a"
      "01000001aa"
      "4f707573"
      "02000001bb",
      "1:other:10:1:0 2:Opus:19:1:0 ", CODEC_OTHER, 1, "aa" },
    { "one alone", MEDIA_AUDIO,
      "9511"
      "4f707573"
      "09000001aa",
      "9:Opus:10:1:0 ", CODEC_OPUS, 9, "aa" },
    { "the lowest is empty", MEDIA_AUDIO,
      "9511"
      "4f707573"
      "00000000"
      "04000001bb",
      "0:Opus:10:0:0 4:Opus:14:1:0 ", CODEC_OPUS, 4, "bb" },
    { "all are empty", MEDIA_AUDIO,
      "9512"
      "4f707573"
      "01000000"
      "00000000",
      "1:Opus:10:0:0 0:Opus:14:0:0 ", CODEC_OPUS, 0, "" },
    { "behind ModEx", MEDIA_AUDIO,
      "970200000005"
      "114f707573"
      "01000001aa",
      "1:Opus:15:1:0 ", CODEC_OPUS, 1, "aa" },
    { "pictures with times", MEDIA_VIDEO,
      "9611"
      "68766331"
      "00000005000028aabb"
      "01000004ffffffcc",
      "0:HEVC:13:2:40 1:HEVC:22:1:-1 ", CODEC_HEVC, 0, "aabb" },
    { "pictures without", MEDIA_VIDEO,
      "9613"
      "68766331"
      "00000002aabb"
      "01000001cc",
      "0:HEVC:10:2:0 1:HEVC:16:1:0 ", CODEC_HEVC, 0, "aabb" },
    { "times of one codec alone", MEDIA_VIDEO,
      "a621"
      "61763031"
      "00000002aabb"
      "61766331"
      "01000004000001cc",
      "0:AV1:10:2:0 1:H.264:23:1:1 ", CODEC_AV1, 0, "aabb" },
    { "a cut time is no picture", MEDIA_VIDEO,
      "9611"
      "68766331"
      "000000020000"
      "01000004000000cc",
      "0:HEVC:10:0:0 1:HEVC:19:1:0 ", CODEC_HEVC, 1, "cc" },
    { "no track", MEDIA_AUDIO,
      "9511"
      "4f707573",
      "", CODEC_NONE, 0, "" },
    { "a size beyond the end", MEDIA_AUDIO,
      "9511"
      "4f707573"
      "00000001aa"
      "01000002bb",
      "", CODEC_NONE, 0, "" },
    { "the largest size", MEDIA_AUDIO,
      "9511"
      "4f707573"
      "00ffffffaa",
      "", CODEC_NONE, 0, "" },
    { "a size that is cut", MEDIA_AUDIO,
      "9511"
      "4f707573"
      "00000001aa"
      "0100",
      "", CODEC_NONE, 0, "" },
    { "bytes of no track", MEDIA_AUDIO,
      "9511"
      "4f707573"
      "00000001aabb",
      "", CODEC_NONE, 0, "" },
    { "a track twice", MEDIA_AUDIO,
      "9511"
      "4f707573"
      "03000001aa"
      "00000001bb"
      "03000001cc",
      "", CODEC_NONE, 0, "" },
    { "a codec that is cut", MEDIA_AUDIO,
      "9521"
      "4f707573"
      "00000001aa"
      "4f7075",
      "", CODEC_NONE, 0, "" },
};

/* Exactly as large as the message, so that reading past it is noticed. */
static struct str
bytes_of(const char *hex)
{
    size_t len = strlen(hex) / 2;
    uint8_t *bytes = malloc(len + (len == 0));

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
describe(char text[256], const struct media_pieces *p)
{
    size_t at = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < p->count; i++) {
        const struct media_piece *piece = &p->all[i];

        at += (size_t)snprintf(text + at, 256 - at, "%u:%s:%u:%u:%d ",
                               piece->track,
                               media_codec_name((enum media_codec)piece->codec),
                               piece->at, piece->len, piece->cts);
    }
}

static void
pieces_lie_in_their_message(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct row *r = &rows[i];
        struct str message = bytes_of(r->message), body = bytes_of(r->body);
        struct media_source source = media_source_of(&message);
        const uint8_t *bytes = (const uint8_t *)message.ptr;
        struct media_info info = media_inspect(r->type, bytes, message.len);
        bool whole = r->codec != CODEC_NONE;
        struct media_pieces p;
        char text[256];

        print_message("%s\n", r->what);
        assert_int_equal(media_pieces(&p, r->type, &source), whole ? 0 : -1);
        if (whole) {
            describe(text, &p);
            assert_string_equal(text, r->pieces);
        }
        assert_int_equal(info.codec, r->codec);
        assert_int_equal(info.track, r->track);
        assert_true(str_eq(media_body(r->type, bytes, message.len), body));
        drop(message);
        drop(body);
    }
}

/* Each piece as a message of its own says what it says among the others. */
static void
pieces_can_stand_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows) && rows[i].codec != CODEC_NONE; i++) {
        const struct row *r = &rows[i];
        struct str message = bytes_of(r->message);
        struct media_source source = media_source_of(&message);
        struct media_pieces p;

        print_message("%s\n", r->what);
        assert_int_equal(media_pieces(&p, r->type, &source), 0);
        for (uint32_t k = 0; k < p.count; k++) {
            const struct media_piece *piece = &p.all[k];
            uint8_t alone[64];
            size_t head = media_piece_head(alone, &p, piece);
            struct media_info info;
            struct media_sample_head h;

            memcpy(alone + head, message.ptr + piece->at, piece->len);
            info = media_inspect(r->type, alone, head + piece->len);
            assert_int_equal(info.track, piece->track);
            assert_int_equal(info.codec, piece->codec);
            assert_int_equal(info.flags, p.flags & ~MEDIA_MANY);
            if (p.coded && piece->len > 0) {
                assert_int_equal(
                    media_sample_head(&h, r->type,
                                      str_of(alone, head + piece->len)),
                    0);
                assert_int_equal(h.offset, head);
                assert_int_equal(h.cts, piece->cts);
                assert_int_equal(h.key, p.key);
            }
        }
        drop(message);
    }
}

/* As many tracks as there are ids; one more comes twice. */
static void
all_tracks(void **state)
{
    static uint8_t bytes[6 + 257 * 4];
    struct media_pieces p;
    struct str message;
    struct media_source source;

    (void)state;
    memcpy(bytes,
           "\x95\x11"
           "Opus",
           6);
    for (unsigned i = 0; i < 257; i++) {
        bytes[6 + 4 * i] = (uint8_t)(255 - i % 256);
    }
    message = str_of(bytes, sizeof(bytes) - 4);
    source = media_source_of(&message);
    assert_int_equal(media_pieces(&p, MEDIA_AUDIO, &source), 0);
    assert_int_equal(p.count, MEDIA_PIECES_MAX);
    assert_int_equal(media_pieces_lowest(&p)->track, 0);
    message = str_of(bytes, sizeof(bytes));
    source = media_source_of(&message);
    assert_int_equal(media_pieces(&p, MEDIA_AUDIO, &source), -1);
}

static bool
read_nothing(const void *of, uint32_t at, uint8_t *to, uint32_t len)
{
    (void)of;
    (void)at;
    (void)to;
    (void)len;
    return false;
}

/* Bytes that are gone, and messages of one track. */
static void
nothing_of_others(void **state)
{
    static const char *const others[] = {
        "", "95", "9521", "95014f7075730100", "914f707573f8", "af0121"
    };
    struct media_source gone = { 20, read_nothing, NULL };
    struct media_pieces p;

    (void)state;
    assert_int_equal(media_pieces(&p, MEDIA_AUDIO, &gone), -1);
    for (size_t i = 0; i < COUNT(others); i++) {
        struct str message = bytes_of(others[i]);
        struct media_source source = media_source_of(&message);

        assert_int_equal(media_pieces(&p, MEDIA_AUDIO, &source), -1);
        assert_int_equal(media_pieces(&p, MEDIA_DATA, &source), -1);
        drop(message);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_lie_in_their_message),
        cmocka_unit_test(pieces_can_stand_alone),
        cmocka_unit_test(all_tracks),
        cmocka_unit_test(nothing_of_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

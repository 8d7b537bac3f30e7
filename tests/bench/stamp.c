/*
 * Writing and reading stamps, the pattern, and Adler-32.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "stamp.h"

#include "common.h"

#include <string.h>

enum { FLAG_KEY = 1, FLAG_PATTERN = 2, FLAG_VIDEO = 4 };

static const uint8_t MAGIC[4] = { 0xd7, 0xe9, 0xf2, 0xac };

/* ISO/IEC 14496-10 7.3.2.3: type 5 is user data that begins with a UUID. */
static const uint8_t SEI_HEAD[3] = { 0x06, 0x05, 16 + STAMP_SIZE };
static const uint8_t SEI_UUID[16] = { 0x9a, 0x5c, 0xb1, 0x77, 0x2e, 0xd3,
                                      0x4f, 0x86, 0xa1, 0xc9, 0x3b, 0x58,
                                      0xe4, 0x0d, 0x92, 0x6f };
enum { SEI_SIZE = 3 + 16 + STAMP_SIZE + 1, SEI_END = 0x80 };

/* ISO/IEC 14496-3 4.4.2.7: element 4, tag 0, aligned; then its length. */
static const uint8_t DSE_HEAD[2] = { 0x81, STAMP_SIZE };

enum { NAL_PICTURE = 0x41, NAL_KEY_PICTURE = 0x65 };

enum {
    VIDEO_STAMP_AT = 5 + 4 + 3 + 16,
    AUDIO_STAMP_AT = 2 + 2,
};

/* A number as count groups of seven bits, each with the high bit set. */
static uint8_t *
put_groups(uint8_t *p, uint64_t v, int count)
{
    for (int i = count - 1; i >= 0; i--) {
        *p++ = (uint8_t)(0x80 | (v >> (7 * i) & 0x7f));
    }
    return p;
}

static const uint8_t *
get_groups(const uint8_t *p, uint64_t *v, int count)
{
    *v = 0;
    for (int i = 0; i < count; i++) {
        *v = *v << 7 | (*p++ & 0x7f);
    }
    return p;
}

/* The last byte of a stamp, so that a torn one is not taken for a stamp. */
static uint8_t
check_byte(const uint8_t *stamp)
{
    unsigned sum = 0;

    for (int i = 0; i < STAMP_SIZE - 1; i++) {
        sum = sum * 31 + stamp[i];
    }
    return (uint8_t)(0x80 | (sum & 0x7f));
}

static uint8_t *
put_stamp(uint8_t *at, const struct stamp *s)
{
    unsigned flags = (s->key ? FLAG_KEY : 0) | (s->pattern ? FLAG_PATTERN : 0) |
                     (s->kind == MEDIA_VIDEO ? FLAG_VIDEO : 0);
    uint8_t *p = put_bytes(at, MAGIC, sizeof(MAGIC));

    p = put_groups(p, flags, 1);
    p = put_groups(p, s->stream, 3);
    p = put_groups(p, s->number, 5);
    p = put_groups(p, (uint64_t)s->sent, 9);
    p = put_groups(p, s->size, 4);
    p = put_groups(p, s->sum, 5);
    *p = check_byte(at);
    return at + STAMP_SIZE;
}

static uint8_t *
put_video(uint8_t *p, const struct stamp *s, const uint8_t *first5)
{
    if (s->pattern) {
        p = put_bytes(p, s->key ? "\x17\x01\0\0" : "\x27\x01\0\0", 5);
    } else {
        p = put_bytes(p, first5, 5);
    }
    p = put_be32(p, SEI_SIZE);
    p = put_bytes(p, SEI_HEAD, sizeof(SEI_HEAD));
    p = put_bytes(p, SEI_UUID, sizeof(SEI_UUID));
    p = put_stamp(p, s);
    *p++ = SEI_END;
    if (s->pattern) {
        p = put_be32(p, s->size - VIDEO_STAMPED - 4);
        *p++ = s->key ? NAL_KEY_PICTURE : NAL_PICTURE;
    }
    return p;
}

uint8_t *
stamp_put(uint8_t *p, const struct stamp *s, const uint8_t *first5)
{
    if (s->kind == MEDIA_VIDEO) {
        return put_video(p, s, first5);
    }
    p = put_bytes(p, "\xaf\x01", 2);
    p = put_bytes(p, DSE_HEAD, sizeof(DSE_HEAD));
    return put_stamp(p, s);
}

static bool
read_stamp(const uint8_t *at, struct stamp *s)
{
    uint64_t flags, stream, number, sent, size, sum;

    if (memcmp(at, MAGIC, sizeof(MAGIC)) != 0 ||
        at[STAMP_SIZE - 1] != check_byte(at)) {
        return false;
    }
    const uint8_t *p = get_groups(at + sizeof(MAGIC), &flags, 1);

    p = get_groups(p, &stream, 3);
    p = get_groups(p, &number, 5);
    p = get_groups(p, &sent, 9);
    p = get_groups(p, &size, 4);
    get_groups(p, &sum, 5);
    *s = (struct stamp){
        .kind = (flags & FLAG_VIDEO) != 0 ? MEDIA_VIDEO : MEDIA_AUDIO,
        .key = (flags & FLAG_KEY) != 0,
        .pattern = (flags & FLAG_PATTERN) != 0,
        .stream = (uint32_t)stream,
        .number = (uint32_t)number,
        .sent = (int64_t)sent,
        .size = (uint32_t)size,
        .sum = (uint32_t)sum,
    };
    return true;
}

bool
stamp_get(const uint8_t *prefix, enum media_kind kind, struct stamp *s)
{
    return read_stamp(
               prefix + (kind == MEDIA_VIDEO ? VIDEO_STAMP_AT : AUDIO_STAMP_AT),
               s) &&
           s->kind == kind;
}

const uint8_t *
stamp_find(const uint8_t *p, size_t n, struct stamp *s)
{
    const uint8_t *end = p + n;

    while ((p = memmem(p, (size_t)(end - p), MAGIC, sizeof(MAGIC))) != NULL &&
           end - p >= STAMP_SIZE) {
        if (read_stamp(p, s)) {
            return p + STAMP_SIZE;
        }
        p++;
    }
    return NULL;
}

const uint8_t *
pattern_bytes(void)
{
    static uint8_t pattern[2 * PATTERN_SIZE];
    uint32_t x = 0x2545f491;

    if (pattern[0] != 0) {
        return pattern;
    }
    for (size_t i = 0; i < PATTERN_SIZE; i++) {
        x = x * 1664525 + 1013904223;
        pattern[i] = (uint8_t)(0x80 | x >> 25);
    }
    memcpy(pattern + PATTERN_SIZE, pattern, PATTERN_SIZE);
    return pattern;
}

size_t
pattern_start(const struct stamp *s)
{
    uint32_t mixed =
        s->number * 7919 + s->stream * 104729 + (uint32_t)s->kind * 31;

    return mixed % PATTERN_SIZE;
}

uint32_t
adler_add(uint32_t sum, const uint8_t *p, size_t n)
{
    uint32_t a = sum & 0xffff;
    uint32_t b = sum >> 16;

    while (n > 0) {
        size_t part = n < 5552 ? n : 5552; /* as far as b cannot overflow */

        for (size_t i = 0; i < part; i++) {
            a += p[i];
            b += a;
        }
        a %= 65521;
        b %= 65521;
        p += part;
        n -= part;
    }
    return b << 16 | a;
}

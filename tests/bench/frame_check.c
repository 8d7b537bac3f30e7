/*
 * Checks media messages piece by piece.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "frame_check.h"

#include <string.h>

static uint32_t
prefix_size(const struct frame_check *f)
{
    return f->kind == MEDIA_VIDEO ? VIDEO_PREFIX : AUDIO_PREFIX;
}

void
frame_begin(struct frame_check *f, enum media_kind kind, uint32_t size)
{
    f->kind = kind;
    f->size = size;
    f->got = 0;
    f->stamped = false;
    f->bad = false;
    f->sum = 1;
}

/* The prefix is complete: its stamp says what the rest must be, and also what
 * the prefix itself must be, byte for byte. */
static void
read_stamp(struct frame_check *f)
{
    uint8_t expected[VIDEO_PREFIX];

    f->stamped = stamp_get(f->prefix, f->kind, &f->stamp);
    if (!f->stamped) {
        return;
    }
    f->place = pattern_start(&f->stamp);
    size_t n = (size_t)(stamp_put(expected, &f->stamp, f->prefix) - expected);

    f->bad = f->stamp.size != f->size || memcmp(expected, f->prefix, n) != 0;
    f->sum = adler_add(1, f->prefix + n, prefix_size(f) - n);
}

static size_t
add_prefix(struct frame_check *f, const uint8_t *p, size_t n)
{
    uint32_t wanted = prefix_size(f);

    if (f->got >= wanted) {
        return 0;
    }
    if (n > wanted - f->got) {
        n = wanted - f->got;
    }
    memcpy(f->prefix + f->got, p, n);
    f->got += (uint32_t)n;
    if (f->got == wanted) {
        read_stamp(f);
    }
    return n;
}

static void
add_pattern(struct frame_check *f, const uint8_t *p, size_t n)
{
    const uint8_t *pattern = pattern_bytes();

    while (n > 0) {
        size_t part = n < PATTERN_SIZE ? n : PATTERN_SIZE;

        f->bad |= memcmp(p, pattern + f->place, part) != 0;
        f->place = (f->place + part) % PATTERN_SIZE;
        p += part;
        n -= part;
    }
}

void
frame_add(struct frame_check *f, const uint8_t *p, size_t n)
{
    size_t used = add_prefix(f, p, n);

    p += used;
    n -= used;
    f->got += (uint32_t)n;
    if (n == 0 || !f->stamped) {
        return;
    }
    if (f->stamp.pattern) {
        add_pattern(f, p, n);
    } else {
        f->sum = adler_add(f->sum, p, n);
    }
}

enum frame_verdict
frame_end(const struct frame_check *f)
{
    if (f->got < f->size) {
        return FRAME_CORRUPT;
    }
    if (f->size == 0 || (f->size >= 2 && f->prefix[1] == 0)) {
        return FRAME_HEADER;
    }
    if (!f->stamped) {
        return FRAME_FOREIGN;
    }
    if (f->bad || (!f->stamp.pattern && f->sum != f->stamp.sum)) {
        return FRAME_CORRUPT;
    }
    return FRAME_GOOD;
}

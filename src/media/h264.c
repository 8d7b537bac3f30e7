/*
 * H.264: the configuration record and its first sequence parameter set
 * (ITU-T H.264, 7.3.2.1.1 and E.1.1).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>

#include "base/bytes.h"
#include "media/bits.h"
#include "media/colours_impl.h"
#include "media/describe.h"

#define SPS_MAX 1024 /* bytes of a set that are looked at */
#define RECORD_HEAD 8

enum { BASELINE = 66, MAIN = 77, EXTENDED = 88, HIGH = 100 };

static const char *
profile_name(unsigned profile, unsigned constraints)
{
    switch (profile) {
    case BASELINE:
        return (constraints & 0x40) != 0 ? "Constrained Baseline" : "Baseline";
    case MAIN:
        return "Main";
    case EXTENDED:
        return "Extended";
    case HIGH:
        return "High";
    case 110:
        return "High 10";
    case 122:
        return "High 4:2:2";
    case 244:
        return "High 4:4:4";
    case 44:
        return "CAVLC 4:4:4";
    default:
        return "";
    }
}

static void
put_level(struct media_video *v, unsigned profile, unsigned constraints,
          unsigned level)
{
    if (level == 9 ||
        (level == 11 && profile <= EXTENDED && (constraints & 0x10) != 0)) {
        snprintf(v->level, sizeof(v->level), "1b");
    } else if (level > 0) {
        snprintf(v->level, sizeof(v->level), "%u.%u", level / 10, level % 10);
    }
}

/* ---- the parameter set ---- */

static bool
has_chroma_format(unsigned profile)
{
    static const uint8_t profiles[] = { 100, 110, 122, 244, 44,  83, 86,
                                        118, 128, 138, 139, 134, 135 };

    for (size_t i = 0; i < sizeof(profiles); i++) {
        if (profile == profiles[i]) {
            return true;
        }
    }
    return false;
}

/* The value of se(v) from that of ue(v). */
static int64_t
read_se(struct bits *b)
{
    uint32_t code = bits_ue(b);

    return code % 2 != 0 ? (int64_t)code / 2 + 1 : -((int64_t)code / 2);
}

static void
skip_scaling_list(struct bits *b, int size)
{
    int64_t last = 8, next = 8;

    for (int i = 0; i < size && !b->over; i++) {
        if (next != 0) {
            next = (last + read_se(b) + 256) % 256;
        }
        last = next == 0 ? last : next;
    }
}

/* chroma_format_idc; 4: planes of their own. */
static unsigned
read_chroma(struct bits *b)
{
    unsigned chroma = bits_ue(b);
    bool separate = chroma == 3 && bits_get(b, 1) != 0;

    bits_ue(b); /* bit depths */
    bits_ue(b);
    bits_skip(b, 1);
    if (bits_get(b, 1) != 0) {
        for (int i = 0; i < (chroma == 3 ? 12 : 8); i++) {
            if (bits_get(b, 1) != 0) {
                skip_scaling_list(b, i < 6 ? 16 : 64);
            }
        }
    }
    return separate ? 4 : chroma;
}

static void
skip_order_count(struct bits *b)
{
    unsigned type = bits_ue(b);

    if (type == 0) {
        bits_ue(b);
    } else if (type == 1) {
        bits_skip(b, 1);
        bits_ue(b);
        bits_ue(b);
        for (uint32_t n = bits_ue(b); n > 0 && !b->over; n--) {
            bits_ue(b);
        }
    }
}

/* Width and height as shown, from macroblocks and cropping. */
static void
read_size(struct media_video *v, struct bits *b, unsigned chroma)
{
    uint64_t width = ((uint64_t)bits_ue(b) + 1) * 16;
    uint64_t map = (uint64_t)bits_ue(b) + 1;
    unsigned frames_only = bits_get(b, 1);
    uint64_t height = map * 16 * (2 - frames_only);
    uint64_t unit_x = chroma == 1 || chroma == 2 ? 2 : 1;
    uint64_t unit_y = (chroma == 1 ? 2u : 1u) * (2 - frames_only);

    bits_skip(b, frames_only != 0 ? 1 : 2);
    describe_size(v, b, width, height, unit_x, unit_y);
}

static void
read_vui(struct media_video *v, struct media_colours *c, struct bits *b)
{
    if (bits_get(b, 1) != 0 && bits_get(b, 8) == 255) { /* aspect ratio */
        bits_skip(b, 32);
    }
    if (bits_get(b, 1) != 0) { /* overscan */
        bits_skip(b, 1);
    }
    if (bits_get(b, 1) != 0) { /* video signal type */
        bits_skip(b, 3);
        c->full_range = bits_get(b, 1) != 0;
        if (bits_get(b, 1) != 0) {
            colours_read(c, b);
        }
    }
    if (bits_get(b, 1) != 0) { /* chroma location */
        bits_ue(b);
        bits_ue(b);
    }
    if (bits_get(b, 1) != 0) { /* timing: a frame has two ticks */
        uint32_t ticks = bits_get(b, 32);
        uint32_t scale = bits_get(b, 32);

        v->fps = b->over ? 0 : describe_fps(scale, (uint64_t)ticks * 2);
    }
}

static void
read_sps(struct media_video *v, struct media_colours *c, struct str nal)
{
    uint8_t bytes[SPS_MAX];
    size_t n = bits_unescape(bytes, sizeof(bytes), nal);
    struct bits b = bits_of(str_of(bytes, n));
    unsigned profile, chroma = 1;

    bits_skip(&b, 8);
    profile = bits_get(&b, 8);
    bits_skip(&b, 16);
    bits_ue(&b);
    if (has_chroma_format(profile)) {
        chroma = read_chroma(&b);
    }
    bits_ue(&b);
    skip_order_count(&b);
    bits_ue(&b);
    bits_skip(&b, 1);
    read_size(v, &b, chroma == 4 ? 0 : chroma);
    if (bits_get(&b, 1) != 0) {
        read_vui(v, c, &b);
    }
}

static void
read_first_sps(struct media_video *v, struct media_colours *c,
               struct str config)
{
    const uint8_t *p = (const uint8_t *)config.ptr;

    if (config.len >= RECORD_HEAD && p[0] == 1 && (p[5] & 0x1f) > 0) {
        read_sps(v, c,
                 str_first(str_skip(config, RECORD_HEAD), get_be16(p + 6)));
    }
}

void
describe_h264(struct media_video *v, struct str config)
{
    const uint8_t *p = (const uint8_t *)config.ptr;
    struct media_colours unused = { .known = false };

    if (config.len < RECORD_HEAD || p[0] != 1) {
        return;
    }
    snprintf(v->profile, sizeof(v->profile), "%s", profile_name(p[1], p[2]));
    put_level(v, p[1], p[2], p[3]);
    read_first_sps(v, &unused, config);
}

struct media_colours
h264_colours(struct str config)
{
    struct media_video unused = { .codec = CODEC_H264 };
    struct media_colours c = { .known = false };

    read_first_sps(&unused, &c, config);
    return c;
}

/*
 * HEVC: the configuration record and its first sequence parameter set (ITU-T
 * H.265, 7.3.2.2.1 and 7.3.3).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>

#include "base/bytes.h"
#include "media/bits.h"
#include "media/colours_impl.h"
#include "media/describe.h"

#define SPS_MAX 512 /* bytes of a set that are looked at */
#define RECORD_HEAD 23
#define NAL_SPS 33
#define SETS_MOST 64     /* of reference pictures */
#define PICTURES_MOST 16 /* of a set, before and after */

static const char *
profile_name(unsigned profile)
{
    switch (profile) {
    case 1:
        return "Main";
    case 2:
        return "Main 10";
    case 3:
        return "Main Still Picture";
    case 4:
        return "Range Extensions";
    default:
        return "";
    }
}

/* The first set in the record's arrays; empty: there is none. */
static struct str
find_sps(struct str config)
{
    struct str rest = str_skip(config, RECORD_HEAD);
    unsigned arrays = (uint8_t)config.ptr[RECORD_HEAD - 1];

    while (arrays-- > 0 && rest.len >= 3) {
        const uint8_t *p = (const uint8_t *)rest.ptr;
        unsigned type = p[0] & 0x3f;
        uint32_t count = get_be16(p + 1);

        rest = str_skip(rest, 3);
        while (count-- > 0 && rest.len >= 2) {
            uint32_t len = get_be16((const uint8_t *)rest.ptr);

            rest = str_skip(rest, 2);
            if (type == NAL_SPS) {
                return str_first(rest, len);
            }
            rest = str_skip(rest, len);
        }
    }
    return STR_NONE;
}

/* profile_tier_level() of that many sub-layers. */
static void
skip_profile(struct bits *b, unsigned layers)
{
    unsigned present = 0;

    bits_skip(b, 96);
    if (layers > 0) {
        present = bits_get(b, 16); /* two bits each, for eight of them */
    }
    for (unsigned i = 0; i < layers; i++) {
        bits_skip(b, (present >> (15 - 2 * i) & 1) != 0 ? 88 : 0);
        bits_skip(b, (present >> (14 - 2 * i) & 1) != 0 ? 8 : 0);
    }
}

static void
read_size(struct media_video *v, struct bits *b, unsigned chroma)
{
    uint64_t width = bits_ue(b);
    uint64_t height = bits_ue(b);
    uint64_t unit_x = chroma == 1 || chroma == 2 ? 2 : 1;
    uint64_t unit_y = chroma == 1 ? 2 : 1;

    describe_size(v, b, width, height, unit_x, unit_y);
}

/* Up to the size; returns the number of sub-layers less one. */
static unsigned
read_front(struct media_video *v, struct bits *b)
{
    unsigned layers, chroma;

    bits_skip(b, 16 + 4);
    layers = bits_get(b, 3);
    bits_skip(b, 1);
    skip_profile(b, layers);
    bits_ue(b);
    chroma = bits_ue(b);
    if (chroma == 3 && bits_get(b, 1) != 0) {
        chroma = 0;
    }
    read_size(v, b, chroma);
    return layers;
}

/* ---- what stands before the colours ---- */

static void
skip_codes(struct bits *b, unsigned n)
{
    while (n-- > 0) {
        bits_ue(b);
    }
}

/* scaling_list_data() */
static void
skip_scaling_lists(struct bits *b)
{
    static const uint8_t codes[] = { 16, 64, 65, 65 };

    for (unsigned size = 0; size < 4; size++) {
        for (unsigned i = 0; i < 6; i += size == 3 ? 3 : 1) {
            skip_codes(b, bits_get(b, 1) != 0 ? codes[size] : 1);
        }
    }
}

/* st_ref_pic_set(); before: pictures of the set before it, of which a later
 * set may be told by differences.  Returns its own. */
static unsigned
skip_picture_set(struct bits *b, bool first, unsigned before)
{
    unsigned pictures = 0;

    if (!first && bits_get(b, 1) != 0) {
        bits_skip(b, 1);
        bits_ue(b);
        for (unsigned i = 0; i <= before; i++) {
            pictures += bits_get(b, 1) != 0 || bits_get(b, 1) != 0 ? 1 : 0;
        }
    } else {
        uint64_t count = (uint64_t)bits_ue(b) + bits_ue(b);

        if (count > 2 * PICTURES_MOST) {
            b->over = true;
            return 0;
        }
        for (; pictures < count; pictures++) {
            bits_ue(b);
            bits_skip(b, 1);
        }
    }
    return pictures;
}

static void
skip_picture_sets(struct bits *b, unsigned order_bits)
{
    uint32_t sets = bits_ue(b);
    unsigned pictures = 0;

    for (uint32_t i = 0; i < sets && i < SETS_MOST && !b->over; i++) {
        pictures = skip_picture_set(b, i == 0, pictures);
    }
    if (bits_get(b, 1) != 0) { /* long-term pictures */
        uint64_t each = (uint64_t)order_bits + 1;

        bits_skip(b, (size_t)(each * bits_ue(b)));
    }
}

/* From the size to vui_parameters_present_flag. */
static void
skip_tools(struct bits *b, unsigned layers)
{
    unsigned order_bits;

    skip_codes(b, 2); /* bit depths */
    order_bits = bits_ue(b) + 4;
    skip_codes(b, 3 * (bits_get(b, 1) != 0 ? layers + 1 : 1));
    skip_codes(b, 6); /* sizes of blocks, depths */
    if (bits_get(b, 1) != 0 && bits_get(b, 1) != 0) {
        skip_scaling_lists(b);
    }
    bits_skip(b, 2);
    if (bits_get(b, 1) != 0) { /* PCM */
        bits_skip(b, 8);
        skip_codes(b, 2);
        bits_skip(b, 1);
    }
    skip_picture_sets(b, order_bits);
    bits_skip(b, 2);
}

/* vui_parameters() up to the colours (E.2.1). */
static void
read_colours(struct media_colours *c, struct bits *b)
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
}

/* ---- for others ---- */

static void
read_sps(struct media_video *v, struct media_colours *c, struct str nal)
{
    uint8_t bytes[SPS_MAX];
    size_t n = bits_unescape(bytes, sizeof(bytes), nal);
    struct bits b = bits_of(str_of(bytes, n));
    unsigned layers = read_front(v, &b);

    if (c != NULL) {
        skip_tools(&b, layers);
        if (bits_get(&b, 1) != 0) {
            read_colours(c, &b);
        }
    }
}

void
describe_hevc(struct media_video *v, struct str config)
{
    const uint8_t *p = (const uint8_t *)config.ptr;

    if (config.len < RECORD_HEAD || p[0] > 1) {
        return;
    }
    snprintf(v->profile, sizeof(v->profile), "%s", profile_name(p[1] & 0x1f));
    if (p[12] > 0) { /* level times 30 */
        snprintf(v->level, sizeof(v->level), "%u.%u", p[12] / 30u,
                 p[12] % 30u / 3);
    }
    read_sps(v, NULL, find_sps(config));
}

struct media_colours
hevc_colours(struct str config)
{
    struct media_video unused = { .codec = CODEC_HEVC };
    struct media_colours c = { .known = false };

    if (config.len >= RECORD_HEAD) {
        read_sps(&unused, &c, find_sps(config));
    }
    return c;
}

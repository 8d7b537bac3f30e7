/*
 * HEVC: the configuration record and its first sequence parameter set (ITU-T
 * H.265, 7.3.2.2.1 and 7.3.3).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>

#include "base/bytes.h"
#include "media/bits.h"
#include "media/describe.h"

#define SPS_MAX 512 /* bytes of a set that are looked at */
#define RECORD_HEAD 23
#define NAL_SPS 33

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

static void
read_sps(struct media_video *v, struct str nal)
{
    uint8_t bytes[SPS_MAX];
    size_t n = bits_unescape(bytes, sizeof(bytes), nal);
    struct bits b = bits_of(str_of(bytes, n));
    unsigned layers, chroma;

    bits_skip(&b, 16 + 4);
    layers = bits_get(&b, 3);
    bits_skip(&b, 1);
    skip_profile(&b, layers);
    bits_ue(&b);
    chroma = bits_ue(&b);
    if (chroma == 3 && bits_get(&b, 1) != 0) {
        chroma = 0;
    }
    read_size(v, &b, chroma);
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
    read_sps(v, find_sps(config));
}

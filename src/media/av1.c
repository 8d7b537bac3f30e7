/*
 * AV1: the configuration record and its sequence header (AV1 Bitstream &
 * Decoding Process Specification, 5.3, 5.5); VP9, which has only a record.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>

#include "media/bits.h"
#include "media/colours_impl.h"
#include "media/describe.h"

#define RECORD_HEAD 4
#define OBU_SEQUENCE 1

/* Flags on which later parts depend. */
struct model {
    bool decoder;         /* decoder_model_info_present_flag */
    unsigned delay_bits;  /* of its delays */
    bool initial_display; /* initial_display_delay_present_flag */
};

static void
read_timing(struct media_video *v, struct bits *b, struct model *m)
{
    uint32_t ticks = bits_get(b, 32);
    uint32_t scale = bits_get(b, 32);

    if (bits_get(b, 1) != 0) { /* equal_picture_interval */
        uint64_t each = (uint64_t)bits_ue(b) + 1;

        v->fps = b->over || ticks == 0 ? 0 : describe_fps(scale, each * ticks);
    }
    m->decoder = bits_get(b, 1) != 0;
    if (m->decoder) {
        m->delay_bits = bits_get(b, 5) + 1;
        bits_skip(b, 32 + 5 + 5);
    }
}

static void
skip_operating_point(struct bits *b, const struct model *m)
{
    bits_skip(b, 12);
    if (bits_get(b, 5) > 7) { /* the level; the tier follows */
        bits_skip(b, 1);
    }
    if (m->decoder && bits_get(b, 1) != 0) {
        bits_skip(b, (size_t)m->delay_bits * 2 + 1);
    }
    if (m->initial_display && bits_get(b, 1) != 0) {
        bits_skip(b, 4);
    }
}

/* From the size to color_config(). */
static void
skip_tools(struct bits *b, bool reduced)
{
    bool order = false;

    if (!reduced && bits_get(b, 1) != 0) { /* frame ids */
        bits_skip(b, 7);
    }
    bits_skip(b, 3);
    if (!reduced) {
        bits_skip(b, 4);
        order = bits_get(b, 1) != 0;
        bits_skip(b, order ? 2 : 0);
        /* Tools for screens, chosen by each frame or here; where there are any,
         * whole-numbered motion, too. */
        if (bits_get(b, 1) != 0 || bits_get(b, 1) != 0) {
            bits_skip(b, bits_get(b, 1) != 0 ? 0 : 1);
        }
        bits_skip(b, order ? 3 : 0);
    }
    bits_skip(b, 3);
}

/* color_config() */
static void
read_colours(struct media_colours *c, struct bits *b, unsigned profile)
{
    static const struct media_colours srgb = { .primaries = 1, .transfer = 13 };

    if (bits_get(b, 1) != 0 && profile == 2) { /* depth */
        bits_skip(b, 1);
    }
    bits_skip(b, profile == 1 ? 0 : 1); /* monochrome */
    if (bits_get(b, 1) != 0) {
        colours_read(c, b);
    }
    c->full_range = (c->primaries == srgb.primaries &&
                     c->transfer == srgb.transfer && c->matrix == 0) ||
                    bits_get(b, 1) != 0;
    c->known = c->known && !b->over;
}

static void
read_sequence(struct media_video *v, struct media_colours *c, struct str obu)
{
    struct bits b = bits_of(obu);
    struct model m = { .decoder = false };
    unsigned profile = bits_get(&b, 3), width_bits, height_bits;
    uint64_t width, height;
    bool reduced;

    bits_skip(&b, 1); /* still picture */
    reduced = bits_get(&b, 1) != 0;
    if (reduced) {
        bits_skip(&b, 5);
    } else {
        if (bits_get(&b, 1) != 0) {
            read_timing(v, &b, &m);
        }
        m.initial_display = bits_get(&b, 1) != 0;
        for (unsigned n = bits_get(&b, 5) + 1; n > 0; n--) {
            skip_operating_point(&b, &m);
        }
    }
    width_bits = bits_get(&b, 4) + 1;
    height_bits = bits_get(&b, 4) + 1;
    width = (uint64_t)bits_get(&b, width_bits) + 1;
    height = (uint64_t)bits_get(&b, height_bits) + 1;
    if (!b.over) {
        v->width = (uint32_t)width;
        v->height = (uint32_t)height;
    }
    skip_tools(&b, reduced);
    read_colours(c, &b, profile);
}

/* leb128() (4.10.5) of at most four bytes; false: it is longer or cut. */
static bool
take_size(struct str *s, size_t *size)
{
    *size = 0;
    for (unsigned i = 0; i < 4 && i < s->len; i++) {
        uint8_t byte = (uint8_t)s->ptr[i];

        *size |= (size_t)(byte & 0x7f) << 7 * i;
        if ((byte & 0x80) == 0) {
            *s = str_skip(*s, i + 1);
            return true;
        }
    }
    return false;
}

/* The first sequence header among the record's OBUs. */
static void
read_obus(struct media_video *v, struct media_colours *c, struct str rest)
{
    while (rest.len > 1) {
        uint8_t head = (uint8_t)rest.ptr[0];
        size_t size;

        rest = str_skip(rest, (head & 4) != 0 ? 2 : 1);
        size = rest.len;
        if ((head & 2) != 0 && !take_size(&rest, &size)) {
            return;
        }
        if ((head >> 3 & 15) == OBU_SEQUENCE) {
            read_sequence(v, c, str_first(rest, size));
            return;
        }
        rest = str_skip(rest, size);
    }
}

void
describe_av1(struct media_video *v, struct str config)
{
    static const char *const profiles[] = { "Main", "High", "Professional" };
    const uint8_t *p = (const uint8_t *)config.ptr;
    struct media_colours unused = { .known = false };
    unsigned profile, level;

    if (config.len < RECORD_HEAD || p[0] != 0x81) {
        return;
    }
    profile = p[1] >> 5;
    level = p[1] & 31;
    if (profile < 3) {
        snprintf(v->profile, sizeof(v->profile), "%s", profiles[profile]);
    }
    if (level < 24) { /* A.3: 31 is "maximum parameters" */
        snprintf(v->level, sizeof(v->level), "%u.%u", 2 + level / 4, level % 4);
    }
    read_obus(v, &unused, str_skip(config, RECORD_HEAD));
}

struct media_colours
av1_colours(struct str config)
{
    struct media_video unused = { .codec = CODEC_AV1 };
    struct media_colours c = { .known = false };

    read_obus(&unused, &c, str_skip(config, RECORD_HEAD));
    return c;
}

void
describe_vp9(struct media_video *v, struct str config)
{
    const uint8_t *p = (const uint8_t *)config.ptr;

    if (config.len >= 12 && p[0] == 1 && p[1] == 0 && p[2] == 0 && p[3] == 0) {
        p += 4;
    } else if (config.len < 8) {
        return;
    }
    if (p[0] <= 3) {
        snprintf(v->profile, sizeof(v->profile), "Profile %u", p[0]);
    }
    if (p[1] >= 10 && p[1] <= 62) {
        snprintf(v->level, sizeof(v->level), "%u.%u", p[1] / 10u, p[1] % 10u);
    }
}

/*
 * Colours: which codec's reader has its turn.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "media/bits.h"
#include "media/colours_impl.h"

#define UNSPECIFIED 2

void
colours_read(struct media_colours *c, struct bits *b)
{
    c->primaries = (uint8_t)bits_get(b, 8);
    c->transfer = (uint8_t)bits_get(b, 8);
    c->matrix = (uint8_t)bits_get(b, 8);
    c->known = !b->over;
}

static struct media_colours
vp9_colours(struct str config)
{
    struct bits b = bits_of(str_skip(config, 3));
    struct media_colours c = { .known = false };

    colours_read(&c, &b);
    c.full_range = config.len > 2 && (config.ptr[2] & 1) != 0;
    return c;
}

struct media_colours
colours_of(enum media_codec codec, struct str config)
{
    struct media_colours c = { .known = false };

    if (codec == CODEC_H264) {
        c = h264_colours(config);
    } else if (codec == CODEC_HEVC) {
        c = hevc_colours(config);
    } else if (codec == CODEC_AV1) {
        c = av1_colours(config);
    } else if (codec == CODEC_VP9) {
        c = vp9_colours(config);
    }
    c.known = c.known && (c.primaries != UNSPECIFIED ||
                          c.transfer != UNSPECIFIED || c.matrix != UNSPECIFIED);
    return c;
}

/*
 * VP8 and VP9: the size of their pictures, which no configuration has; each
 * key frame begins with it (RFC 6386, 9.1; VP9 Bitstream & Decoding Process
 * Specification, 6.2).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/bytes.h"
#include "media/bits.h"
#include "media/describe.h"

#define VP8_START 0x9d012a
#define VP9_SYNC 0x498342
#define VP9_SRGB 7

static bool
read_vp8(struct str frame, uint32_t *width, uint32_t *height)
{
    const uint8_t *p = (const uint8_t *)frame.ptr;

    if (frame.len < 10 || (p[0] & 1) != 0 || get_be24(p + 3) != VP8_START) {
        return false;
    }
    *width = (p[7] & 0x3fu) << 8 | p[6]; /* above them the scaling */
    *height = (p[9] & 0x3fu) << 8 | p[8];
    return *width > 0 && *height > 0;
}

/* color_config() */
static void
skip_colours(struct bits *b, uint32_t profile)
{
    bits_skip(b, profile >= 2 ? 1 : 0); /* ten_or_twelve_bit */
    if (bits_get(b, 3) != VP9_SRGB) {
        bits_skip(b, 1); /* color_range */
        bits_skip(b, (profile & 1) != 0 ? 3 : 0);
    } else {
        bits_skip(b, (profile & 1) != 0 ? 1 : 0);
    }
}

static bool
read_vp9(struct str frame, uint32_t *width, uint32_t *height)
{
    struct bits b = bits_of(frame);
    uint32_t marker = bits_get(&b, 2), low = bits_get(&b, 1);
    uint32_t profile = bits_get(&b, 1) << 1 | low;

    bits_skip(&b, profile == 3 ? 1 : 0);
    /* show_existing_frame, frame_type: this very frame, and a key frame */
    if (marker != 2 || bits_get(&b, 2) != 0) {
        return false;
    }
    bits_skip(&b, 2); /* show_frame, error_resilient_mode */
    if (bits_get(&b, 24) != VP9_SYNC) {
        return false;
    }
    skip_colours(&b, profile);
    *width = bits_get(&b, 16) + 1;
    *height = bits_get(&b, 16) + 1;
    return !b.over;
}

bool
media_frame_size(const uint8_t *payload, size_t len, uint32_t *width,
                 uint32_t *height)
{
    struct media_info info = media_inspect(MEDIA_VIDEO, payload, len);
    struct str frame = media_body(MEDIA_VIDEO, payload, len);

    if ((info.flags & MEDIA_KEY) == 0) {
        return false;
    }
    return info.codec == CODEC_VP9   ? read_vp9(frame, width, height)
           : info.codec == CODEC_VP8 ? read_vp8(frame, width, height)
                                     : false;
}

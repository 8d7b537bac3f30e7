/*
 * How playlists and pages name a codec (RFC 6381, and each codec's own rule).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>

#include "media/colours_impl.h"
#include "media/sound_impl.h"
#include "media/track.h"

/* ISO/IEC 14496-15, E.3: profile, compatibility with its bits turned round,
 * tier and level, six bytes of constraints without the zeros at their end. */
static int
hevc_string(char *dst, size_t size, const uint8_t *p)
{
    static const char *const spaces[] = { "", "A", "B", "C" };
    uint32_t compatible = 0;
    int last = 11, n;

    for (unsigned i = 0; i < 32; i++) {
        compatible |= (uint32_t)(p[2 + i / 8] >> (7 - i % 8) & 1) << i;
    }
    n = snprintf(dst, size, "hvc1.%s%u.%X.%c%u", spaces[p[1] >> 6], p[1] & 31u,
                 (unsigned)compatible, (p[1] & 0x20) != 0 ? 'H' : 'L', p[12]);
    while (last >= 6 && p[last] == 0) {
        last--;
    }
    for (int i = 6; i <= last; i++) {
        n += snprintf(dst + n, size - (size_t)n, ".%X", p[i]);
    }
    return n;
}

/* AV1 in ISOBMFF, 5: profile, level and tier, depth. */
static int
av1_string(char *dst, size_t size, const uint8_t *p)
{
    unsigned profile = p[1] >> 5, level = p[1] & 31u;
    unsigned high = p[2] >> 6 & 1u, twelve = p[2] >> 5 & 1u;

    return snprintf(dst, size, "av01.%u.%02u%c.%02u", profile, level,
                    (p[2] & 0x80) != 0 ? 'H' : 'M',
                    8 + 2 * high + 2 * (high & twelve));
}

static int
aac_string(char *dst, size_t size, struct str config)
{
    struct aac_config aac;

    return aac_read(&aac, config) == -1
               ? 0
               : snprintf(dst, size, "mp4a.40.%u", (unsigned)aac.object);
}

static int
picture_string(char *dst, size_t size, const struct media_track *t)
{
    const uint8_t *p = (const uint8_t *)t->config.ptr;

    switch (t->codec) {
    case CODEC_H264:
        return snprintf(dst, size, "avc1.%02x%02x%02x", p[1], p[2], p[3]);
    case CODEC_HEVC:
        return hevc_string(dst, size, p);
    case CODEC_AV1:
        return av1_string(dst, size, p);
    case CODEC_VP9:
        return snprintf(dst, size, "vp09.%02u.%02u.%02u", p[0], p[1],
                        p[2] >> 4 & 15u);
    default:
        return 0;
    }
}

static int
sound_string(char *dst, size_t size, const struct media_track *t)
{
    switch (t->codec) {
    case CODEC_AAC:
        return aac_string(dst, size, t->config);
    case CODEC_MP3:
        return snprintf(dst, size, "mp4a.40.34");
    case CODEC_OPUS:
        return snprintf(dst, size, "Opus");
    case CODEC_FLAC:
        return snprintf(dst, size, "fLaC");
    case CODEC_AC3:
        return snprintf(dst, size, "ac-3");
    case CODEC_EAC3:
        return snprintf(dst, size, "ec-3");
    default:
        return 0;
    }
}

size_t
media_codec_string(char dst[MEDIA_CODEC_STRING_MAX],
                   const struct media_track *t)
{
    int n;

    dst[0] = '\0';
    n = t->type == MEDIA_VIDEO ? picture_string(dst, MEDIA_CODEC_STRING_MAX, t)
                               : sound_string(dst, MEDIA_CODEC_STRING_MAX, t);
    return (size_t)n;
}

const char *
media_video_range(const struct media_track *t)
{
    struct media_colours c = colours_of(t->codec, t->config);

    if (!c.known) {
        return "SDR";
    }
    return c.transfer == TRANSFER_PQ    ? "PQ"
           : c.transfer == TRANSFER_HLG ? "HLG"
                                        : "SDR";
}

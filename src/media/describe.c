/*
 * Codec headers: which codec's reader has its turn.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "media/describe.h"

#include <stdio.h>

#include "media/bits.h"

#define SIZE_MOST 65536 /* pixels; more is nonsense */

void
describe_size(struct media_video *v, struct bits *b, uint64_t width,
              uint64_t height, uint64_t unit_x, uint64_t unit_y)
{
    uint64_t crop_x = 0, crop_y = 0;

    if (bits_get(b, 1) != 0) {
        crop_x = unit_x * bits_ue(b);
        crop_x += unit_x * bits_ue(b);
        crop_y = unit_y * bits_ue(b);
        crop_y += unit_y * bits_ue(b);
    }
    if (!b->over && crop_x < width && crop_y < height &&
        width - crop_x <= SIZE_MOST && height - crop_y <= SIZE_MOST) {
        v->width = (uint32_t)(width - crop_x);
        v->height = (uint32_t)(height - crop_y);
    }
}

uint32_t
describe_fps(uint64_t ticks_a_second, uint64_t ticks_a_frame)
{
    uint64_t fps;

    if (ticks_a_frame == 0) {
        return 0;
    }
    fps = (ticks_a_second * 1000 + ticks_a_frame / 2) / ticks_a_frame;
    return fps <= 1000 * 1000 ? (uint32_t)fps : 0;
}

struct media_video
media_describe_video(const uint8_t *payload, size_t len)
{
    struct media_info info = media_inspect(MEDIA_VIDEO, payload, len);
    struct str config = media_body(MEDIA_VIDEO, payload, len);
    struct media_video v = { .codec = info.codec };

    if ((info.flags & MEDIA_HEADER) == 0) {
        return v;
    }
    if (info.codec == CODEC_H264) {
        describe_h264(&v, config);
    } else if (info.codec == CODEC_HEVC) {
        describe_hevc(&v, config);
    } else if (info.codec == CODEC_AV1) {
        describe_av1(&v, config);
    } else if (info.codec == CODEC_VP9) {
        describe_vp9(&v, config);
    }
    return v;
}

/* Legacy tags tell it themselves (FLV 10.1, E.4.2.1). */
static void
describe_tag(struct media_audio *a, uint8_t tag)
{
    static const uint32_t rates[] = { 5512, 11025, 22050, 44100 };

    a->rate = rates[tag >> 2 & 3];
    a->channels = (tag & 1) + 1u;
    switch (tag >> 4) {
    case 4: /* Nellymoser of 16 kHz */
    case 11:
        a->rate = 16000;
        a->channels = 1;
        break;
    case 5: /* Nellymoser of 8 kHz */
    case 7:
    case 8:
    case 14: /* MP3 of 8 kHz */
        a->rate = 8000;
        break;
    default:
        break;
    }
}

static void
describe_header(struct media_audio *a, struct str config)
{
    if (a->codec == CODEC_AAC) {
        describe_aac(a, config);
    } else if (a->codec == CODEC_OPUS) {
        describe_opus(a, config);
    } else if (a->codec == CODEC_FLAC) {
        describe_flac(a, config);
    }
}

struct media_audio
media_describe_audio(const uint8_t *payload, size_t len)
{
    struct media_info info = media_inspect(MEDIA_AUDIO, payload, len);
    struct str body = media_body(MEDIA_AUDIO, payload, len);
    struct media_audio a = { .codec = info.codec };

    if (len == 0 || info.codec == CODEC_OTHER) {
        return a;
    }
    if ((info.flags & MEDIA_HEADER) != 0) {
        describe_header(&a, body);
        return a;
    }
    if (payload[0] >> 4 != 9 && info.codec != CODEC_AAC) {
        describe_tag(&a, payload[0]);
    }
    if (info.codec == CODEC_MP3) {
        describe_mp3(&a, body);
    }
    return a;
}

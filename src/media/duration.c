/*
 * How long a frame of sound lasts, by what its first bytes say.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "media/bits.h"
#include "media/sound_impl.h"
#include "media/track.h"

#define OPUS_MOST 5760u /* units of a packet: 120 ms (RFC 6716, 3.2.5) */

static uint32_t
aac_duration(struct str config)
{
    struct aac_config aac;

    return aac_read(&aac, config) == 0 ? aac.samples : 0;
}

/* ISO/IEC 11172-3, 2.4.2.1; 13818-3, 2.4.2.1. */
static uint32_t
mp3_duration(struct str body)
{
    struct bits b = bits_of(body);
    unsigned sync = bits_get(&b, 11);
    unsigned version = bits_get(&b, 2); /* 3 is MPEG-1 */
    unsigned layer = bits_get(&b, 2);   /* 1 is III, 3 is I */

    if (b.over || sync != 0x7ff || version == 1 || layer == 0) {
        return 0;
    }
    if (layer == 3) {
        return 384;
    }
    return layer == 1 && version != 3 ? 576 : 1152;
}

/* The byte that begins each packet, and the count of frames behind it
 * (RFC 6716, 3.1, 3.2). */
static uint32_t
opus_duration(struct str body)
{
    static const uint16_t silk[] = { 480, 960, 1920, 2880 };
    const uint8_t *p = (const uint8_t *)body.ptr;
    uint32_t each, count = 1;

    if (body.len == 0) {
        return 0;
    }
    unsigned config = p[0] >> 3;
    if (config < 12) {
        each = silk[config & 3];
    } else {
        each = config < 16 ? silk[config & 1] : 120u << (config & 3);
    }
    if ((p[0] & 3) == 3) {
        count = body.len > 1 ? p[1] & 0x3f : 0;
    } else if ((p[0] & 3) != 0) {
        count = 2;
    }
    return each * count <= OPUS_MOST ? each * count : 0;
}

/* Bytes of a number coded like UTF-8, by its first one (RFC 9639, 9.1.5). */
static unsigned
coded_number(uint8_t first)
{
    unsigned ones = 0;

    while (ones < 8 && (first << ones & 0x80) != 0) {
        ones++;
    }
    return ones == 0 ? 1 : ones;
}

/* The header of a frame (RFC 9639, 9.1). */
static uint32_t
flac_duration(struct str body)
{
    struct bits b = bits_of(body);
    unsigned sync = bits_get(&b, 15), code;
    uint32_t samples = 0;

    bits_skip(&b, 1);
    code = bits_get(&b, 4);
    bits_skip(&b, 12);
    if (b.over || sync != 0x7ffc || body.len < 5) {
        return 0;
    }
    bits_skip(&b, 8 * (size_t)coded_number((uint8_t)body.ptr[4]));
    if (code == 1) {
        samples = 192;
    } else if (code >= 2 && code <= 5) {
        samples = 576u << (code - 2);
    } else if (code == 6 || code == 7) {
        samples = bits_get(&b, code == 6 ? 8 : 16) + 1;
    } else if (code >= 8) {
        samples = 256u << (code - 8);
    }
    return b.over ? 0 : samples;
}

static uint32_t
ac3_duration(struct str body)
{
    struct ac3_frame frame;

    return ac3_read(&frame, body) == 0 ? frame.samples : 0;
}

uint32_t
media_sound_duration(const struct media_track *t, struct str body)
{
    switch (t->codec) {
    case CODEC_AAC:
        return aac_duration(t->config);
    case CODEC_MP3:
        return mp3_duration(body);
    case CODEC_OPUS:
        return opus_duration(body);
    case CODEC_FLAC:
        return flac_duration(body);
    case CODEC_AC3:
    case CODEC_EAC3:
        return ac3_duration(body);
    default:
        return 0;
    }
}

/*
 * Reads headers of sound: AAC, MP3, Opus, FLAC.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>

#include "media/bits.h"
#include "media/describe.h"

/* ---- AAC ---- */

enum { AAC_SBR = 5, AAC_PS = 29, OBJECT_ESCAPE = 31, RATE_ESCAPE = 15 };

static unsigned
read_object(struct bits *b)
{
    unsigned object = bits_get(b, 5);

    return object == OBJECT_ESCAPE ? 32 + bits_get(b, 6) : object;
}

static uint32_t
read_rate(struct bits *b)
{
    static const uint32_t rates[] = { 96000, 88200, 64000, 48000, 44100,
                                      32000, 24000, 22050, 16000, 12000,
                                      11025, 8000,  7350 };
    unsigned i = bits_get(b, 4);

    if (i == RATE_ESCAPE) {
        return bits_get(b, 24);
    }
    return i < sizeof(rates) / sizeof(rates[0]) ? rates[i] : 0;
}

static const char *
object_name(unsigned object)
{
    switch (object) {
    case 1:
        return "Main";
    case 2:
        return "LC";
    case 3:
        return "SSR";
    case 4:
        return "LTP";
    case AAC_SBR:
        return "HE-AAC";
    case AAC_PS:
        return "HE-AACv2";
    case 23:
        return "LD";
    case 39:
        return "ELD";
    case 42:
        return "xHE-AAC";
    default:
        return "";
    }
}

/* Table 1.19; 0: told elsewhere. */
static uint32_t
channel_count(unsigned configuration)
{
    static const uint8_t counts[16] = { 0, 1, 2, 3, 4, 5, 6, 8,
                                        0, 0, 0, 7, 8, 0, 8, 0 };

    return counts[configuration & 15];
}

void
describe_aac(struct media_audio *a, struct str config)
{
    struct bits b = bits_of(config);
    unsigned object = read_object(&b);
    uint32_t rate = read_rate(&b);
    uint32_t channels = channel_count(bits_get(&b, 4));

    if (object == AAC_SBR || object == AAC_PS) {
        rate = read_rate(&b); /* of what comes out */
        channels = object == AAC_PS ? 2 : channels;
    }
    if (b.over) {
        return;
    }
    snprintf(a->profile, sizeof(a->profile), "%s", object_name(object));
    a->rate = rate;
    a->channels = channels;
}

/* ---- others ---- */

void
describe_mp3(struct media_audio *a, struct str frame)
{
    static const uint32_t rates[] = { 44100, 48000, 32000 };
    struct bits b = bits_of(frame);
    unsigned sync = bits_get(&b, 11);
    unsigned version = bits_get(&b, 2);
    unsigned layer = bits_get(&b, 2);
    unsigned rate, mode;

    bits_skip(&b, 5);
    rate = bits_get(&b, 2);
    bits_skip(&b, 2);
    mode = bits_get(&b, 2);
    if (b.over || sync != 0x7ff || version == 1 || layer == 0 || rate == 3) {
        return;
    }
    snprintf(a->profile, sizeof(a->profile), "Layer %s",
             layer == 1   ? "III"
             : layer == 2 ? "II"
                          : "I");
    a->rate = rates[rate] >> (version == 3 ? 0 : version == 2 ? 1 : 2);
    a->channels = mode == 3 ? 1 : 2;
}

void
describe_opus(struct media_audio *a, struct str header)
{
    if (header.len < 19 || !str_starts(header, STR("OpusHead"))) {
        return;
    }
    a->rate = 48000; /* of every decoder, whatever was coded */
    a->channels = (uint8_t)header.ptr[9];
}

void
describe_flac(struct media_audio *a, struct str header)
{
    struct bits b = bits_of(header);
    uint32_t rate, channels;

    if (!str_starts(header, STR("fLaC"))) {
        return;
    }
    bits_skip(&b, 8 * (4 + 4 + 10));
    rate = bits_get(&b, 20);
    channels = bits_get(&b, 3) + 1;
    if (!b.over) {
        a->rate = rate;
        a->channels = channels;
    }
}

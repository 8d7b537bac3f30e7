/*
 * Reads headers of sound: AAC, MP3, Opus, FLAC.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>

#include "media/bits.h"
#include "media/describe.h"
#include "media/sound_impl.h"

/* ---- AAC ---- */

enum { AAC_SBR = 5, AAC_PS = 29 };

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

void
describe_aac(struct media_audio *a, struct str config)
{
    struct aac_config aac;

    if (aac_read(&aac, config) == -1) {
        return;
    }
    snprintf(a->profile, sizeof(a->profile), "%s", object_name(aac.object));
    a->rate = aac.rate;
    a->channels = aac.channels;
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

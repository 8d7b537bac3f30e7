/*
 * AudioSpecificConfig of AAC.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "media/bits.h"
#include "media/sound_impl.h"

enum {
    AAC_SBR = 5,
    AAC_LD = 23,
    AAC_PS = 29,
    AAC_ELD = 39,
    OBJECT_ESCAPE = 31,
    RATE_ESCAPE = 15,
};

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

/* Table 1.19; 0: told elsewhere. */
static uint32_t
channel_count(unsigned configuration)
{
    static const uint8_t counts[16] = { 0, 1, 2, 3, 4, 5, 6, 8,
                                        0, 0, 0, 7, 8, 0, 8, 0 };

    return counts[configuration & 15];
}

/* frameLengthFlag, the first bit of what each object says of itself; a
 * configuration that ends before it means the usual length. */
static uint32_t
read_length(struct bits *b, unsigned object)
{
    bool shorter = bits_get(b, 1) != 0;

    if (object == AAC_LD || object == AAC_ELD) {
        return shorter ? 480 : 512;
    }
    return shorter ? 960 : 1024;
}

int
aac_read(struct aac_config *aac, struct str config)
{
    struct bits b = bits_of(config);
    unsigned object = read_object(&b);

    aac->object = object;
    aac->core_rate = aac->rate = read_rate(&b);
    aac->channels = channel_count(bits_get(&b, 4));
    if (object == AAC_SBR || object == AAC_PS) {
        aac->rate = read_rate(&b);
        aac->channels = object == AAC_PS ? 2 : aac->channels;
        if (b.over) {
            return -1;
        }
        object = read_object(&b);
    }
    if (b.over && aac->object != AAC_SBR && aac->object != AAC_PS) {
        return -1;
    }
    aac->samples = read_length(&b, object);
    return 0;
}

/*
 * WAV and what is like it: a header, and each sample by itself.
 *
 * The header is that of RIFF: little-endian numbers, sizes of 4 bytes.
 * Mu-law (ITU-T G.711) has WAVE_FORMAT_MULAW, 7, and with it a chunk "fact",
 * which any format but PCM has.  A chunk of odd length is followed by a byte
 * that does not count; here it is a silent sample, because it lies behind the
 * end of data whose size is not known.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "encoder_impl.h"

#define BLOCK 2048 /* samples that are sent at once */
#define UNKNOWN UINT32_MAX
#define TAG_PCM 1
#define TAG_MULAW 7
#define MULAW_RATE 8000
#define MULAW_BIAS 0x84
#define MULAW_CLIP 32635
#define MULAW_SILENCE 0xff
#define HEADER_MAX 64

/* ---- the header ---- */

struct header {
    uint8_t bytes[HEADER_MAX];
    size_t len;
};

static void
put(struct header *h, uint32_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        h->bytes[h->len++] = (uint8_t)(value >> (8 * i));
    }
}

static void
put_name(struct header *h, const char *name)
{
    for (size_t i = 0; i < 4; i++) {
        h->bytes[h->len++] = (uint8_t)name[i];
    }
}

/* The chunk "fmt ", of mono. */
static void
put_format(struct header *h, unsigned tag, unsigned rate, unsigned width)
{
    put_name(h, "fmt ");
    put(h, tag == TAG_PCM ? 16 : 18, 4);
    put(h, tag, 2);
    put(h, 1, 2);
    put(h, rate, 4);
    put(h, rate * width, 4);
    put(h, width, 2);
    put(h, width * 8, 2);
    if (tag != TAG_PCM) {
        put(h, 0, 2); /* bytes that follow */
    }
}

/* samples: -1: not known yet. */
static struct header
make_header(unsigned tag, unsigned rate, int64_t samples)
{
    struct header h = { .len = 0 };
    unsigned width = tag == TAG_PCM ? 2 : 1;
    uint32_t data = samples >= 0 ? (uint32_t)samples * width : UNKNOWN;
    uint32_t before = tag == TAG_PCM ? 36 : 50; /* counted by RIFF */

    put_name(&h, "RIFF");
    put(&h, samples >= 0 ? before + data + data % 2 : UNKNOWN, 4);
    put_name(&h, "WAVE");
    put_format(&h, tag, rate, width);
    if (tag != TAG_PCM) {
        put_name(&h, "fact");
        put(&h, 4, 4);
        put(&h, samples >= 0 ? (uint32_t)samples : UNKNOWN, 4);
    }
    put_name(&h, "data");
    put(&h, data, 4);
    return h;
}

static int
begin_as(struct encoder *e, unsigned tag)
{
    struct header h = make_header(tag, e->rate, -1);

    return encoder_send(e, h.bytes, h.len);
}

static int
end_as(struct encoder *e, unsigned tag, struct buf *head, struct errmsg *err)
{
    unsigned width = tag == TAG_PCM ? 2 : 1;
    struct header h;

    if (e->fed >= (int64_t)(UNKNOWN - HEADER_MAX) / width) {
        return 0; /* a size that the header has no room for */
    }
    h = make_header(tag, e->rate, e->fed);
    return buf_add(head, h.bytes, h.len) == 0
               ? 0
               : errmsg_set(err, "no room for the header of WAV");
}

/* ---- 16 bit ---- */

static int
begin_wav(struct encoder *e, struct errmsg *err)
{
    (void)err;
    return begin_as(e, TAG_PCM);
}

static int
write_pcm(struct encoder *e, const int16_t *samples, size_t n,
          struct errmsg *err)
{
    uint8_t bytes[BLOCK * 2];

    (void)err;
    while (n > 0) {
        size_t now = n < BLOCK ? n : BLOCK;

        for (size_t i = 0; i < now; i++) {
            uint16_t s = (uint16_t)samples[i];

            bytes[2 * i] = (uint8_t)s;
            bytes[2 * i + 1] = (uint8_t)(s >> 8);
        }
        if (encoder_send(e, bytes, 2 * now) != 0) {
            return -1;
        }
        samples += now;
        n -= now;
    }
    return 0;
}

static int
end_wav(struct encoder *e, struct buf *head, struct errmsg *err)
{
    return end_as(e, TAG_PCM, head, err);
}

static int
begin_pcm(struct encoder *e, struct errmsg *err)
{
    (void)e;
    (void)err;
    return 0;
}

static int
end_pcm(struct encoder *e, struct buf *head, struct errmsg *err)
{
    (void)e;
    (void)head;
    (void)err;
    return 0;
}

const struct encoder_codec encoder_wav = {
    .takes = encoder_usual_rate,
    .gives = encoder_usual_rate,
    .begin = begin_wav,
    .write = write_pcm,
    .end = end_wav,
};

const struct encoder_codec encoder_pcm = {
    .takes = encoder_usual_rate,
    .gives = encoder_usual_rate,
    .begin = begin_pcm,
    .write = write_pcm,
    .end = end_pcm,
};

/* ---- mu-law ---- */

static unsigned
mulaw_rate(unsigned rate_in, int64_t rate_out)
{
    (void)rate_in;
    return rate_out > 0 ? (unsigned)rate_out : MULAW_RATE;
}

/* A sign, three bits of exponent, four of mantissa, all inverted. */
static uint8_t
mulaw(int16_t sample)
{
    int sign = sample < 0 ? 0x80 : 0;
    int size = sample < 0 ? -(int)sample : sample;
    int exponent = 7;

    size = (size < MULAW_CLIP ? size : MULAW_CLIP) + MULAW_BIAS;
    while (exponent > 0 && (size & (0x80 << exponent)) == 0) {
        exponent--;
    }
    return (uint8_t) ~(sign | exponent << 4 |
                       ((size >> (exponent + 3)) & 0x0f));
}

static int
begin_mulaw(struct encoder *e, struct errmsg *err)
{
    (void)err;
    return begin_as(e, TAG_MULAW);
}

static int
write_mulaw(struct encoder *e, const int16_t *samples, size_t n,
            struct errmsg *err)
{
    uint8_t bytes[BLOCK];

    (void)err;
    while (n > 0) {
        size_t now = n < BLOCK ? n : BLOCK;

        for (size_t i = 0; i < now; i++) {
            bytes[i] = mulaw(samples[i]);
        }
        if (encoder_send(e, bytes, now) != 0) {
            return -1;
        }
        samples += now;
        n -= now;
    }
    return 0;
}

static int
end_mulaw(struct encoder *e, struct buf *head, struct errmsg *err)
{
    static const uint8_t silence = MULAW_SILENCE;

    if (e->fed % 2 != 0 && encoder_send(e, &silence, 1) != 0) {
        return -1;
    }
    return end_as(e, TAG_MULAW, head, err);
}

const struct encoder_codec encoder_mulaw = {
    .takes = mulaw_rate,
    .gives = mulaw_rate,
    .begin = begin_mulaw,
    .write = write_mulaw,
    .end = end_mulaw,
};

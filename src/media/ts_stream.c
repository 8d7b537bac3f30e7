/*
 * Elementary streams: NAL units with start codes (annex B of H.264 and HEVC),
 * AAC with ADTS headers (ISO/IEC 13818-7, 6.2), other sound as it is.
 *
 * Samples are bytes of strangers: lengths that do not add up refuse them.  They
 * lie in memory that others write, and are read twice, measured and then
 * written: ts_put() holds to what was announced, whatever they say by then.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "base/bytes.h"
#include "media/bits.h"
#include "media/ts_impl.h"

/* stream_type: table 2-34, and for Dolby ATSC A/52, annex A (as RFC 8216 and
 * Apple's players have it). */
enum {
    TYPE_MPEG1_AUDIO = 0x03,
    TYPE_MPEG2_AUDIO = 0x04,
    TYPE_ADTS = 0x0f,
    TYPE_H264 = 0x1b,
    TYPE_HEVC = 0x24,
    TYPE_AC3 = 0x81,
    TYPE_EAC3 = 0x87,
};
enum { ID_VIDEO = 0xe0, ID_AUDIO = 0xc0, ID_PRIVATE = 0xbd };

#define AVCC_HEAD 6
#define HVCC_HEAD 23
#define ADTS_HEAD 7
#define ADTS_FRAME_MAX 0x1fff
#define SOUND_MAX 32768 /* bytes of a frame; no codec has so many */
#define MPEG1_RATE 32000

static const uint8_t start_code[] = { 0, 0, 0, 1 };

/* ---- AAC ---- */

/* The index of ADTS for a rate; -1: it has none. */
static int
read_rate(struct bits *b)
{
    static const uint32_t rates[] = { 96000, 88200, 64000, 48000, 44100,
                                      32000, 24000, 22050, 16000, 12000,
                                      11025, 8000,  7350 };
    int count = sizeof(rates) / sizeof(rates[0]);
    int index = (int)bits_get(b, 4);

    if (index < 15) {
        return index < count ? index : -1;
    }
    uint32_t rate = bits_get(b, 24);
    for (index = 0; index < count; index++) {
        if (rates[index] == rate) {
            return index;
        }
    }
    return -1;
}

/* AudioSpecificConfig (ISO/IEC 14496-3, 1.6.2.1).  Of HE-AAC ADTS says the
 * core; decoders find the rest themselves.  -1: ADTS cannot say it. */
static int
read_aac(struct ts_stream *s, struct str config)
{
    struct bits b = bits_of(config);
    unsigned object = bits_get(&b, 5);
    int rate = read_rate(&b);
    unsigned channels = bits_get(&b, 4);

    if (object == 5 || object == 29) { /* SBR, PS: the core is told behind */
        read_rate(&b);
        object = bits_get(&b, 5);
    }
    if (b.over || object < 1 || object > 4 || rate < 0 || channels < 1 ||
        channels > 7) {
        return -1;
    }
    s->adts[0] = 0xf1; /* MPEG-4, no checksum */
    s->adts[1] =
        (uint8_t)((object - 1) << 6 | (unsigned)rate << 2 | channels >> 2);
    s->adts[2] = (uint8_t)(channels << 6);
    return 0;
}

static int
put_adts(struct ts_out *o, const struct ts_stream *s, size_t size)
{
    size_t all = size + ADTS_HEAD;
    uint8_t head[ADTS_HEAD] = { 0xff, s->adts[0], s->adts[1], s->adts[2],
                                0,    0x1f,       0xfc };

    if (all > ADTS_FRAME_MAX) {
        return -1;
    }
    head[3] |= (uint8_t)(all >> 11);
    head[4] = (uint8_t)(all >> 3);
    head[5] |= (uint8_t)(all << 5);
    return ts_put(o, head, sizeof(head));
}

/* ---- parameter sets ---- */

static int
put_nal(struct ts_out *o, struct str nal)
{
    return ts_put(o, start_code, sizeof(start_code)) == 0
               ? ts_put(o, nal.ptr, nal.len)
               : -1;
}

/* count sets, each behind its length; *rest: what is behind them. */
static int
put_sets(struct ts_out *o, struct str *rest, size_t count)
{
    while (count-- > 0) {
        if (rest->len < 2) {
            return -1;
        }
        size_t len = get_be16((const uint8_t *)rest->ptr);

        *rest = str_skip(*rest, 2);
        if (len > rest->len ||
            (len > 0 && put_nal(o, str_first(*rest, len)) == -1)) {
            return -1;
        }
        *rest = str_skip(*rest, len);
    }
    return 0;
}

/* avcC (ISO/IEC 14496-15, 5.3.3.1). */
static int
put_avc_sets(struct ts_out *o, struct str config)
{
    struct str rest = str_skip(config, AVCC_HEAD - 1);

    for (unsigned mask = 31; mask != 0; mask = mask == 31 ? 255 : 0) {
        if (rest.len == 0) {
            return -1;
        }
        size_t count = (uint8_t)rest.ptr[0] & mask;

        rest = str_skip(rest, 1);
        if (put_sets(o, &rest, count) == -1) {
            return -1;
        }
    }
    return 0;
}

/* hvcC (ISO/IEC 14496-15, 8.3.3.1). */
static int
put_hevc_sets(struct ts_out *o, struct str config)
{
    struct str rest = str_skip(config, HVCC_HEAD);

    for (unsigned n = (uint8_t)config.ptr[HVCC_HEAD - 1]; n > 0; n--) {
        if (rest.len < 3) {
            return -1;
        }
        size_t count = get_be16((const uint8_t *)rest.ptr + 1);

        rest = str_skip(rest, 3);
        if (put_sets(o, &rest, count) == -1) {
            return -1;
        }
    }
    return 0;
}

static int
put_parameter_sets(struct ts_out *o, const struct ts_stream *s)
{
    struct str config = s->track->config;

    return s->type == TYPE_H264 ? put_avc_sets(o, config)
                                : put_hevc_sets(o, config);
}

/* ---- tracks ---- */

static int
init_nal(struct ts_stream *s, size_t head, size_t size_at)
{
    struct str config = s->track->config;
    struct ts_out measure = { .measures = true };

    if (config.len < head) {
        return -1;
    }
    s->nal_size = (uint8_t)((config.ptr[size_at] & 3) + 1);
    return put_parameter_sets(&measure, s);
}

static int
init_codec(struct ts_stream *s, const struct media_track *t)
{
    if (t->codec == CODEC_H264) {
        s->type = TYPE_H264;
        return init_nal(s, AVCC_HEAD, 4);
    }
    if (t->codec == CODEC_HEVC) {
        s->type = TYPE_HEVC;
        s->name = "HEVC";
        return init_nal(s, HVCC_HEAD, 21);
    }
    if (t->codec == CODEC_AAC) {
        s->type = TYPE_ADTS;
        return read_aac(s, t->config);
    }
    if (t->codec == CODEC_MP3) {
        s->type = t->rate >= MPEG1_RATE ? TYPE_MPEG1_AUDIO : TYPE_MPEG2_AUDIO;
        return 0;
    }
    if (t->codec != CODEC_AC3 && t->codec != CODEC_EAC3) {
        return -1;
    }
    s->type = t->codec == CODEC_AC3 ? TYPE_AC3 : TYPE_EAC3;
    s->name = t->codec == CODEC_AC3 ? "AC-3" : "EAC3";
    s->id = ID_PRIVATE;
    return 0;
}

int
ts_stream_init(struct ts_stream *s, const struct media_track *t, size_t place)
{
    bool pictures = t->type == MEDIA_VIDEO;

    *s = (struct ts_stream){
        .track = t,
        .pid = (uint16_t)((pictures ? TS_PID_VIDEO : TS_PID_AUDIO) + place),
        .id = (uint8_t)((pictures ? ID_VIDEO : ID_AUDIO) + place),
    };
    return t->timescale > 0 ? init_codec(s, t) : -1;
}

/* ---- samples ---- */

/* A sample's bytes that are still to be read. */
struct cursor {
    const struct iovec *piece;
    size_t pieces;
    size_t skip; /* of the first piece */
    size_t left; /* of the sample; pieces with less make it fail */
};

/* The longest piece of the next n bytes; empty: there are none. */
static struct str
next_bytes(struct cursor *c, size_t n)
{
    while (c->pieces > 0 && c->skip == c->piece->iov_len) {
        c->piece++;
        c->pieces--;
        c->skip = 0;
    }
    if (c->pieces == 0 || c->left == 0) {
        return STR_NONE;
    }
    size_t some = c->piece->iov_len - c->skip;
    some = some < n ? some : n;
    some = some < c->left ? some : c->left;
    struct str s = str_of((const uint8_t *)c->piece->iov_base + c->skip, some);
    c->skip += some;
    c->left -= some;
    return s;
}

static int
copy_bytes(struct ts_out *o, struct cursor *c, size_t n)
{
    while (n > 0) {
        struct str s = next_bytes(c, n);

        if (s.len == 0 || ts_put(o, s.ptr, s.len) == -1) {
            return -1;
        }
        n -= s.len;
    }
    return 0;
}

static int
read_bytes(struct cursor *c, uint8_t *dst, size_t n)
{
    while (n > 0) {
        struct str s = next_bytes(c, n);

        if (s.len == 0) {
            return -1;
        }
        memcpy(dst, s.ptr, s.len);
        dst += s.len;
        n -= s.len;
    }
    return 0;
}

static int
skip_bytes(struct cursor *c, size_t n)
{
    while (n > 0) {
        struct str s = next_bytes(c, n);

        if (s.len == 0) {
            return -1;
        }
        n -= s.len;
    }
    return 0;
}

/* An access unit delimiter: H.264, 7.3.2.4; HEVC, 7.3.2.5. */
static bool
is_delimiter(const struct ts_stream *s, uint8_t first)
{
    return s->type == TYPE_H264 ? (first & 0x1f) == 9
                                : (first >> 1 & 0x3f) == 35;
}

static int
put_delimiter(struct ts_out *o, const struct ts_stream *s)
{
    static const uint8_t avc[] = { 9, 0xf0 }, hevc[] = { 70, 1, 0x50 };

    return put_nal(o, s->type == TYPE_H264 ? str_of(avc, sizeof(avc))
                                           : str_of(hevc, sizeof(hevc)));
}

/* One NAL unit behind its length; delimiters are left out, ours is there. */
static int
put_unit(struct ts_out *o, const struct ts_stream *s, struct cursor *c)
{
    uint8_t size[4] = { 0 }, first;

    if (read_bytes(c, size + 4 - s->nal_size, s->nal_size) == -1) {
        return -1;
    }
    uint32_t len = get_be32(size);
    if (len == 0) {
        return 0;
    }
    if (len > c->left || read_bytes(c, &first, 1) == -1) {
        return -1;
    }
    if (is_delimiter(s, first)) {
        return skip_bytes(c, len - 1);
    }
    if (put_nal(o, str_of(&first, 1)) == -1) {
        return -1;
    }
    return copy_bytes(o, c, len - 1);
}

int
ts_stream_put(struct ts_out *o, const struct ts_stream *s,
              const struct media_sample *m)
{
    struct cursor c = { m->pieces, m->piece_count, 0, m->size };

    if (s->nal_size == 0) {
        if (m->size > SOUND_MAX ||
            (s->type == TYPE_ADTS && put_adts(o, s, m->size) == -1)) {
            return -1;
        }
        return copy_bytes(o, &c, m->size);
    }
    if (put_delimiter(o, s) == -1 ||
        (m->key && put_parameter_sets(o, s) == -1)) {
        return -1;
    }
    while (c.left > 0) {
        if (put_unit(o, s, &c) == -1) {
            return -1;
        }
    }
    return 0;
}

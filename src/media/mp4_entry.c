/*
 * Sample entries: how a track's codec is told in MP4.
 *
 * Codecs' own documents: ISO/IEC 14496-15 (H.264, HEVC), 14496-14 (AAC, MP3),
 * AV1, VP, Opus and FLAC in ISOBMFF, ETSI TS 102 366 annex F (AC-3, E-AC-3).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/bytes.h"
#include "media/colours_impl.h"
#include "media/mp4_impl.h"
#include "media/sound_impl.h"

#define SIZE_MOST 0xffffu
#define RATE_MOST 0xffffu
#define INCH 0x480000 /* 72 pixels */
#define HVCC_HEAD 23u
#define OPUS_HEAD 19u
#define FLAC_MAGIC 4u

/* ---- pictures ---- */

static void
add_box(struct mp4_out *o, const char *type, struct str content)
{
    size_t box = mp4_open(o, type);

    mp4_add(o, content.ptr, content.len);
    mp4_close(o, box);
}

/* The arrays of parameter sets, each told to be complete, which "hvc1" asks
 * for. */
static void
add_hevc_arrays(struct mp4_out *o, struct str rest)
{
    while (rest.len >= 3) {
        const uint8_t *p = (const uint8_t *)rest.ptr;
        size_t size = 3;

        for (uint32_t n = get_be16(p + 1); n > 0 && size + 2 <= rest.len; n--) {
            size += 2 + get_be16(p + size);
        }
        size = size < rest.len ? size : rest.len;
        mp4_u8(o, p[0] | 0x80u);
        mp4_add(o, p + 1, size - 1);
        rest = str_skip(rest, size);
    }
    mp4_add(o, rest.ptr, rest.len);
}

static void
add_hevc(struct mp4_out *o, struct str config)
{
    size_t box = mp4_open(o, "hvcC");

    mp4_u8(o, 1); /* some say version 0 */
    mp4_add(o, config.ptr + 1, HVCC_HEAD - 1);
    add_hevc_arrays(o, str_skip(config, HVCC_HEAD));
    mp4_close(o, box);
}

static void
add_picture_config(struct mp4_out *o, const struct media_track *t)
{
    size_t box;

    switch (t->codec) {
    case CODEC_H264:
        add_box(o, "avcC", t->config);
        break;
    case CODEC_HEVC:
        add_hevc(o, t->config);
        break;
    case CODEC_AV1:
        add_box(o, "av1C", t->config);
        break;
    default:
        box = mp4_open_full(o, "vpcC", 1, 0);
        mp4_add(o, t->config.ptr, t->config.len);
        mp4_close(o, box);
        break;
    }
}

/* ColourInformationBox (14496-12, 12.1.5) */
static void
add_colours(struct mp4_out *o, const struct media_track *t)
{
    struct media_colours c = colours_of(t->codec, t->config);
    size_t box;

    if (!c.known) {
        return;
    }
    box = mp4_open(o, "colr");
    mp4_add(o, "nclx", 4);
    mp4_u16(o, c.primaries);
    mp4_u16(o, c.transfer);
    mp4_u16(o, c.matrix);
    mp4_u8(o, c.full_range ? 0x80 : 0);
    mp4_close(o, box);
}

/* VisualSampleEntry (14496-12, 12.1.3) */
static void
add_picture(struct mp4_out *o, const struct media_track *t, const char *type)
{
    size_t box = mp4_open(o, type);

    mp4_zeros(o, 6);
    mp4_u16(o, 1); /* data reference */
    mp4_zeros(o, 16);
    mp4_u16(o, t->width < SIZE_MOST ? t->width : SIZE_MOST);
    mp4_u16(o, t->height < SIZE_MOST ? t->height : SIZE_MOST);
    mp4_u32(o, INCH);
    mp4_u32(o, INCH);
    mp4_u32(o, 0);
    mp4_u16(o, 1); /* frames in a sample */
    mp4_zeros(o, 32);
    mp4_u16(o, 24); /* depth */
    mp4_u16(o, 0xffff);
    add_picture_config(o, t);
    add_colours(o, t);
    mp4_close(o, box);
}

/* ---- sound ---- */

/* A descriptor's tag and length (14496-1, 8.3.3), the length in four bytes. */
static void
add_descriptor(struct mp4_out *o, uint32_t tag, size_t len)
{
    mp4_u8(o, tag);
    for (int shift = 21; shift >= 0; shift -= 7) {
        mp4_u8(o, (uint32_t)(len >> shift & 0x7f) | (shift > 0 ? 0x80u : 0));
    }
}

static void
add_elementary(struct mp4_out *o, const struct media_track *t)
{
    bool mp3 = t->codec == CODEC_MP3;
    size_t specific = mp3 ? 0 : 5 + t->config.len;
    size_t box = mp4_open_full(o, "esds", 0, 0);

    add_descriptor(o, 3, 3 + 5 + 13 + specific + 5 + 1);
    mp4_u16(o, 0);
    mp4_u8(o, 0);
    add_descriptor(o, 4, 13 + specific);
    mp4_u8(o, mp3 ? 0x6b : 0x40);
    mp4_u8(o, 0x15); /* sound */
    mp4_zeros(o, 3 + 4 + 4);
    if (!mp3) {
        add_descriptor(o, 5, t->config.len);
        mp4_add(o, t->config.ptr, t->config.len);
    }
    add_descriptor(o, 6, 1);
    mp4_u8(o, 2);
    mp4_close(o, box);
}

/* OpusHead has the same fields, its numbers turned round. */
static void
add_opus(struct mp4_out *o, struct str config)
{
    const uint8_t *p = (const uint8_t *)config.ptr;
    size_t box = mp4_open(o, "dOps");

    mp4_u8(o, 0);
    mp4_u8(o, p[9]);
    mp4_u16(o, (uint32_t)p[11] << 8 | p[10]); /* pre-skip */
    mp4_u32(o, get_le32(p + 12));
    mp4_u16(o, (uint32_t)p[17] << 8 | p[16]);
    mp4_u8(o, p[18]);
    if (p[18] != 0) {
        mp4_add(o, p + OPUS_HEAD, 2 + (size_t)p[9]);
    }
    mp4_close(o, box);
}

static void
add_flac(struct mp4_out *o, struct str config)
{
    size_t box = mp4_open_full(o, "dfLa", 0, 0);

    mp4_u8(o, 0x80); /* STREAMINFO, and no block behind it */
    mp4_add(o, config.ptr + FLAC_MAGIC + 1, FLAC_CONFIG - FLAC_MAGIC - 1);
    mp4_close(o, box);
}

/* AC3SpecificBox (F.4) */
static void
add_ac3(struct mp4_out *o, const struct ac3_frame *f)
{
    size_t box = mp4_open(o, "dac3");
    uint32_t v = f->fscod << 22 | f->bsid << 17 | f->bsmod << 14 |
                 f->acmod << 11 | f->lfeon << 10 | f->rate_code << 5;

    mp4_u8(o, v >> 16);
    mp4_u16(o, v);
    mp4_close(o, box);
}

/* EC3SpecificBox (F.6) of one independent substream. */
static void
add_eac3(struct mp4_out *o, const struct ac3_frame *f)
{
    size_t box = mp4_open(o, "dec3");
    uint32_t kbps =
        (uint32_t)((uint64_t)f->size * 8 * f->rate / f->samples / 1000);

    mp4_u16(o, (kbps < 0x1fff ? kbps : 0x1fff) << 3);
    mp4_u16(o, f->fscod << 14 | f->bsid << 9 | f->bsmod << 4 | f->acmod << 1 |
                   f->lfeon);
    mp4_u8(o, 0);
    mp4_close(o, box);
}

static void
add_sound_config(struct mp4_out *o, const struct media_track *t)
{
    struct ac3_frame frame;

    switch (t->codec) {
    case CODEC_OPUS:
        add_opus(o, t->config);
        break;
    case CODEC_FLAC:
        add_flac(o, t->config);
        break;
    case CODEC_AC3:
        ac3_read(&frame, t->config);
        add_ac3(o, &frame);
        break;
    case CODEC_EAC3:
        ac3_read(&frame, t->config);
        add_eac3(o, &frame);
        break;
    default:
        add_elementary(o, t);
        break;
    }
}

/* The rate has 16 bits.  Of a higher one they hold a regular division with FLAC
 * (FLAC in ISOBMFF, 3.3.1), with others nothing: it is in their configuration
 * and the timescale. */
static uint32_t
shown_rate(const struct media_track *t)
{
    uint32_t rate = t->timescale;

    if (rate > RATE_MOST && t->codec != CODEC_FLAC) {
        return 0;
    }
    while (rate > RATE_MOST && rate % 2 == 0) {
        rate /= 2;
    }
    return rate < RATE_MOST ? rate : RATE_MOST;
}

/* AudioSampleEntry (14496-12, 12.2.3) */
static void
add_sound(struct mp4_out *o, const struct media_track *t, const char *type)
{
    size_t box = mp4_open(o, type);
    const uint8_t *p = (const uint8_t *)t->config.ptr;
    uint32_t bits = 16;

    if (t->codec == CODEC_FLAC) {
        bits = (get_be16(p + 20) >> 4 & 31) + 1;
    }
    mp4_zeros(o, 6);
    mp4_u16(o, 1); /* data reference */
    mp4_zeros(o, 8);
    mp4_u16(o, t->channels > 0 ? t->channels : 2);
    mp4_u16(o, bits);
    mp4_u32(o, 0);
    mp4_u32(o, shown_rate(t) << 16);
    add_sound_config(o, t);
    mp4_close(o, box);
}

/* ---- for others ---- */

static const char *
entry_type(enum media_codec codec)
{
    static const char types[][5] = {
        [CODEC_H264] = "avc1", [CODEC_HEVC] = "hvc1", [CODEC_AV1] = "av01",
        [CODEC_VP9] = "vp09",  [CODEC_AAC] = "mp4a",  [CODEC_MP3] = "mp4a",
        [CODEC_OPUS] = "Opus", [CODEC_FLAC] = "fLaC", [CODEC_AC3] = "ac-3",
        [CODEC_EAC3] = "ec-3", [CODEC_OTHER] = "",
    };

    return types[codec <= CODEC_OTHER ? codec : CODEC_OTHER];
}

static bool
has_opus_head(struct str config)
{
    const uint8_t *p = (const uint8_t *)config.ptr;

    return config.len >= OPUS_HEAD &&
           (p[18] == 0 || config.len >= OPUS_HEAD + 2 + (size_t)p[9]);
}

bool
mp4_carries(const struct media_track *t)
{
    return entry_type(t->codec)[0] != '\0' &&
           (t->codec != CODEC_OPUS || has_opus_head(t->config));
}

void
mp4_entry(struct mp4_out *o, const struct media_track *t)
{
    if (t->type == MEDIA_VIDEO) {
        add_picture(o, t, entry_type(t->codec));
    } else {
        add_sound(o, t, entry_type(t->codec));
    }
}

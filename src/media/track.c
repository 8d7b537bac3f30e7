/*
 * Tracks from codec headers, samples from messages.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "media/track.h"

#include "media/describe.h"
#include "media/inspect_impl.h"
#include "media/sound_impl.h"

/* Rates of sound below it are nonsense, and so are channels above it. */
#define RATE_LEAST 1000
#define CHANNELS_MOST 64

/* ---- pictures ---- */

/* Whether a configuration has what containers take from it. */
static int
check_picture(struct media_track *t)
{
    const uint8_t *p = (const uint8_t *)t->config.ptr;

    switch (t->codec) {
    case CODEC_H264: /* with a sequence parameter set */
        return t->config.len > 8 && p[0] == 1 && (p[5] & 0x1f) > 0 ? 0 : -1;
    case CODEC_HEVC:
        return t->config.len > 23 && p[0] <= 1 ? 0 : -1;
    case CODEC_AV1:
        return t->config.len >= 4 && p[0] == 0x81 ? 0 : -1;
    case CODEC_VP9:
        if (t->config.len >= 12 && p[0] == 1) { /* of a full box */
            t->config = str_skip(t->config, 4);
        }
        return t->config.len >= 8 ? 0 : -1;
    default:
        return t->config.len > 0 ? 0 : -1;
    }
}

static int
picture_of(struct media_track *t, struct str payload)
{
    const uint8_t *p = (const uint8_t *)payload.ptr;
    struct media_video v = media_describe_video(p, payload.len);

    if (!media_codec_has_header(t->codec) && t->codec != CODEC_VP8) {
        return -1; /* no container has it */
    }
    t->timescale = MEDIA_VIDEO_TIMESCALE;
    t->width = v.width;
    t->height = v.height;
    if (t->codec == CODEC_VP8 &&
        !media_frame_size(p, payload.len, &t->width, &t->height)) {
        return -1;
    }
    return check_picture(t);
}

/* ---- sound ---- */

static int
set_rate(struct media_track *t, uint32_t timescale, uint32_t rate,
         uint32_t channels)
{
    t->timescale = timescale;
    t->rate = rate;
    t->channels = channels;
    return timescale >= RATE_LEAST && rate >= RATE_LEAST &&
                   channels <= CHANNELS_MOST
               ? 0
               : -1;
}

static int
sound_of(struct media_track *t)
{
    struct media_audio a = { .codec = t->codec };
    struct aac_config aac;
    struct ac3_frame ac3;

    switch (t->codec) {
    case CODEC_AAC:
        return aac_read(&aac, t->config) == -1
                   ? -1
                   : set_rate(t, aac.core_rate, aac.rate, aac.channels);
    case CODEC_MP3:
        describe_mp3(&a, t->config);
        return set_rate(t, a.rate, a.rate, a.channels);
    case CODEC_OPUS:
        describe_opus(&a, t->config);
        return set_rate(t, a.rate, a.rate, a.channels);
    case CODEC_FLAC:
        describe_flac(&a, t->config);
        t->config = str_first(t->config, FLAC_CONFIG);
        return t->config.len < FLAC_CONFIG || (t->config.ptr[4] & 0x7f) != 0
                   ? -1
                   : set_rate(t, a.rate, a.rate, a.channels);
    case CODEC_AC3:
    case CODEC_EAC3:
        return ac3_read(&ac3, t->config) == -1 ||
                       ac3.enhanced != (t->codec == CODEC_EAC3)
                   ? -1
                   : set_rate(t, ac3.rate, ac3.rate, ac3.channels);
    default:
        return -1;
    }
}

/* ---- for others ---- */

bool
media_codec_has_header(enum media_codec codec)
{
    switch (codec) {
    case CODEC_H264:
    case CODEC_HEVC:
    case CODEC_AV1:
    case CODEC_VP9:
    case CODEC_VVC:
    case CODEC_AAC:
    case CODEC_OPUS:
    case CODEC_FLAC:
        return true;
    case CODEC_NONE:
    case CODEC_VP8:
    case CODEC_H263:
    case CODEC_SCREEN:
    case CODEC_VP6:
    case CODEC_MP3:
    case CODEC_AC3:
    case CODEC_EAC3:
    case CODEC_PCM:
    case CODEC_ADPCM:
    case CODEC_G711A:
    case CODEC_G711U:
    case CODEC_SPEEX:
    case CODEC_NELLYMOSER:
    case CODEC_OTHER:
        return false;
    }
    return false;
}

int
media_track_of(struct media_track *t, enum media_type type, struct str payload)
{
    struct inspect_place place;

    if ((type != MEDIA_VIDEO && type != MEDIA_AUDIO) ||
        inspect_whole(&place, type, payload) == -1) {
        return -1;
    }
    *t = (struct media_track){
        .type = (uint8_t)type,
        .codec = place.info.codec,
        .id = place.info.track,
        .config = str_first(str_skip(payload, place.offset), place.size),
    };
    if (media_codec_has_header(t->codec)
            ? (place.info.flags & MEDIA_HEADER) == 0
            : !place.coded) {
        return -1;
    }
    return type == MEDIA_VIDEO ? picture_of(t, payload) : sound_of(t);
}

int
media_sample_head(struct media_sample_head *h, enum media_type type,
                  struct str front)
{
    struct inspect_place place;

    if ((type != MEDIA_VIDEO && type != MEDIA_AUDIO) ||
        inspect_place(&place, type, front) == -1 || !place.coded ||
        place.size == 0) {
        return -1;
    }
    *h = (struct media_sample_head){
        .offset = place.offset,
        .cts = place.cts,
        .key = (place.info.flags & MEDIA_KEY) != 0 || type == MEDIA_AUDIO,
        .codec = place.info.codec,
        .track = place.info.track,
    };
    return 0;
}

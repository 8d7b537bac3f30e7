/*
 * Tracks and samples: what every container needs to know of pictures and
 * sounds, read from the messages that carry them.  No I/O, no memory.
 *
 *   track.c         tracks from codec headers, samples from messages
 *   duration.c      how long a frame of sound lasts
 *   codec_string.c  names of codecs and of ranges of light in playlists
 *   colours.c       what numbers of a picture mean
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MEDIA_TRACK_H
#define MEDIA_TRACK_H

#include "media/media.h"

#include <sys/uio.h>

/* Bytes at the front of a message that suffice for media_sample_head() and
 * media_sound_duration(). */
#define MEDIA_FRONT_MAX 64u
/* The timescale of pictures, units a second; that of sound is its rate. */
#define MEDIA_VIDEO_TIMESCALE 90000u

struct media_track {
    uint8_t type;       /* enum media_type: MEDIA_VIDEO or MEDIA_AUDIO */
    uint8_t codec;      /* enum media_codec */
    uint8_t id;         /* Enhanced RTMP track, else 0 */
    struct str config;  /* the codec's configuration (avcC, hvcC, av1C, vpcC,
                           AudioSpecificConfig, OpusHead, "fLaC" and STREAMINFO,
                           without boxes around it); of a codec without one the
                           front of a frame.  Borrowed */
    uint32_t timescale; /* units a second, of sound those samples that are
                           counted: half the rate with SBR of AAC */
    uint32_t width, height;  /* of pictures, pixels; 0: the header of VP9 lacks
                                them, media_frame_size() has them of a key
                                frame */
    uint32_t rate, channels; /* of sound as it comes out; channels 0: unknown */
};

/* The track that a codec header (MEDIA_HEADER) begins, the lowest of several,
 * or of a codec that has none a frame (MP3, AC-3, E-AC-3, VP8).  -1: the
 * message begins none, or its header is invalid. */
int media_track_of(struct media_track *t, enum media_type type,
                   struct str payload);
/* Whether a codec needs a header before its first frame. */
bool media_codec_has_header(enum media_codec codec);

/* How a message that holds a coded picture or sound begins. */
struct media_sample_head {
    uint32_t offset; /* bytes of the message before the sample */
    int32_t cts;     /* composition time less decode time, ms */
    bool key;
    uint8_t codec; /* enum media_codec */
    uint8_t track;
};
/* front: the first bytes of a message, MEDIA_FRONT_MAX or all of them.  -1: it
 * holds no sample (a header, metadata, an end of sequence, several tracks in
 * one message). */
int media_sample_head(struct media_sample_head *h, enum media_type type,
                      struct str front);

/* How long a frame of sound lasts, in units of its track; body: its first
 * bytes, behind media_sample_head.offset.  0: cannot be told. */
uint32_t media_sound_duration(const struct media_track *t, struct str body);

/* A sample on its way into a container. */
struct media_sample {
    uint32_t size;     /* bytes */
    uint32_t duration; /* units of its track */
    int32_t cts;       /* the same */
    bool key;
    const struct iovec *pieces; /* its bytes, borrowed; NULL where a container
                                   does not look at them */
    size_t piece_count;
};

/* "avc1.64001f", "mp4a.40.2" (RFC 6381); empty: the codec has none.  Returns
 * its length. */
#define MEDIA_CODEC_STRING_MAX 64u
size_t media_codec_string(char dst[MEDIA_CODEC_STRING_MAX],
                          const struct media_track *t);
/* "SDR", "PQ", "HLG": VIDEO-RANGE of pictures (RFC 8216bis, 4.4.6.2). */
const char *media_video_range(const struct media_track *t);

#endif

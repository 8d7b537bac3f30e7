/*
 * The codecs of encoder.h, as its front sees them.
 *
 *   encoder.c       the front: rates, resampling, the order of calls
 *   encoder_wav.c   WAV, bare PCM, mu-law
 *   encoder_flac.c  FLAC, by libFLAC
 *   encoder_opus.c  Ogg Opus, by libopusenc
 *   encoder_mp3.c   MP3, by libmp3lame
 *
 * A build without one of the libraries has -DHAVE_...=0; its codec is NULL.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#ifndef MODULES_TTS_WEIR_SPEAKER_ENCODER_IMPL_H
#define MODULES_TTS_WEIR_SPEAKER_ENCODER_IMPL_H

#include "encoder.h"

#include <soxr.h>

#ifndef HAVE_FLAC
#define HAVE_FLAC 1
#endif
#ifndef HAVE_OPUSENC
#define HAVE_OPUSENC 1
#endif
#ifndef HAVE_LAME
#define HAVE_LAME 1
#endif

struct encoder_codec {
    /* Hz of the samples that it is given, and of what a decoder makes of the
     * answer; rate_out may be 0. */
    unsigned (*takes)(unsigned rate_in, int64_t rate_out);
    unsigned (*gives)(unsigned rate_in, int64_t rate_out);
    /* Makes e->state; NULL: it needs none. */
    int (*open)(struct encoder *e, struct errmsg *err);
    /* The bytes before the first sample; write and end come after it. */
    int (*begin)(struct encoder *e, struct errmsg *err);
    int (*write)(struct encoder *e, const int16_t *samples, size_t n,
                 struct errmsg *err);
    int (*end)(struct encoder *e, struct buf *head, struct errmsg *err);
    void (*close)(struct encoder *e); /* frees e->state; NULL: none */
};

extern const struct encoder_codec encoder_wav, encoder_pcm, encoder_mulaw;
#if HAVE_FLAC
extern const struct encoder_codec encoder_flac;
#endif
#if HAVE_OPUSENC
extern const struct encoder_codec encoder_opus;
#endif
#if HAVE_LAME
extern const struct encoder_codec encoder_mp3;
#endif

struct encoder {
    const struct encoder_codec *codec;
    encoder_sink *sink;
    void *arg;
    unsigned rate_in;  /* Hz of what encoder_write() is given */
    unsigned rate_fed; /* Hz of what the codec is given */
    unsigned rate;     /* Hz of the answer */
    int64_t taken;     /* samples that encoder_write() was given */
    int64_t fed;       /* samples that the codec was given */
    soxr_t resampler;  /* owned; NULL: rate_in is rate_fed */
    void *state;       /* owned, the codec's */
    bool begun;        /* the header is out */
    bool refused;      /* the sink wants no more */
};

/* The rate asked for, or that of the samples. */
unsigned encoder_usual_rate(unsigned rate_in, int64_t rate_out);
/* Gives bytes to the sink; -1 now and from then on: it wants no more. */
int encoder_send(struct encoder *e, const void *data, size_t n);
/* The reason of a failure of a library: none if the sink wanted no more.
 * Returns -1. */
int encoder_fail(struct encoder *e, struct errmsg *err, const char *what,
                 const char *why);

#endif

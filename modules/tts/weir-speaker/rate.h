/*
 * length_scale: the sound is stretched by libsonic, never by the library.
 *
 * The library's rate changes pauses, vowels and consonants each by another
 * factor: at 300 words a minute a text lasts from 0.40 to 0.71 of what it lasts
 * at 175.  So it speaks at its normal rate, and libsonic, which keeps the
 * pitch, gives the sound the length that was asked for.  A length_scale of 1
 * changes no sample.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#ifndef MODULES_TTS_WEIR_SPEAKER_RATE_H
#define MODULES_TTS_WEIR_SPEAKER_RATE_H

#include <stddef.h>
#include <stdint.h>

/* Takes samples; -1: no more are wanted. */
typedef int rate_sink(void *arg, const int16_t *samples, size_t n);

struct rate {
    struct sonicStreamStruct *stretcher; /* owned; NULL: there is no need */
    double scale;                        /* output samples for one of input */
    rate_sink *sink;
    void *arg;
    int64_t in;   /* samples since the last flush */
    int64_t base; /* samples that went out before it */
    int64_t out;  /* samples that went out */
};

/* -1: memory is out. */
int rate_init(struct rate *r, unsigned hz, int64_t length_scale,
              rate_sink *sink, void *arg);
void rate_clear(struct rate *r);
/* -1 as the sink says. */
int rate_add(struct rate *r, const int16_t *samples, size_t n);
/* All that is still inside goes out. */
int rate_flush(struct rate *r);
/* Samples that are not stretched, behind all that was added. */
int rate_silence(struct rate *r, int64_t samples);
/* Where the next sample that is added will be in what goes out. */
int64_t rate_position(const struct rate *r);

#endif

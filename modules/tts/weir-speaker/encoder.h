/*
 * From samples to the bytes of an answer: WAV, bare PCM, mu-law, FLAC, Opus,
 * MP3, at the rate that the client asked for.
 *
 * Bytes come out in order, by the sink.  When the answer is whole and lies in a
 * file (`whole`), encoder_end() tells what the first bytes have to be replaced
 * with, so that lengths in the header are exact; a stream has the header of
 * unknown length (0xffffffff in both fields of RIFF).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#ifndef MODULES_TTS_WEIR_SPEAKER_ENCODER_H
#define MODULES_TTS_WEIR_SPEAKER_ENCODER_H

#include "base/buf.h"
#include "base/errmsg.h"

#include <stdbool.h>
#include <stdint.h>

/* Takes bytes of the answer; -1: it wants no more. */
typedef int encoder_sink(void *arg, const void *data, size_t n);

#define ENCODER_HEAD_MAX 4096 /* bytes of a head, at most */

struct encoder_options {
    int format;       /* enum speech_format (request.h), not TIMINGS */
    unsigned rate_in; /* Hz of the samples */
    int64_t rate_out; /* Hz of the answer; 0: the format's usual one */
    encoder_sink *sink;
    void *arg;
};

struct encoder;

/* Whether this build can; err has what it can (FLAC, Opus and MP3 may be
 * missing). */
int encoder_check(int format, struct errmsg *err);
/* The rate of the answer, Hz: what a decoder gives.  Opus is always 48000, MP3
 * the lowest of its nine rates that loses nothing. */
unsigned encoder_rate(const struct encoder_options *o);
/* NULL with err: the format is not there, or the library fails. */
struct encoder *encoder_new(const struct encoder_options *o,
                            struct errmsg *err);
/* n samples, mono.  The first call, even of 0 samples, writes the header.  -1:
 * the sink wants no more, or with err the library failed. */
int encoder_write(struct encoder *e, const int16_t *samples, size_t n,
                  struct errmsg *err);
/* The rest of the bytes; begins the answer if nothing did.  Into head, which
 * has a limit of ENCODER_HEAD_MAX: what belongs at the start of the file, as
 * many bytes as were written there first; empty: it is right as it is. */
int encoder_end(struct encoder *e, struct buf *head, struct errmsg *err);
int64_t encoder_samples(const struct encoder *e); /* of the answer, so far */
void encoder_free(struct encoder **e);

#endif

/*
 * One request through libespeak-ng: voice, scales, text; samples come out.
 *
 *   synth.c    the library: starting it, one synthesis, its events
 *   voice.c    a voice with its variant, flutter and roughness as one file in
 *              memory
 *   text.c     texts without what the library would take for commands
 *   rate.c     length_scale: libsonic, and silence between sentences
 *   jitter.c   noise_w_scale: commands before words
 *   timings.c  events to the JSON of words and sentences
 *
 * The library keeps state between calls, so a process makes one synthesis.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#ifndef MODULES_TTS_WEIR_SPEAKER_SYNTH_H
#define MODULES_TTS_WEIR_SPEAKER_SYNTH_H

#include "base/errmsg.h"
#include "request.h"

/* Starts the library on the tree of data directories (data_files.h).  The rate
 * in Hz, or -1 with err. */
int synth_init(struct errmsg *err);
/* Zygote: loads a voice, so that children find it loaded; file as in a request
 * for a child. */
void synth_warm(struct str file);

/* n samples at the library's rate; -1: no more are wanted. */
typedef int synth_sink(void *arg, const int16_t *samples, size_t n);

struct synth_error {
    int status;        /* of HTTP */
    const char *field; /* of the request, static; "" */
    struct errmsg message;
};

/* Speaks r.  Returns 0; 1 when the sink wanted no more; -1 with err: the voice
 * or variant cannot be loaded (500), the sound is longer than max_audio (413).
 * Where r->format is SPEECH_TIMINGS the sink gets nothing, and json, the
 * answer: {voice, sample_rate, duration, words: [{text, start, end, from, to}],
 * sentences: [...]}; else json is not touched. */
int synth_speak(const struct speech_request *r, synth_sink *sink, void *arg,
                struct buf *json, struct synth_error *err);

#endif

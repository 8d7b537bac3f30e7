/*
 * When each word and sentence is spoken: events of the library to JSON.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#ifndef MODULES_TTS_WEIR_SPEAKER_TIMINGS_H
#define MODULES_TTS_WEIR_SPEAKER_TIMINGS_H

#include "base/buf.h"

#include <stdbool.h>

struct timing {
    int64_t start, end; /* samples of the answer */
    size_t from, to;    /* characters of the text, from 0; to: behind it */
};

struct timing_list {
    struct timing *items; /* owned */
    size_t n, size;
};

struct timings {
    struct timing_list words, sentences;
    bool open;   /* the last word has not ended */
    bool failed; /* memory is out */
};

void timings_init(struct timings *t);
void timings_clear(struct timings *t);
/* At a sample of the answer: a word of the text begins; a sentence does; the
 * word that was spoken has ended. */
void timings_word(struct timings *t, int64_t sample, size_t from, size_t to);
void timings_sentence(struct timings *t, int64_t sample, size_t from);
void timings_end(struct timings *t, int64_t sample);

struct timings_of { /* what they are about */
    struct str text;
    struct str voice;
    unsigned rate;   /* Hz */
    int64_t samples; /* of the answer */
};

/* The object of the answer.  -1: it does not fit, or memory is out. */
int timings_json(struct timings *t, const struct timings_of *of,
                 struct buf *out);

#endif

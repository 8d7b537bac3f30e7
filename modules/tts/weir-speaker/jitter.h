/*
 * noise_w_scale: each word is spoken a bit slower or faster than it would be.
 *
 * The library takes commands inside a text: 0x01, a rate, "S".  One is put in
 * front of most words.  Slower and faster words keep the balance, so the whole
 * lasts as long as without them.  Words of scripts that are written without
 * spaces are not seen, and change in whole phrases.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#ifndef MODULES_TTS_WEIR_SPEAKER_JITTER_H
#define MODULES_TTS_WEIR_SPEAKER_JITTER_H

#include "base/buf.h"

#include <stdbool.h>

struct jitter_place {
    size_t at;     /* character of the changed text, where a command begins */
    size_t length; /* characters of the command */
    size_t before; /* characters of all commands in front of it */
};

struct jitter {
    struct buf text;             /* the changed text, with a NUL */
    struct jitter_place *places; /* owned */
    size_t n, size;
};

struct jitter_options {
    int64_t amount; /* noise_w_scale, millionths */
    uint64_t seed;
    bool ssml;
};

/* For a text that has passed text_clean().  -1: memory is out.
 * jitter_clear() follows in any case. */
int jitter_make(struct jitter *j, struct str text,
                const struct jitter_options *o);
void jitter_clear(struct jitter *j);
/* The character of the text that a character of the changed one was. */
size_t jitter_original(const struct jitter *j, size_t character);

/* Words a minute at which a word lasts `factor` (thousandths) times as long as
 * at the normal rate. */
int jitter_rate(int64_t factor);

#endif

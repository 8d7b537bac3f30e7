/*
 * What a new player needs before its first frame: metadata and the codec
 * headers, the newest of each kind and track, in one segment that is replaced
 * as a whole, so that a reader never sees half a change.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_PROLOGUE_H
#define LIVE_PROLOGUE_H

#include "live/arena.h"

/* The one in force; NULL when there is none.  Good until the turn ends. */
const struct prologue *prologue_of(struct stream *s);

enum prologue_change {
    PROLOGUE_SAME, /* this very content was there */
    PROLOGUE_NEW,  /* the first of its kind */
    PROLOGUE_CHANGED,
    PROLOGUE_FULL, /* too large to keep: new players go without it */
};

/* Writer: puts an item in, over an older one of its kind. */
enum prologue_change prologue_put(struct stream *s, enum media_type type,
                                  struct media_info info, struct str payload);
/* Writer: forgets all. */
void prologue_forget(struct stream *s);

#endif

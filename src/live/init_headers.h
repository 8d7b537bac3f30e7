/*
 * The messages that a new player needs before its first frame: metadata, the
 * codec headers, and Enhanced RTMP's metadata of a track (colours, speakers),
 * the newest of each kind and track.  They are in one segment that is replaced
 * as a whole, so that a reader never sees half a change.  One of several tracks
 * stays until a newer one has all of them, in front of newer ones that have
 * some.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_INIT_HEADERS_H
#define LIVE_INIT_HEADERS_H

#include "live/arena.h"

/* Each change takes a fresh segment, and the old one is not free until all
 * processes have made a turn.  So a writer has a limited number of changes: a
 * burst (several tracks begin at once, and may all change), then so many a
 * second.  Codec headers have one limit, metadata of the stream and of its
 * tracks have another.
 */
#define PROLOGUE_BURST 32
#define PROLOGUE_RATE 4 /* a second */

/* The writer's private state of the headers of its stream. */
struct prologue_writer {
    int64_t spent_until[2]; /* clock_ms() when all changes made are forgiven:
                               of codec headers, of metadata */
    /* Epochs at which segments were retired that may not be free yet, oldest
     * first. */
    uint64_t retired[2 * PROLOGUE_BURST];
    uint32_t first, count;
};

/* The one in force; NULL when there is none.  Good until the turn ends. */
const struct prologue *prologue_of(struct stream *s);
/* A copy of its item i; false: it has no more.  The bytes lie within, whatever
 * stands there. */
bool prologue_item(const struct prologue *p, uint32_t i,
                   struct prologue_item *item);

enum prologue_change {
    PROLOGUE_SAME, /* this very content was there */
    PROLOGUE_NEW,  /* the first of its kind */
    PROLOGUE_CHANGED,
    PROLOGUE_FULL,  /* too large to keep: new players go without it */
    PROLOGUE_OFTEN, /* one change too many: the older one stays in force */
};

/* A writer begins: drops the items of an earlier one. */
void prologue_begin(struct prologue_writer *w, struct stream *s);
/* Writer: puts an item in, over an older one of its kind. */
enum prologue_change prologue_put(struct prologue_writer *w, struct stream *s,
                                  enum media_type type, struct media_info info,
                                  struct str payload);
/* Segments that the headers of the stream take: the one in force, and those of
 * this writer that are not free for others yet. */
uint64_t prologue_held(struct prologue_writer *w, struct stream *s);

#endif

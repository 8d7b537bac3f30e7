/*
 * The time of a stream, and the place of each publisher's clock on it.
 *
 * Players never go back in time.  The frames of a later publisher continue the
 * stream's time, with the gap as long as it was; a clock that jumps back is set
 * anew in the same way.  Sound and pictures share one offset, so that they stay
 * together.  But each is compared with its own last time only: one may be far
 * behind the other all the time.  When the one that did not set the offset
 * would go back, its frames stand 1 ms apart until it is past its own last
 * time.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_TIMELINE_H
#define LIVE_TIMELINE_H

#include "live/arena.h"

/* The writer's own. */
struct timeline {
    uint32_t offset; /* added to the publisher's timestamps, ms */
    bool later;      /* the stream had times before this publisher */
    bool joined;     /* offset is set: its first frame has come */
    uint32_t first;  /* the stream's, of that frame */
    struct timeline_kind {
        bool known;
        uint32_t last; /* latest of its leading track, with the offset */
        bool behind;   /* still before what an earlier clock had reached */
    } kinds[2];        /* sound, pictures */
};

/* Writer: a new publisher. */
void timeline_start(struct timeline *t, struct stream *s);
/* Writer: the stream's time of a frame, whose type, flags and arrival are set,
 * and to which the publisher gave this timestamp.  Of several tracks of its
 * kind one leads; only its times show whether the clock went back. */
uint32_t timeline_place(struct timeline *t, struct stream *s,
                        const struct frame *f, uint32_t timestamp,
                        bool leading);
/* Writer: the frame is about to be published. */
void timeline_note(struct stream *s, const struct frame *f);

#endif

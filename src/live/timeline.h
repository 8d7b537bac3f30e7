/*
 * The time of a stream, and the place of each publisher's clock on it.
 *
 * Players never go back in time.  The frames of a later publisher continue the
 * stream's time, with the gap as long as it was.  Sound and pictures share one
 * offset, so that they stay together.  But each is compared with its own last
 * time only: one may be far behind the other all the time.
 *
 * A timestamp far from those before it (a second back, or half a second more
 * ahead than went by) moves nothing: the frame is placed by its neighbours.
 * When three in a row go on from each other, the clock is there now: a jump
 * back, or of more than 10 s ahead, moves that kind by as much, so that its
 * time goes on; a smaller one is a gap.  The other kind, if it jumps by as
 * much, is moved by exactly as much.  When frames would go back then, they
 * stand 1 ms apart until they are past the last time.
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
    bool anew;       /* a clock was set anew; whoever asks clears it */
    uint32_t first;  /* the stream's, of that frame */
    struct timeline_kind {
        bool known;
        bool behind;        /* still before what an earlier clock had reached */
        uint32_t last;      /* latest of its leading track, in the stream */
        uint32_t way;       /* to it from the one before, ms; 0: unknown */
        int64_t arrived_ms; /* the newest of that track, */
        uint32_t other;     /* when this was the latest of the other kind */
        uint32_t shift;     /* added beside offset: its clock jumped */
        bool headed;     /* its codec header came before its first frame ... */
        uint32_t header; /* ... and has that time, as that frame may */
        uint32_t strays; /* far from those before, in a row */
        uint32_t stray;  /* timestamp of the last of them */
    } kinds[2];          /* sound, pictures */
};

/* Writer: a new publisher. */
void timeline_start(struct timeline *t, struct stream *s);
/* Writer: the stream's time of a frame, whose type, flags and arrival are set,
 * and to which the publisher gave this timestamp.  Of several tracks of its
 * kind one leads; only its times show where the clock is. */
uint32_t timeline_place(struct timeline *t, struct stream *s,
                        const struct frame *f, uint32_t timestamp,
                        bool leading);
/* Writer: the frame is about to be published. */
void timeline_note(struct stream *s, const struct frame *f);

#endif

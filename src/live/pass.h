/*
 * A pass: all players that are behind are sent what was released, before the
 * process sleeps.
 *
 * Those of a framing that stand at the same place share one batch.  Where
 * there is a ring, their sends are collected and made by few system calls:
 * pass_send() notes the player, pass_flush() sends and files it.  Between the
 * two nothing is told to sessions, so no connection closes and nobody stops;
 * and no send outlives the pass, so nothing of the arena is looked at after
 * the turn (see docs/live-streams.md, Giving memory back).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_PASS_H
#define LIVE_PASS_H

#include "live/batch.h"
#include "net/send_ring.h"

#define PASS_PLACES 16 /* at which players of a flush may stand */

struct hub_stream;
struct live_player;

/* What everybody gets that stands where the batch begins. */
struct pass_place {
    const struct hub_stream *hs; /* NULL: none */
    enum live_framing framing;
    uint64_t turn; /* a batch of an earlier turn is void */
    struct batch batch;
};

struct pass {
    struct send_ring *ring; /* owned; NULL: a send is a system call */
    bool running;
    struct list lost; /* players whose send failed: told after a flush */
    unsigned used;    /* places that sends in the ring may refer to */
    struct pass_place places[PASS_PLACES];
};

/* Says in the log when there is to be a ring and cannot be. */
void pass_start(bool io_uring);
void pass_stop(void);

/* Serves players that are behind, within the budget of a turn; returns
 * whether some are left. */
bool pass_serve(void);

/* The batch that begins where the player stands; its view is common, and it
 * stands at a frame's boundary.  Good until the next call. */
const struct batch *pass_batch(const struct live_player *p);
/* Takes the player's send over: true; it is filed by the flush.  Only for
 * batches of pass_batch(). */
bool pass_send(struct live_player *p, const struct batch *b);
/* Makes the sends that were collected; may stop players. */
void pass_flush(void);
/* The stream is about to be freed. */
void pass_forget(const struct hub_stream *hs);

#endif

/*
 * A pass sends the released frames to all players that are behind, before the
 * process sleeps.
 *
 * Players of one framing at the same place share one batch.  With a ring, few
 * system calls make all their sends: pass_send() notes the player, pass_flush()
 * sends and puts the player in its list.  Between the two no session is called,
 * so no connection closes and no player stops.  No send outlives the pass, so
 * nothing reads the arena after the turn (see docs/live-streams.md, Giving
 * memory back).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_PASS_H
#define LIVE_PASS_H

#include "live/batch.h"
#include "net/send_ring.h"

#define PASS_PLACES 16 /* that players of one flush may have */

struct hub_stream;
struct live_player;

/* The batch for all players at the place where it begins. */
struct pass_place {
    const struct hub_stream *hs; /* NULL: none */
    enum live_framing framing;
    uint64_t turn; /* a batch of an earlier turn is void */
    struct batch batch;
};

struct pass {
    struct send_ring *ring; /* owned; NULL: a send is a system call */
    bool running;
    struct list lost; /* players whose send failed; stopped after a flush */
    unsigned used;    /* places that sends in the ring may refer to */
    struct pass_place places[PASS_PLACES];
};

/* Logs it when the ring is wanted and cannot be made. */
void pass_start(bool io_uring);
void pass_stop(void);

/* Serves players that are behind, within the budget of a turn; returns
 * whether some are left. */
bool pass_serve(void);

/* The batch that begins where the player stands; its view is common, and it
 * stands at a frame's boundary.  Good until the next call. */
const struct batch *pass_batch(const struct live_player *p);
/* Takes the player's send over: true; the flush puts the player in its list.
 * Only for batches of pass_batch(). */
bool pass_send(struct live_player *p, const struct batch *b);
/* Makes the sends that were collected; may stop players. */
void pass_flush(void);
/* The stream is about to be freed. */
void pass_forget(const struct hub_stream *hs);

#endif

/*
 * A copy of a frame that leaves the arena while players stand in it: one copy
 * for all of them, as long as one needs it.
 *
 * A player that stands in it takes its rest from the copy.  The memory of
 * copies counts for http.max_unsent (net/unsent.h).  Over that limit, the
 * slowest copy goes: its players are closed as too slow.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_REST_H
#define LIVE_REST_H

#include "live/player.h"
#include "net/unsent.h"

struct rest {
    struct list link;    /* of its stream's; the newest first */
    struct list players; /* that stand in it, by their in_rest */
    struct unsent unsent;
    uint64_t frame;
    uint64_t taken; /* bytes that players took of it */
    struct batch_view view;
    uint32_t len;
    uint32_t video, audio; /* payload bytes */
    uint8_t bytes[];       /* all of the frame, in the framing of view */
};

/* The player stands in a frame of its stream, which is still in the arena: from
 * now on it has a copy. -1: memory is out. */
int rest_save(struct live_player *p);
/* Its socket took n bytes of it. */
void rest_took(struct live_player *p, size_t n);
/* The player needs it no more; NULL is fine. */
void rest_drop(struct live_player *p);

#endif

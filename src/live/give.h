/*
 * Sessions and streams that give way to others (net/share.h).
 *
 * Of a client's sessions, those go first that are of little use to it: viewers
 * that came with one request, and players of a name that nobody publishes, the
 * oldest first.  A viewer ends at once.  A player ends with the turn of its
 * process, which another process asks by a message.  Publishers stay.  Of
 * streams, those that are on hold go, and none that has a publisher.
 *
 * Each look is at a bounded number of records, and the next one goes on where
 * it ended.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_GIVE_H
#define LIVE_GIVE_H

#include "live/arena.h"
#include "net/share.h"

struct live_player;

enum { LIVE_POOL_SESSIONS, LIVE_POOL_STREAMS };

/* struct share_want's give. */
bool session_give(void *arg, const struct tally_holder *h, bool in_use);
bool stream_on_hold_gives(void *arg, const struct tally_holder *h, bool in_use);

/* ---- the hub ---- */

void give_start(struct loop *l);
void give_stop(void);
/* The player of a record of this process; NULL: it is no player's any more. */
void give_note(const struct session_record *r, struct live_player *p);

#endif

/*
 * Marks by which weir recognises its own relays.  With the connect command a
 * relay sends a mark of its stream and node, which nobody else can read or
 * make.  When the relay comes back to that very stream, by any name of this
 * host or through any balancer, weir refuses it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_RELAY_MARK_H
#define MODULES_RELAY_MARK_H

#include "base/str.h"
#include "rtmp/rtmp.h"

#define RELAY_MARK 17 /* bytes, NUL included */

/* The mark of a stream ("app/name") of this node, the same in all of its
 * processes; it lies in dst. */
struct str relay_mark(struct str stream, char dst[RELAY_MARK]);

/* Hook accepts: false for a relay of ours that came back to its stream. */
bool relay_accepts(const struct rtmp_request *r, struct str stream,
                   struct rtmp_refusal *no);

#endif

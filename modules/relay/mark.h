/*
 * How weir knows its own relays: with the connect command a relay says which
 * stream of which node it is of, as a mark that nobody else can read or make.
 * When it comes back to that very stream, by whatever name of this host or
 * through whatever balancer, it is refused.
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

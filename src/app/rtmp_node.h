/*
 * How weir knows its own relays: with the connect command a relay says which
 * stream of which node it is of, as a mark that nobody else can read or make.
 * When it comes back to that very stream, by whatever name of this host or
 * through whatever balancer, it is refused.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_RTMP_NODE_H
#define APP_RTMP_NODE_H

#include "base/str.h"

#define RTMP_NODE_MARK 17 /* bytes, NUL included */

/* The mark of a stream ("app/name") of this node, the same in all of its
 * processes; it lies in dst. */
struct str rtmp_node_mark(struct str stream, char dst[RTMP_NODE_MARK]);

#endif

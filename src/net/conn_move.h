/*
 * Giving a connection to another process.
 *
 * conn_detach() makes a descriptor and some bytes of it, conn_attach() makes a
 * connection of those again, in any process of this weir.  The bytes hold input
 * that no handler has eaten, output that the socket has not taken, both
 * addresses, the time when it opened, and its totals.  Its handlers pack and
 * unpack their own state (a parser, a session) themselves, before or behind.
 *
 * TLS stays where it is, because OpenSSL's state cannot be moved.  The
 * descriptor is then one end of a pair, and the process that had the connection
 * carries bytes between the other end and the peer as long as both last.  It
 * keeps 16 KB a direction at most and reads no faster than the other side
 * takes.  If that process ends, so does the connection.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_CONN_MOVE_H
#define NET_CONN_MOVE_H

#include "base/pack.h"
#include "net/conn.h"

/* Packed bytes beside those of input and output. */
#define CONN_MOVE_BYTES 256

/* Not within on_data. 0: the caller owns *fd, with all that is left of the
 * connection: on_close is not called, and c must not be touched any more.  A
 * caller that cannot give it away may attach it again. -1 with err: nothing was
 * done; out is full, c ends, or the process has as many pumps as it may have
 * (net/tls_pump.h). */
int conn_detach(struct conn *c, struct pack *out, int *fd, struct errmsg *err);

/* Takes over fd.  The caller sets handlers at once (conn_set_handlers()): the
 * loop offers them the input that was not eaten, and reading is not paused.
 * NULL with err and fd closed: fd is no connected stream, or not to the peer
 * that was packed; the bytes are not those of fd, they are more than limits
 * allow, or the system has no room. */
struct conn *conn_attach(struct loop *l, int fd, struct unpack *in,
                         const struct conn_limits *limits, struct errmsg *err);
/* Of those that were attached: how many this process has now, and who is told
 * when that changes (NULL: nobody). */
size_t conn_attached(void);
void conn_on_attached(void (*changed)(size_t now));

#endif

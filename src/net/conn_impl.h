/*
 * Shared by the two halves of a connection.
 *
 *   conn.c         life and reading
 *   conn_write.c   writing and the end
 *   conn_census.c  counts by client
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_CONN_IMPL_H
#define NET_CONN_IMPL_H

#include "net/conn.h"

/* conn.c */
/* Watches the socket for reading and writing as is wanted now; called after
 * every change that matters to it. */
void conn_watch(struct conn *c);
/* The reason why it failed. */
const char *conn_failure(const struct conn *c);
/* Takes it out of the gauge of open connections, once. */
void conn_leave_gauge(struct conn *c);
/* The same, and not counted for its client either. */
void conn_leave_counts(struct conn *c);

/* conn_move.c */
void conn_leave_attached(struct conn *c); /* is not one of these any more */

/* conn_write.c */
/* The socket takes bytes again. */
void conn_on_writable(struct conn *c);
/* Of a connection that finishes, when all is sent. */
void conn_end_our_side(struct conn *c);

#endif

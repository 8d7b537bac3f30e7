/*
 * What the two halves of a connection share.
 *
 *   conn.c        life and reading
 *   conn_write.c  writing and the end
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_CONN_IMPL_H
#define NET_CONN_IMPL_H

#include "net/conn.h"

/* conn.c */
/* Watches the socket for what is wanted now: after every change of one of the
 * reasons. */
void conn_watch(struct conn *c);
/* It failed: why. */
const char *conn_failure(const struct conn *c);
/* Not among the connections that the metrics tell any more; once is enough. */
void conn_leave_gauge(struct conn *c);
/* The same, and not counted for its client either. */
void conn_leave_counts(struct conn *c);

/* conn_write.c */
/* The socket takes bytes again. */
void conn_on_writable(struct conn *c);
/* Of a connection that finishes, when all is sent. */
void conn_end_our_side(struct conn *c);

#endif

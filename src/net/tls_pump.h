/*
 * The TLS end of a connection that another process has (net/conn_move.h).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_TLS_PUMP_H
#define NET_TLS_PUMP_H

#include "net/conn.h"

/* Takes c over: its bytes go through a pair from now on, whose far end is *fd.
 * The pump first sends c's unsent output.  The caller has packed c's unread
 * input.  -1 with err: nothing was done; there are as many pumps as
 * tls_pump_limit() says, or the system has no room. */
int tls_pump_start(struct conn *c, int *fd, struct errmsg *err);

/* How many this process may have; none before the first call. */
void tls_pump_limit(size_t most);
/* Those that carry, or send what is left.  Each has two sockets here. */
size_t tls_pumps(void);
/* Closes all, those that send what is left too. */
void tls_pump_stop(const char *reason);

#endif

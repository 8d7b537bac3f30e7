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
 * input. -1 with err: nothing was done. */
int tls_pump_start(struct conn *c, int *fd, struct errmsg *err);

#endif

/*
 * Going to the background without leaving the terminal in the dark: who
 * started weir waits until it is ready, or is told why it cannot be.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_MASTER_DAEMONIZE_H
#define APP_MASTER_DAEMONIZE_H

#include "base/errmsg.h"

/* Returns in the daemon, with the current directory as it was.  The process
 * that called it does not come back: it ends when it has been told how the
 * start went. */
int daemonize(struct errmsg *err);
/* The daemon: how it went, once (later calls, and calls in the foreground, do
 * nothing).  status is what the waiting process exits with; text is said on
 * its standard error unless it is "". */
void daemonize_tell(int status, const char *text);

#endif

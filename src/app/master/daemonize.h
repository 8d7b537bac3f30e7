/*
 * Going to the background: the process that was started in the terminal waits
 * until weir is ready, or prints why it cannot start.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_MASTER_DAEMONIZE_H
#define APP_MASTER_DAEMONIZE_H

#include "base/errmsg.h"

/* Returns in the daemon, with the current directory as it was.  In the calling
 * process it does not return: that process ends when the daemon has reported
 * how the start went. */
int daemonize(struct errmsg *err);
/* The daemon reports how the start went, once (later calls, and calls in the
 * foreground, do nothing).  The waiting process prints text on standard error
 * unless it is "", and exits with status. */
void daemonize_tell(int status, const char *text);

#endif

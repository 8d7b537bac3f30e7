/*
 * The latest log messages of all processes at level notice and above, for "show
 * events" of the control socket.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_RECENT_LOG_H
#define APP_RECENT_LOG_H

#include "proc/event_ring.h"

/* Master, before any fork; listens to the log from now on. */
int recent_log_create(struct errmsg *err);
void recent_log_destroy(void);

/* Tags are enum log_level; NULL while it is not made. */
struct recent *recent_log_list(void);

#endif

/*
 * The way in which a child ended: for the counter and for the log.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_MASTER_CHILD_END_H
#define APP_MASTER_CHILD_END_H

#include "app/master/children.h"
#include "app/metrics/metrics.h"

/* status is wait(2)'s. */
enum app_restart child_end_reason(const struct child *c, int status);
/* Logs a line; an end that nobody asked for has a higher level. spoke: its last
 * words are in the log. */
void child_end_log(const struct child *c, int status, bool spoke);

#endif

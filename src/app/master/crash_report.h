/*
 * Logs a child's last words.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_MASTER_CRASH_REPORT_H
#define APP_MASTER_CRASH_REPORT_H

#include "app/master/children.h"

/* Master, c has ended: logs its last words, if it had some, at level crit and
 * forgets them.  Returns whether it had. */
bool crash_report(const struct child *c);

#endif

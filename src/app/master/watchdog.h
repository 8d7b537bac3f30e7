/*
 * The watchdog: a child whose event loop makes no turn is warned about after
 * 100 ms and killed after the configured time, because it would hold back
 * the reuse of media memory (and serves nobody).  Before, the watchdog asks it
 * where it is (proc/crash_dump.h) and gives it 100 ms to answer.  It treats a
 * child that was stopped (SIGSTOP) alike, even if the child sleeps.
 *
 * Time counts only while the master itself gets to look, so that children do
 * not seem stuck after the machine was suspended or overloaded.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_MASTER_WATCHDOG_H
#define APP_MASTER_WATCHDOG_H

#include "app/master/children.h"

struct watchdog {
    struct timer timer;
    struct children *children; /* borrowed */
    int64_t limit;             /* ms until a stuck child is killed; 0: off */
    int64_t looked_ms;         /* clock_ms() of the last look */
};

void watchdog_start(struct watchdog *w, struct children *c, int64_t limit);
void watchdog_limit(struct watchdog *w, int64_t limit); /* another one */
void watchdog_stop(struct watchdog *w);

#endif

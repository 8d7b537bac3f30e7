/*
 * The watchdog: a child whose event loop makes no turn is warned about after
 * 100 ms and killed after the configured time, because it would hold back
 * the reuse of media memory (and serves nobody).  Before, it is asked where
 * it is (proc/last_words.h) and has 100 ms to say so.  So is one that was
 * stopped (SIGSTOP), even if it sleeps.
 *
 * Time counts only while the master itself gets to look, so that a machine
 * that was suspended or overloaded does not look like stuck children.
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

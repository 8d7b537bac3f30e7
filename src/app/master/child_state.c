/*
 * How a child does.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/master/children.h"

#include "base/clock.h"

#define CRASH_LOOP 3 /* starts in a row that ended soon */

bool
child_in_crash_loop(const struct child *c)
{
    bool soon = c->pid == 0 || clock_ms() - c->started_ms < FORGIVEN_MS;

    return c->attempt >= CRASH_LOOP && soon;
}

const char *
child_state(const struct child *c)
{
    if (c->pid == 0) {
        return child_in_crash_loop(c) ? "crash loop" : "waiting";
    }
    if (c->stopped) {
        return "stopped";
    }
    if (c->replaced) {
        return "draining";
    }
    if (!c->keep) {
        return "ending";
    }
    if (c->ready) {
        return "ready";
    }
    return child_in_crash_loop(c) ? "crash loop" : "starting";
}

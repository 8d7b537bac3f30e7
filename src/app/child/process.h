/*
 * The common start of every child of the master, worker or role: loop, bus,
 * signals, privileges, an eye on the master.
 *
 * QUIT makes a child drain, and TERM (or the master's end) makes it stop; both
 * reach the struct's owner as calls, on the loop.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_CHILD_PROCESS_H
#define APP_CHILD_PROCESS_H

#include "app/settings/settings.h"
#include "event/loop.h"
#include "event/signals.h"

struct process {
    struct loop *loop;       /* owned */
    struct signals *signals; /* owned */
    void (*on_drain)(void *arg);
    void (*on_stop)(void *arg);
    void *arg;
};

/* The three callbacks are set before.  -1 with err: process_end() is still
 * to be called. */
int process_start(struct process *p, const struct settings *s,
                  struct errmsg *err);
/* Reports to the master: serving / cannot start, and why. */
void process_ready(void);
void process_failed(const struct process *p, const struct errmsg *why);
void process_end(struct process *p);

#endif

/*
 * The master's look at its listening sockets.
 *
 * The master and all workers share each listening socket: a worker that an
 * attacker controls can shut it down for all, and a new worker in its place
 * would wait at it for ever.  So the master checks once a second whether each
 * TCP socket still listens, and makes it listen again.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_MASTER_LISTENER_WATCH_H
#define APP_MASTER_LISTENER_WATCH_H

#include "base/list.h"
#include "event/loop.h"

struct listener_watch {
    struct timer timer;
    struct loop *loop;      /* borrowed; NULL: not started */
    struct list *listeners; /* borrowed: struct listener, the master's */
};

void listener_watch_start(struct listener_watch *w, struct loop *l,
                          struct list *listeners);
void listener_watch_stop(struct listener_watch *w);

#endif

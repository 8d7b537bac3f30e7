/*
 * A worker: the process that holds connections.
 *
 * worker_main() runs in a freshly forked child.  It opens its end of the bus,
 * starts the hub, drops privileges, starts every layer's module, says READY,
 * accepts on its own sockets of all listeners once the master allows it (a
 * reload may still fail until then).  It runs until its last connection is gone
 * after the command to drain, or until the command to stop.  Its life is one
 * way: starting, ready, serving, draining, stopped.
 *
 * It knows nothing of other workers and never opens a file to write to.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_CHILD_WORKER_PROCESS_H
#define APP_CHILD_WORKER_PROCESS_H

#include "app/worker.h"

/* Runs as worker index of g in this process, whose slot is set; returns the
 * status to exit with. */
int worker_main(const struct generation *g, uint32_t index);

#endif

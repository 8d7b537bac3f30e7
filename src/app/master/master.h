/*
 * The master: reads the configuration, makes what all processes share, opens
 * listeners, forks workers and roles, watches over them, and ends last.
 *
 * It serves no connection and holds no state that a stream depends on, but
 * its own work is all it does on its loop: nothing there may block.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_MASTER_MASTER_H
#define APP_MASTER_MASTER_H

#include "app/module.h"

enum { /* exit statuses of weir */
       EXIT_DONE = 0,
       EXIT_WRONG = 1,    /* configuration or arguments */
       EXIT_NO_START = 2, /* address in use, no right, ... */
};

/* Runs weir on the configuration in file until it is told to end, with the
 * modules' roles; the current directory is what relative paths stand on.
 * Returns the status to exit with; what was wrong has been said on standard
 * error. */
int master_run(const char *file, const struct module *const *table);

/* Signals the master that runs on the same configuration: 0, or -1 with
 * err. */
int master_signal(const char *pid_file, int number, struct errmsg *err);

#endif

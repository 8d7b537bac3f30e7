/*
 * The master: reads the configuration, makes what all processes share, opens
 * listeners, forks workers and roles, watches over them, and ends last.
 *
 * It serves no connection and holds no state that a stream depends on.  Its
 * loop does its own work only, and nothing there may block.
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

struct master;
struct control;
struct control_settings; /* app/settings/settings.h */

/* The control socket as the master sees it; its folder lies above the
 * master's. */
struct master_socket {
    /* Opens the socket of the settings in force, if they name one.  NULL with
     * err. */
    struct control *(*start)(struct master *m, struct errmsg *err);
    /* Tells the clients that wait for the end, closes all, removes the
     * socket. */
    void (*stop)(struct control **c);
    /* A reload: prepare() opens the socket of other settings, if it is not
     * open, and changes nothing yet; -1 with err.  Then commit() takes them
     * (the old socket closes, its clients stay), or cancel() drops them. */
    int (*prepare)(struct control *c, const struct control_settings *s,
                   struct errmsg *err);
    void (*commit)(struct control *c);
    void (*cancel)(struct control *c);
};

/* Runs weir on the configuration in file until it is told to end, with the
 * modules' roles and that control socket.  Relative paths start at the current
 * directory.  Returns the status to exit with; errors are printed on standard
 * error. */
int master_run(const char *file, const struct module *const *table,
               const struct master_socket *socket);

/* Signals the master that runs on the same configuration: 0, or -1 with
 * err. */
int master_signal(const char *pid_file, int number, struct errmsg *err);

#endif

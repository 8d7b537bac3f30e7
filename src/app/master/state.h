/*
 * The master's struct and its commands: for its own files, and for the control
 * socket, which shows and commands it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_MASTER_STATE_H
#define APP_MASTER_STATE_H

#include "app/generation.h"
#include "app/master/children.h"
#include "app/master/listener_watch.h"
#include "app/master/master.h"
#include "app/master/reload.h"
#include "app/master/watchdog.h"
#include "event/signals.h"

enum phase { STARTING, SERVING, LEAVING, DRAINING, STOPPING };

struct master {
    char *file;                    /* owned: the configuration's path */
    struct generation *generation; /* owned: the one in force */
    struct list listeners;         /* owned: struct listener */
    struct timer retired;          /* until those that are retired are closed */
    const struct module *const *table;
    struct loop *loop;       /* owned */
    struct signals *signals; /* owned */
    struct children children;
    struct watchdog watchdog;
    struct listener_watch listener_watch;
    struct reload reload;
    const struct master_socket *socket; /* how, and ... */
    struct control *control;            /* ... owned */
    enum phase phase;
    bool all_started;      /* not the first roles alone */
    struct timer deadline; /* of the phase */
    struct timer roles;    /* while those still have connections */
    int64_t drain_limit;   /* ms that DRAINING may take */
    int status;            /* to exit with */
};

/* As TERM does: closes everything. */
void master_stop(struct master *m);
/* As QUIT does: waits for stop_grace, unless it is called again; then
 * connections have limit ms to end by themselves. */
void master_drain(struct master *m, int64_t limit);
/* Closes the listeners that keep does not use (NULL: all), a little later:
 * workers, which are told to drain now, first accept the connections that are
 * under way there. */
void master_retire_listeners(struct master *m, const struct generation *keep);
/* As USR1 does; logs how it went. 0, or -1 with err. */
int master_reopen(struct errmsg *err);

#endif

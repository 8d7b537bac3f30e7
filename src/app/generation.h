/*
 * A generation: one loaded configuration and what the master opened for it.
 *
 * generation_load() reads and checks a file and touches nothing else, so a
 * bad file changes nothing.  generation_open() opens what it needs and is not
 * open yet: listeners go into a list that belongs to the master and outlives
 * generations, so that a later generation finds them there (same protocol,
 * same text) with the connections that wait in them.  Workers inherit the
 * generation they are forked for and read it only.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_GENERATION_H
#define APP_GENERATION_H

#include "app/settings.h"
#include "net/listen.h"

/* A listener and the server that answers on it. */
struct binding {
    struct listener *listener; /* borrowed: the master's; knows its protocol */
    const struct listen_settings *settings; /* in the generation's conf */
    size_t server; /* number among the servers of that protocol */
};

struct generation {
    uint32_t number;
    struct conf *conf;               /* owned */
    const struct settings *settings; /* in conf */
    unsigned workers;
    struct binding *bindings; /* owned */
    size_t binding_count;
    /* Owned; log ring file of each server, -1: none. */
    int *access_logs; /* http */
    int *rtmp_logs;
};

/* NULL with every mistake in *mistakes (for mem_free). */
struct generation *generation_load(uint32_t number, const char *path,
                                   char **mistakes);
void generation_free(struct generation **g);

/* Opens log files, and adds to listeners (of struct listener) those that are
 * not there.  -1 with err and errno, and everything is as it was. */
int generation_open(struct generation *g, struct list *listeners,
                    struct errmsg *err);
/* Closes the listeners that keep does not use; NULL: all. */
void generation_close_others(const struct generation *keep,
                             struct list *listeners);
/* "listening on rtmp 127.0.0.1:40001", a line each, at level notice. */
void generation_announce(const struct generation *g);

#endif

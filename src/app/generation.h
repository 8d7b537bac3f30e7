/*
 * A generation: one loaded configuration and all that the master opened for it.
 *
 * generation_load() reads and checks a file and touches nothing else, so a
 * bad file changes nothing. generation_open() opens all that is needed and not
 * open yet.  Listeners go into a list that belongs to the master and outlives
 * generations.  So a later generation finds them there, for any protocol, with
 * the connections that wait in them.  Workers inherit the generation they are
 * forked for and read it only.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_GENERATION_H
#define APP_GENERATION_H

#include "app/settings/servers.h"
#include "net/listen.h"

/* A listener and the server that answers on it: of several of HTTP (settings/
 * names.h) the default. */
struct binding {
    struct listener *listener; /* borrowed: the master's */
    bool opened;               /* this generation has opened the listener */
    const struct listen_settings *settings; /* in the generation's conf */
    struct server_settings server;          /* borrows from it */
    struct tls_context *tls;                /* owned; NULL: plain */
};

struct generation {
    uint32_t number;
    struct conf *conf;               /* owned */
    const struct settings *settings; /* in conf */
    unsigned workers;
    struct binding *bindings; /* owned */
    size_t binding_count;
    int *logs; /* owned; log ring file of each server, -1: none */
};

/* NULL with every mistake in *mistakes (for mem_free). */
struct generation *generation_load(uint32_t number, const char *path,
                                   char **mistakes);
void generation_free(struct generation **g);

/* Opens access logs, and and adds to listeners (of struct listener) missing
 * ones and sockets for more workers; these are bound but do not listen yet. -1
 * with err and errno, and everything is as it was. */
int generation_open(struct generation *g, struct list *listeners,
                    struct errmsg *err);
/* Makes all sockets listen: g is about to be in force. -1 with err and
 * errno. */
int generation_listen(struct generation *g, struct errmsg *err);
/* Undoes generation_open(), except for log files. */
void generation_unopen(struct generation *g, struct list *listeners);
/* It is in force: listeners have the names and protocols of this file, and
 * the sockets that were opened for it. */
void generation_keep_listeners(struct generation *g);
/* Retires the listeners that keep does not use; NULL: all.  They stay in the
 * list until generation_close_retired(). */
void generation_retire_others(const struct generation *keep,
                              struct list *listeners);
/* Whether some are retired, and not closed yet. */
bool generation_some_retire(const struct list *listeners);
/* Closes retired listeners that next, if there is one, does not use; returns
 * whether retired ones are left. */
bool generation_close_retired(const struct generation *next,
                              struct list *listeners);
void generation_close_all(struct list *listeners);
/* Whether a reload could have that address, which is in use: it is a
 * listener's, or only a listener is in its way. */
bool generation_would_have(struct list *listeners,
                           const struct addr_listen *where);
/* Whether worker index of g accepts on that socket of l: of g->workers sockets
 * in a row one is its own, and all workers share the one of a unix listener. */
bool generation_gives(const struct generation *g, const struct listener *l,
                      unsigned socket, uint32_t index);
/* All sockets on which it accepts, *count of them; for mem_free(). */
int *generation_sockets(const struct generation *g, uint32_t index,
                        size_t *count);
/* The log ring file of that server's access log; -1: it has none. */
int generation_access_log(const struct generation *g, enum server_kind kind,
                          size_t number);
/* g writes no log file any more, or not yet. */
void generation_forget_logs(struct generation *g);
/* Whether g writes this log file. */
bool generation_writes(const struct generation *g, int log_file);
/* Logs "listening on rtmps 127.0.0.1:40001", a line for each listener that g
 * has opened, at level notice; and warnings about certificates. */
void generation_announce(const struct generation *g);

#endif

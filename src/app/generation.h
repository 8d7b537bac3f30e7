/*
 * A generation: one loaded configuration and what the master opened for it.
 *
 * generation_load() reads and checks a file and touches nothing else, so a
 * bad file changes nothing.  generation_open() opens what it needs and is not
 * open yet: listeners go into a list that belongs to the master and outlives
 * generations, so that a later generation finds them there, whatever protocol
 * it wants to speak, with the connections that wait in them.  Workers inherit
 * the generation they are forked for and read it only.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_GENERATION_H
#define APP_GENERATION_H

#include "app/settings/servers.h"
#include "net/listen.h"

/* A listener and the server that answers on it. */
struct binding {
    struct listener *listener; /* borrowed: the master's */
    bool opened;               /* this generation was the first there */
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

/* Opens access logs, and adds to listeners (of struct listener) those that are
 * not there and sockets for more workers; these are bound but do not listen
 * yet.  -1 with err and errno, and everything is as it was. */
int generation_open(struct generation *g, struct list *listeners,
                    struct errmsg *err);
/* All sockets listen: it is about to be in force.  -1 with err and errno. */
int generation_listen(struct generation *g, struct errmsg *err);
/* Undoes generation_open(), but for log files. */
void generation_unopen(struct generation *g, struct list *listeners);
/* It is in force: listeners have the names and protocols of this file, and
 * the sockets that were opened for it. */
void generation_keep_listeners(struct generation *g);
/* Retires the listeners that keep does not use; NULL: all.  They stay in the
 * list until generation_close_retired(). */
void generation_retire_others(const struct generation *keep,
                              struct list *listeners);
/* Closes those that are retired and that next, if there is one, does not want
 * back; whether some are left. */
bool generation_close_retired(const struct generation *next,
                              struct list *listeners);
void generation_close_all(struct list *listeners);
/* Whether a reload would have that address, which is in use: it is a
 * listener's, or nobody but a listener is in its way. */
bool generation_would_have(struct list *listeners,
                           const struct addr_listen *where);
/* Whether worker index of g accepts on that socket of l: every workers-th is
 * its, and the only one of a unix listener is everybody's. */
bool generation_gives(const struct generation *g, const struct listener *l,
                      unsigned socket, uint32_t index);
/* All sockets that it accepts on, count of them; for mem_free(). */
int *generation_sockets(const struct generation *g, uint32_t index,
                        size_t *count);
/* The log ring file of that server's access log; -1: it has none. */
int generation_access_log(const struct generation *g, enum server_kind kind,
                          size_t number);
/* g writes no log file any more, or not yet. */
void generation_forget_logs(struct generation *g);
/* Whether g writes this log file. */
bool generation_writes(const struct generation *g, int log_file);
/* "listening on rtmps 127.0.0.1:40001", a line for each that g was the first
 * to open, at level notice; and what should be looked at in the
 * certificates. */
void generation_announce(const struct generation *g);

#endif

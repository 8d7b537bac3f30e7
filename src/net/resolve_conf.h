/*
 * The system's files as c-ares has read them, so that a channel is made without
 * reading them again.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_RESOLVE_CONF_H
#define NET_RESOLVE_CONF_H

#include <ares.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "net/resolve.h"

#define RESOLVE_SERVERS 3 /* as many as the C library asks */

struct resolve_conf {
    struct ares_options options;         /* owned */
    int mask;                            /* those that are set */
    struct ares_addr_port_node *servers; /* owned; at most RESOLVE_SERVERS */
    const char *path;                    /* borrowed: resolv.conf's */
    int try_ms;
    uint16_t port;
    bool given;       /* the servers are not those of path */
    struct stat read; /* path when it was read */
};

/* Fills *c, which is all zero; servers as in struct resolver_options, o's
 * texts have to live as long as *c.  ARES_*. */
int resolve_conf_init(struct resolve_conf *c, const struct resolver_options *o);
void resolve_conf_clear(struct resolve_conf *c);

/* Reads resolv.conf anew if it has changed.  When it cannot be read, that is
 * logged, and *c stays. */
void resolve_conf_look(struct resolve_conf *c);

/* A channel for one look-up, which calls on_state(arg) for its sockets.
 * ARES_*; *channel is NULL when there is none. */
int resolve_conf_open(const struct resolve_conf *c, ares_channel *channel,
                      ares_sock_state_cb on_state, void *arg);

#endif

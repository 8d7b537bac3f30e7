/*
 * The channel: the process that owns every Engine.IO and Socket.IO session.
 *
 * Calls come in from workers (polling requests, upgrades), from any process
 * (events), and from the master (commands); channel_wire.h has their bytes.
 * app/channel_role.c makes it a role.
 *
 * At a reload nothing happens, but sessions of endpoints that are gone
 * end.  kill -9 of the channel: its connections end, held polls are answered
 * 503, clients open sessions with the next channel and get its snapshots.  kill
 * -9 of a worker: polls that it held end with their sessions, and so do those
 * connections that it pumps for TLS; the other sessions go on.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef SIO_CHANNEL_H
#define SIO_CHANNEL_H

#include "proc/rpc.h"
#include "sio/metrics.h"
#include "sio/sio.h"

#define CHANNEL_NAME "channel"

/* A module that has endpoints, and its name. */
struct channel_module {
    const char *name; /* NULL ends a table */
    const struct sio_module *module;
};

struct channel_settings { /* the block "channel" of weir.conf */
    int64_t max_sessions;
    int64_t max_deflated; /* connections with permessage-deflate */
};
extern const struct conf_key channel_keys[];

struct channel;

/* The calls: places in the table, which the master registers.  channel_wire.h
 * has their bytes. */
enum {
    CHANNEL_POLL,
    CHANNEL_UPGRADE,
    CHANNEL_EMIT,
    CHANNEL_LIST,
    CHANNEL_KICK,
    CHANNEL_POST
};
extern struct rpc_method channel_methods[];

/* One a process.  node: the name of this weir among others, for the ids.
 * modules is static; s is borrowed for the call. */
struct channel *channel_start(struct loop *l, struct str node,
                              const struct channel_settings *s,
                              const struct channel_module *modules);
/* Master: appends an endpoint of that module to a description ... */
void channel_describe(struct buf *out, const char *module,
                      const struct sio_endpoint *e);
/* ... which the channel reads: these are its endpoints from now on; sessions of
 * others end. */
void channel_configure(struct channel *c, struct str description);
/* Takes no new sessions, and ends all: WebSockets with 1001. */
void channel_drain(struct channel *c);
void channel_stop(struct channel **c);

#endif

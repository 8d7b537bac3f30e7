/*
 * Shared by snapshot.c, which asks for snapshots, and snapshot_send.c, which
 * sends them to sockets.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef SIO_SNAPSHOT_IMPL_H
#define SIO_SNAPSHOT_IMPL_H

#include "proc/rpc.h"
#include "sio/missed.h"

struct version {
    struct ws_frame *frame; /* held; NULL: none, or an empty one */
    uint64_t number;        /* of all versions of the hall */
};

struct snapshot {
    struct snapshots *all;
    const struct sio_snapshot *what;
    struct version versions[SNAPSHOT_VERSIONS];
    unsigned newest;   /* of them */
    bool made;         /* there is a newest one; NULL: it is empty */
    uint64_t made_at;  /* snapshots.events of that moment */
    uint64_t stale_at; /* the first event that changed it; 0: none */
    /* While it is asked. */
    struct rpc_call *call;
    struct buf parts;
    bool answering; /* the first part is there */
    bool complained;
    uint64_t next_made_at, next_stale_at, next_position;
    struct timer retry;
};

struct snapshots {
    struct sio_hall *hall; /* borrowed */
    struct snapshot *items;
    size_t count;
    uint64_t events;     /* that went out */
    uint64_t versions;   /* that were made */
    struct list waiting; /* struct sio_socket.in_hall: to join */
    struct list behind;  /* struct sio_socket.behind: they have joined */
    struct missed missed;
};

static inline struct loop *
snapshots_loop(const struct snapshots *all)
{
    return all->hall->point->loop;
}

static inline void
snapshots_count(enum channel_snapshot result)
{
    metric_add(&channel_metrics[CHANNEL_SNAPSHOT_RESULTS], result, 1);
}

static inline bool
snapshots_are_waited_for(const struct snapshots *all)
{
    return !list_empty(&all->waiting) || !list_empty(&all->behind);
}

/* Its bit; 0 for NULL. */
static inline uint32_t
snapshot_bit(const struct snapshots *all, const struct snapshot *s)
{
    return s == NULL ? 0 : (uint32_t)1 << (s - all->items);
}

/* Asks for it, unless it is there, is asked already, or will be. */
void snapshot_ask(struct snapshot *s);
/* Whether a socket that waits can be given it now. */
bool snapshot_is_ready(const struct snapshot *s);
/* One that is asked may be ready now: tells sockets that wait for all. */
void snapshots_tell(struct snapshots *all);

#endif

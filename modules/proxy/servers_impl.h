/*
 * The shared memory, for servers.c and servers_count.c.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_PROXY_SERVERS_IMPL_H
#define MODULES_PROXY_SERVERS_IMPL_H

#include "servers.h"

#include <stdatomic.h>

#include "proc/told.h"

/* In memory that the master alone writes. */
struct card {
    _Atomic uint32_t incarnation; /* 0: free; grows with each use */
    _Atomic uint32_t generation;  /* the last that has it */
    _Atomic bool drained;
    _Atomic int64_t weight;
    _Atomic int64_t most_shut, most_check; /* struct server_limits */
    struct told told[SERVER_COUNTS];
    char upstream[SERVERS_UPSTREAM_MAX], name[SERVERS_NAME_MAX];
};

struct cards {
    _Atomic uint32_t end;
    struct card items[SERVERS_MAX];
};

struct state {
    _Alignas(64) _Atomic uint32_t fails;
    _Atomic int64_t window_ms; /* the first of these fails */
    _Atomic int64_t until_ms;  /* it is shut; 0: open */
    _Atomic int64_t back_ms;
    _Atomic uint32_t check; /* enum server_check */
    _Atomic int64_t checked_ms;
    _Atomic int64_t check_until_ms; /* so long it counts */
    _Atomic uint64_t checker;
    char why[SERVERS_WHY_MAX];
};

/* Counts of a server by some of the processes: so that not all of them write
 * to one line of the cache. */
struct row {
    _Alignas(64) _Atomic int64_t counts[SERVER_COUNTS];
};

#define ROWS 8 /* of a server */

/* Then come the numbers of now, by kind, place and slot. */
struct shared {
    struct state states[SERVERS_MAX];
    struct row rows[SERVERS_MAX][ROWS];
};

struct servers_memory {
    struct cards *cards;     /* the master's; NULL while there is none */
    struct shared *shared;   /* everybody's */
    _Atomic int32_t *gauges; /* in shared */
    uint32_t slots;
};
extern struct servers_memory servers;

static inline bool
servers_is_place(int place)
{
    return servers.cards != NULL && place >= 0 && place < SERVERS_MAX;
}

/* servers_count.c: what a process has open at a place. */
void servers_empty_gauges(int place, uint32_t slot);

#endif

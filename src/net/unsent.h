/*
 * Memory that holds bytes for slow peers, and its bound over all processes of
 * the node (http.max_unsent).
 *
 * A part of weir that keeps memory for a peer reports it (unsent_set()).  Each
 * process adds up its own and shows the sum as a gauge, which the others read.
 * When all sums together exceed the bound, processes give up the excess: each
 * that holds at least the mean of those that hold something gives up its part.
 * So a process that has only ordinary clients loses none because of another.
 * It cuts the slowest peer first: the one that has taken less than an eighth of
 * the bytes kept for it for longest.
 *
 * A process compares 10 times a second while it holds something, and at the end
 * of a turn that brought much.  So one turn of each process may exceed the
 * bound.  Bytes in sockets are the kernel's, and not counted.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_UNSENT_H
#define NET_UNSENT_H

#include "event/loop.h"

#include <stddef.h>
#include <stdint.h>

struct unsent {
    struct list link; /* while it holds something; the slowest first */
    size_t held;      /* bytes */
    uint64_t mark;    /* bytes it had taken when it was put behind the others */
    /* Ends the peer: must call unsent_set() with 0. */
    void (*cut)(struct unsent *u);
};

/* The process keeps to the bound from now on; before, it only counts.  max:
 * bytes, over the node. */
void unsent_start(struct loop *l, int64_t max);
void unsent_stop(void);

void unsent_init(struct unsent *u, void (*cut)(struct unsent *u));
/* Reports that held bytes of memory are kept for this peer now, and that it has
 * taken so many bytes in all. held is 0 before u is freed. */
void unsent_set(struct unsent *u, size_t held, uint64_t taken);
/* Bytes held by this process. */
size_t unsent_own(void);

/* How many bytes a process that holds own gives up, where held are what count
 * processes hold (own among them; less than 0 is as 0). */
int64_t unsent_part(const int64_t *held, size_t count, int64_t own,
                    int64_t max);

#endif

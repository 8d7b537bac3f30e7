/*
 * The queue of packets for one mailbox, the oldest first.
 *
 * A packet is what one sendmsg() takes: one message, or several small ones
 * without descriptors, for one process.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_BUS_QUEUE_H
#define PROC_BUS_QUEUE_H

#include "base/list.h"
#include "proc/bus_wire.h"

struct bus_queue {
    struct list packets;
    unsigned count; /* messages */
    uint64_t bytes; /* of their data, also of that in memfds */
};

void bus_queue_init(struct bus_queue *q);
void bus_queue_drop(struct bus_queue *q); /* all that waits */

/* Puts a copy of w, descriptors too, behind the others.  With `soon` it joins
 * others in a packet, or gets one that others can join.  -1: the queue is full,
 * or memory or descriptors are out. */
int bus_queue_add(struct bus_queue *q, const struct bus_wire *w, bool soon);
/* The last packet has little room left. */
bool bus_queue_is_packed(const struct bus_queue *q);

/* Sends the queue to out.  0: it is empty; -1: out is full.  A packet that
 * cannot be sent for another reason is logged and dropped. */
int bus_queue_send(struct bus_queue *q, int out);

#endif

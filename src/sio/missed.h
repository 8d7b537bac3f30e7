/*
 * Events that go out while sockets of a hall wait for snapshots: kept for those
 * sockets, in order, as what their snapshots may not have in them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef SIO_MISSED_H
#define SIO_MISSED_H

#include "sio/sio_impl.h"

struct missed_event {
    struct list link;         /* missed.events */
    uint64_t event;           /* its number */
    uint64_t position;        /* of the recovery */
    uint32_t changes;         /* the bit of a snapshot; 0: none */
    struct aim aim;           /* its texts are `texts` */
    struct sio_frames frames; /* held */
    size_t bytes;
    char texts[];
};

struct missed {
    struct list events; /* struct missed_event */
    size_t count, bytes;
    uint64_t from; /* it has all that matter behind this event */
};

void missed_init(struct missed *m);
/* Drops all: it has those behind that event. */
void missed_forget(struct missed *m, uint64_t event);
/* False: there are too many. */
bool missed_keep(struct missed *m, const struct missed_event *what,
                 const struct aim *a, const struct sio_frames *f);

#endif

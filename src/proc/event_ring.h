/*
 * The last things that happened, in shared memory: any process writes, the
 * newest takes the place of the oldest, nobody waits.
 *
 * A record is whole when its number stands in front of it; the next round takes
 * the place that a killed writer left half written.  Readers trust nothing in
 * the ring: they get bounded copies, and never loop without end.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_EVENT_RING_H
#define PROC_EVENT_RING_H

#include "base/errmsg.h"
#include "base/str.h"

#define RECENT_TEXT 1000 /* bytes of one record, at most */

struct recent; /* one ring, in shared memory */

struct recent_record {
    uint64_t number; /* grows by one with each record, from 1 */
    int64_t wall_ms;
    uint32_t tag; /* the writer's */
    int pid;
    size_t len;
    char text[RECENT_TEXT + 1]; /* NUL added */
};

/* Master, before any fork; the newest count records are kept. */
struct recent *recent_create(const char *name, uint32_t count,
                             struct errmsg *err);
void recent_destroy(struct recent **r);

/* Any process, any thread.  Cut to fit; NULL does nothing. */
void recent_put(struct recent *r, uint32_t tag, struct str text);
/* The first whole record with a number above after; false: none yet. */
bool recent_next(struct recent *r, uint64_t after, struct recent_record *out);
/* Number of the newest record that was begun; 0: none. */
uint64_t recent_last(struct recent *r);
/* Forgets all records: this process finds only later ones. */
void recent_clear(struct recent *r);

#endif

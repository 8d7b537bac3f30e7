/*
 * How fast streams and the node were over the last day.
 *
 *     the last   300 s    a point a second
 *     the last     1 h    a point of 10 s
 *     the last    24 h    a point of 2 min
 *
 * The rings lie in memory that the master alone writes: children read them, and
 * they outlive each of these.  The master looks at all streams once a second
 * and uses what it reads there as plain numbers only.  There is a row for the
 * node and one for each of so many streams, by name.  A stream that ended keeps
 * its row until another one needs it; the one that ended first gives way first.
 *
 *   history.c        the rings
 *   history_watch.c  the look once a second
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_HISTORY_H
#define LIVE_HISTORY_H

#include "base/errmsg.h"
#include "base/str.h"
#include "event/loop.h"

#include <stdbool.h>
#include <stdint.h>

#define HISTORY_LEVELS 3
#define HISTORY_MOST 720 /* points of a level */

struct history_level {
    int64_t step_ms; /* time that a point covers */
    uint32_t count;  /* points that are kept */
};
extern const struct history_level history_levels[HISTORY_LEVELS];

/* Master, before any fork: room for so many streams; 0: keeps nothing. */
int history_create(int64_t streams, struct errmsg *err);
void history_destroy(void);

/* ---- master: a second is over ---- */

/* Notes a stream's speeds in it, bit/s; empty name: the node's.  Each once. */
void history_put(struct str name, uint64_t first, uint64_t second);
/* The second ends; a stream that was not put did not exist in it. */
void history_tick(void);
uint64_t history_ticks(void); /* so far */

/* Does all this once a second, with all streams of the arena; totals returns
 * the bytes that the node has received and sent so far. */
typedef void history_totals(uint64_t *in, uint64_t *out);
void history_start(struct loop *l, history_totals *totals);
void history_stop(void);

/* ---- anybody ---- */

struct history_point {
    bool known;
    uint64_t first, second; /* bit/s: picture, sound; of the node in, out */
};

struct history_view {
    int64_t age_ms; /* since the newest point ended */
    uint32_t count;
    struct history_point points[HISTORY_MOST]; /* the oldest first */
};

/* False: nothing is known of that stream. */
bool history_read(struct str name, unsigned level, struct history_view *v);

#endif

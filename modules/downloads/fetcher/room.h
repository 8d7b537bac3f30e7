/*
 * Room on the disk while runs write.
 *
 * With less than min_free for a second the run that has most below its folder
 * is ended, and a moment later, when its files are gone, it is looked at again.
 * The store can write then, as all others can that are on the disk.  A run that
 * began with less, a look at an address, ends only when it has written
 * something.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_ROOM_H
#define MODULES_DOWNLOADS_FETCHER_ROOM_H

#include "base/list.h"
#include "event/loop.h"
#include "fetcher/place.h"

#include <stdbool.h>
#include <stdint.h>

struct room { /* of a run */
    struct list link;
    struct timer timer;
    struct loop *loop;
    const struct place *place; /* borrowed */
    int64_t min_free, bytes;   /* bytes: the caller's to set */
    int64_t full_since;        /* by clock_ms(); 0: it is not */
    bool began_full;
    void (*on_full)(struct room *r);
};

/* on_full, which may stop it: it has most, and has to end. */
void room_start(struct room *r, struct loop *l, const struct place *place,
                int64_t min_free, void (*on_full)(struct room *r));
/* One that was never started, but is zero, is fine. */
void room_stop(struct room *r);

#endif

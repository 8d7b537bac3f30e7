/*
 * The bounds of a run.  Its supervisor counts files and bytes, the starter all
 * else, and they say which one it went over; the setting is "max_" and the name
 * that is told.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_EXCESS_H
#define MODULES_DOWNLOADS_FETCHER_EXCESS_H

#include "base/buf.h"
#include "base/str.h"

struct downloads_instance;

enum fetch_excess {
    EXCESS_NONE,
    EXCESS_MEMORY,
    EXCESS_PROCESSES,
    EXCESS_CPU,
    EXCESS_FILES,
    EXCESS_BYTES,
    EXCESS_MIN_FREE, /* of the disk; told by nobody, room.h sees it */
    EXCESSES
};

/* EXCESS_NONE: there is no such bound. */
enum fetch_excess fetch_excess_of(struct str name);
/* Appends the reason of a run's end, for clients. */
void fetch_excess_say(enum fetch_excess excess,
                      const struct downloads_instance *plan, struct buf *to);

#endif

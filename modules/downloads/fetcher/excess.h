/*
 * The bounds of a run.  Whoever counts says which one a run went over, by its
 * name; the setting is "max_" and that name.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_EXCESS_H
#define MODULES_DOWNLOADS_FETCHER_EXCESS_H

#include "base/buf.h"
#include "base/str.h"

enum fetch_excess {
    EXCESS_NONE,
    EXCESS_MEMORY,
    EXCESS_PROCESSES,
    EXCESS_CPU,
    EXCESS_FILES,
    EXCESS_BYTES,
    EXCESSES
};

/* EXCESS_NONE: there is no such bound. */
enum fetch_excess fetch_excess_of(struct str name);
/* Appends the reason of a run's end, for clients. */
void fetch_excess_say(enum fetch_excess excess, struct buf *to);

#endif

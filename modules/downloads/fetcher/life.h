/*
 * An entry's way from its turn to its end:
 *
 *     IDLE -> LEASE -> CLAIM -> RUN -> TAKE -> FINISH -> done
 *                                 `--> DROP --'
 *
 * A canceled entry goes from wherever it is to DROP, and then its row goes.
 * Writes that fail for want of a store are tried again each second.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_LIFE_H
#define MODULES_DOWNLOADS_FETCHER_LIFE_H

#include "fetcher/queue.h"

/* It is its turn: asks for the right to run it, and runs it. */
void life_begin(struct entry *e);
/* Goes on where a write failed, or where a lease was missing. */
void life_again(struct entry *e);
/* It is idle at once, unless its end is being written; its row and its folder
 * stay. */
void life_abort(struct entry *e);
/* The entry is done, or about to be freed. */
void life_end(struct entry *e);

#endif

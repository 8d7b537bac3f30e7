/*
 * How many connections each client has, over all processes.
 *
 * Every process writes counts of its own, in a table of its slot, and reads the
 * tables of all: there is no lock.  The master empties the table of a dead
 * process before the slot is used again.  A table is sets of eight entries, a
 * cache line each; a client that finds no room in its set is not counted (and
 * so not limited).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_CENSUS_H
#define PROC_CENSUS_H

#include "base/errmsg.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct census {
    uint32_t connections;
    uint32_t incomplete; /* of them, those whose request is not known yet */
};

/* Makes tables for `slots` processes, each with room for `keys` clients. */
int census_create(size_t keys, uint32_t slots, struct errmsg *err);
void census_destroy(void);
void census_sweep(uint32_t slot); /* master: its process is gone */

/* Counts one more connection of this process, incomplete, for the client with
 * that hash (a good one; its lowest bit does not count).  False: there is no
 * room, nothing was counted. */
bool census_enter(uint64_t key);
void census_leave(uint64_t key, bool incomplete); /* one less */
/* One of its connections is incomplete from now on, or not any more. */
void census_mark(uint64_t key, bool incomplete);
/* Of all living processes. */
struct census census_of(uint64_t key);

#endif

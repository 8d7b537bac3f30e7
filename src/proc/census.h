/*
 * How many connections each client has, over all processes.
 *
 * Every process writes counts of its own, in a table of its slot, and reads
 * everybody's: no lock, and what a dead process had is gone with its table,
 * which the master empties before the slot is used again.  A table is sets of
 * eight entries, a cache line each; a client that finds no room in its set is
 * not counted (and so not limited).
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
    uint32_t incomplete; /* of them, that have not shown yet what they want */
};

/* Room for so many clients in each of slots processes. */
int census_create(size_t keys, uint32_t slots, struct errmsg *err);
void census_destroy(void);
void census_sweep(uint32_t slot); /* master: its process is gone */

/* One connection more of this process (incomplete), for a client under a good
 * hash (its lowest bit does not count).  False: there is no room, nothing was
 * counted. */
bool census_enter(uint64_t key);
void census_leave(uint64_t key, bool incomplete); /* one less */
/* One of its connections is incomplete from now on, or not any more. */
void census_mark(uint64_t key, bool incomplete);
/* Of all living processes. */
struct census census_of(uint64_t key);

#endif

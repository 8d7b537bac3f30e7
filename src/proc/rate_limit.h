/*
 * How often something may happen, counted by all processes together: the
 * generic cell rate algorithm over a table in shared memory.
 *
 * A key (an address, a header's value, hashed) has one number: the time at
 * which its bucket is full again.  An entry whose time is past means the same
 * as no entry, so other keys simply take its place and nothing has to be swept.
 * An entry is one word that is changed by compare and swap: there is no lock
 * that a dying process could leave behind.  The master makes the table before
 * its first fork, so the counts go on over reloads and restarts of workers.
 *
 * The table is sets of eight entries, a cache line each.  When all eight of
 * a key's set are in use, the entry that ends first is given up: one key too
 * many gives another key a fresh bucket, never a refusal.  Two keys collide
 * with a chance of 1 in 2^17.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_RATE_LIMIT_H
#define PROC_RATE_LIMIT_H

#include "base/errmsg.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest time until a bucket is full again, microseconds: one day. */
#define PACE_HORIZON_US ((int64_t)24 * 3600 * 1000000)

struct rate_limit_rule {
    int64_t interval_us; /* time between two, in the long run; > 0 */
    int64_t burst;       /* so many at once; interval * burst <= horizon */
};

struct rate_limit_answer {
    bool allowed;
    bool gave_up;     /* the set was full: another key lost its count */
    int64_t left;     /* how many may come at once now */
    int64_t wait_us;  /* until the next may come; 0 when left > 0 */
    int64_t reset_us; /* until the bucket is full again */
};

/* Room for so many keys at once. */
int rate_limit_create(size_t keys, struct errmsg *err);
void rate_limit_destroy(void);

/* Counts one more of that key (a good hash: all bits count) at now_us, from
 * clock_us().  A refused one does not count. */
void rate_limit_take(uint64_t key, const struct rate_limit_rule *rule,
                     int64_t now_us, struct rate_limit_answer *out);

#endif

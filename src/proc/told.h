/*
 * Counts that never fall, although any process may write to the numbers that
 * they are sums of.
 *
 * The master keeps, in memory that is its own, what a count had come to when it
 * last looked.  A sum that is below that, or above it by more than anybody
 * counts in the time, is not believed: the count stands there, and goes on with
 * what is added to the sum afterwards.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_TOLD_H
#define PROC_TOLD_H

#include <stdatomic.h>
#include <stdint.h>

struct told {
    _Atomic int64_t least; /* as it was at the last look */
    _Atomic uint64_t gap;  /* what the sum is away from it */
};

/* Master: looks at it, given the sum; returns what it has come to. */
int64_t told_look(struct told *t, uint64_t sum);

/* Another process: what the master saw, which is read before the sum, because
 * the master writes it after that; then what the count has come to. */
struct told_seen {
    uint64_t gap;
    int64_t least;
};
struct told_seen told_seen(const struct told *t);
int64_t told_now(struct told_seen seen, uint64_t sum);

#endif

/*
 * Counts that go on, whatever is written into what they are sums of.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/told.h"

/* The most that is counted between two looks of the master, and ever: all sums
 * of a few are numbers. */
#define STEP_MOST ((uint64_t)1 << 44)
#define COUNT_MOST ((int64_t)1 << 60)

/* A count that is away from what it was by more than anybody counts has not
 * moved. */
static int64_t
going_on(uint64_t count, int64_t least)
{
    return count - (uint64_t)least <= STEP_MOST && (int64_t)count <= COUNT_MOST
               ? (int64_t)count
               : least;
}

int64_t
told_look(struct told *t, uint64_t sum)
{
    int64_t least = atomic_load(&t->least);
    uint64_t count = sum + atomic_load(&t->gap);
    int64_t now = going_on(count, least);

    if ((uint64_t)now != count) {
        atomic_store(&t->gap, (uint64_t)now - sum);
    }
    if (now != least) {
        atomic_store(&t->least, now);
    }
    return now;
}

struct told_seen
told_seen(const struct told *t)
{
    return (struct told_seen){ atomic_load(&t->gap), atomic_load(&t->least) };
}

int64_t
told_now(struct told_seen seen, uint64_t sum)
{
    return going_on(seen.gap + sum, seen.least);
}

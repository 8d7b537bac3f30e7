/*
 * Who is due next: a binary heap of times.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_SCHEDULE_H
#define BENCH_SCHEDULE_H

#include <stdint.h>

struct schedule_entry {
    int64_t due; /* ns */
    unsigned who;
};

struct schedule {
    struct schedule_entry *entries; /* owned */
    unsigned count;
    unsigned room;
};

/* Room for so many entries, each of which may be in once. */
void schedule_init(struct schedule *s, unsigned room);
void schedule_clear(struct schedule *s);
void schedule_add(struct schedule *s, int64_t due, unsigned who);
/* The time of the first; INT64_MAX when there is none. */
int64_t schedule_first(const struct schedule *s);
/* Takes the first out; there must be one. */
unsigned schedule_take(struct schedule *s);

#endif

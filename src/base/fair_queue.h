/*
 * A queue that serves owners in turn: one with a hundred entries and one with
 * a single entry wait equally long for their next.
 *
 * An entry has a number, its turn: one more than that of its owner's last entry
 * here, and no less than the turn that is served now.  The queue is ordered by
 * turns, entries of the same turn by their coming.  The last entry is of an
 * owner of many, so it is the one that gives way where there is no room.
 *
 * An owner is two words, whose meaning is the caller's.  To add costs a look at
 * the entries behind the new one's place and its owner's last one, at some
 * thousand at most: in a longer queue an entry may stand further behind than
 * its turn is.  Entries are their users' own.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BASE_FAIR_QUEUE_H
#define BASE_FAIR_QUEUE_H

#include "base/list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fair_queue {
    struct list entries; /* struct fair_entry, the next one first */
    uint64_t turn;       /* that was served last */
};

struct fair_entry {
    struct list link;
    uint64_t owner[2];
    uint64_t turn;
};

void fair_queue_init(struct fair_queue *q);
/* It is in no queue. */
void fair_entry_init(struct fair_entry *e, const uint64_t owner[2]);
bool fair_same_owner(const struct fair_entry *a, const struct fair_entry *b);
/* The turn that e would get if it was added now. */
uint64_t fair_queue_turn(const struct fair_queue *q,
                         const struct fair_entry *e);
void fair_queue_add(struct fair_queue *q, struct fair_entry *e);
/* Before all others: it was served, and has to wait after all. */
void fair_queue_return(struct fair_queue *q, struct fair_entry *e);
/* The next; NULL: there is none. */
struct fair_entry *fair_queue_first(const struct fair_queue *q);
/* The one that is served last; NULL: there is none. */
struct fair_entry *fair_queue_last(const struct fair_queue *q);
/* It is served now.  One that leaves without it is taken off its list,
 * e->link. */
void fair_queue_take(struct fair_queue *q, struct fair_entry *e);

/* ---- places beside those in use ---- */

/* Where an owner has all places, for long, others wait however fair the queue
 * is.  So one that has none gets a place beside them, as long as at most `most`
 * owners have any, and at most twice as many places are in use. */

/* Of struct fair_entry: those that are served. */
bool fair_has_owner(const struct list *served, const struct fair_entry *e);
/* Whether there may be one beside those `count` that are served. */
bool fair_takes_guests(const struct list *served, size_t count, size_t most);
/* One that waits and whose owner has none that is served; NULL: there is none
 * among those whose turn comes soon. */
struct fair_entry *fair_queue_guest(const struct fair_queue *q,
                                    const struct list *served);
/* The next to be served, as a guest or not; NULL: there is none. */
struct fair_entry *fair_queue_next(const struct fair_queue *q,
                                   const struct list *served, size_t count,
                                   size_t most);

#endif

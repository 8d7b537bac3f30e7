/*
 * Finds the record of a name: a hash table over the keys of the arena.
 *
 * The keys alone decide (live/stream.h).  A bucket of the table holds numbers
 * of records whose names belong there.  A name belongs to two buckets, and a
 * search always reads both as a whole: sixteen places, however many streams
 * there are and whatever stands in the table.  A place whose record's key
 * disagrees is void and is used again, so nothing has to be taken out when a
 * stream ends or a process is killed.
 *
 * A process overwrites a place by compare-and-swap, and no value is ever
 * written twice.  So a process that takes a void place cannot overwrite one
 * that another process has taken meanwhile for the same record.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_NAMES_H
#define LIVE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORD_NONE UINT32_MAX

/* Buckets for so many streams; words of bits for as many records. */
uint32_t names_buckets(uint32_t streams);
size_t names_bucket_size(void); /* bytes */
size_t names_words(uint32_t streams);

/* Records whose key bears a hash, CLAIMED or OPEN; one may come twice. */
struct names_look {
    uint64_t hash; /* of the name; constant */
    uint32_t at;   /* 0 at first */
};
uint32_t names_next(struct names_look *look); /* RECORD_NONE: no more */

/* A FREE record gets that key; RECORD_NONE: there is none. */
uint32_t names_claim(uint64_t key);
/* Called by its claimer: from now on others find it.  False: there is no place,
 * which happens to a full table once in a very long time. */
bool names_enter(uint32_t record);
/* It is FREE. */
void names_release(uint32_t record);
/* Master: a process was killed between the key and the bit. */
void names_mend(uint32_t record);

#endif

/*
 * Segments of the arena: their owners, taking and giving back.
 *
 * A segment is FREE, USED by a stream, or RETIRED at an epoch.  Retiring first
 * moves the stream's head so that no cursor may enter it any more, then draws
 * a new epoch.  Each process writes down the epoch it sees at the top of every
 * turn of its loop (slot->epoch_seen; "all" while it sleeps).  A retired
 * segment is taken again only when every process has seen its epoch, so that
 * nobody can be reading it.
 *
 * FREE segments have no memory: they were never used, or the master has given
 * their memory back to the system.  So retired ones are taken first, and of
 * each kind the lowest.  Memory thus follows the needs of streams, and unneeded
 * segments lie together at the upper end.
 *
 * The state words alone decide.  Bits show where to search.  They may be wrong
 * after a process was killed; the process that finds that mends them, at the
 * latest the master (segments_trim()).  There are no lists to break.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_SEGMENT_H
#define LIVE_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum segment_kind { SEGMENT_FREE, SEGMENT_USED, SEGMENT_RETIRED };

#define SEGMENT_HINTS 2 /* tables of bits */
/* Words of such a table for so many segments. */
size_t segment_hint_words(size_t segments);

/* All are free: the arena is new. */
void segments_begin(void);

/* A segment for stream number n, or SEGMENT_NONE. */
uint32_t segment_take(uint32_t n);
/* Retires a segment of stream number n, after its head has moved past it;
 * false: it is none of that stream's, and is left alone. */
bool segment_retire(uint32_t segment, uint32_t n);
bool segment_used_by(uint32_t segment, uint32_t n);

/* Counts used and retired segments: these have memory, the others none. */
void segments_count(uint64_t *used, uint64_t *retired);

/* Master: looks at some of the segments, retires those that no stream can have
 * (its stream is over, or the word names none), and gives memory of retired
 * ones back to the system when there are more than streams may soon need.
 * Returns whether there is more to give back: call again soon. */
bool segments_trim(void);

#endif

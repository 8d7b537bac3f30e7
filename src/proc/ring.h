/*
 * A ring of records in shared memory, one writer, one reader.
 *
 * head and tail count bytes for ever; a record exists once head has passed it,
 * so that a writer killed in the middle leaves nothing behind.  The reader
 * trusts nothing that it finds: it empties a damaged ring.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_RING_H
#define PROC_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_RECORD_MAX 65536 /* bytes of one record */

struct ring {
    _Alignas(64) _Atomic uint64_t head; /* the writer's */
    _Alignas(64) _Atomic uint64_t tail; /* the reader's */
}; /* the data follows: size bytes, told by the caller */

/* False when it does not fit; nothing was written then. */
bool ring_put(struct ring *r, size_t size, uint32_t tag, const void *data,
              size_t len);

/* 1 and the first record's tag and length, 0 when there is none, -1 when the
 * ring was damaged and has been emptied. */
int ring_first(struct ring *r, size_t size, uint32_t *tag, size_t *len);
/* Copies the record that ring_first() told to dst (NULL: nowhere) and gives
 * its room back. */
void ring_take(struct ring *r, size_t size, void *dst, size_t len);

#endif

/*
 * Numbers and texts as bytes, for another process of this weir: a message of
 * the bus, a configuration handed to a child, an answer kept in a table.
 *
 * Writer and reader are forks of one program, so numbers are as they lie in
 * this machine's memory.  A text is its length in 32 bits, its bytes and a
 * NUL.  There are no names and no types in the bytes: the reader asks for what
 * the writer put, in the same order.
 *
 * Errors are kept: after the first error nothing more is written or read, so
 * that the caller checks once, at the end.  The reader believes nothing: what
 * comes from a child may have been written to hurt.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BASE_PACK_H
#define BASE_PACK_H

#include "base/buf.h"

#define PACK_TEXT 5 /* bytes that an empty text takes */

/* Writes to a buffer, whose limit bounds the whole. */
struct pack {
    struct buf *to; /* borrowed */
    bool full;      /* something did not fit: the bytes are of no use */
};

void pack_bytes(struct pack *p, const void *data, size_t n);
void pack_u8(struct pack *p, uint8_t n);
void pack_u32(struct pack *p, uint32_t n);
void pack_int(struct pack *p, int64_t n);
void pack_text(struct pack *p, struct str s);
/* A text for a process that may run elsewhere: a relative path is packed as an
 * absolute one, from the folder of this process; "" as it is. */
void pack_path(struct pack *p, struct str path);

/* Reads from bytes that outlive it. */
struct unpack {
    struct str rest; /* what was not read yet */
    bool bad;        /* the bytes ended too early, or are malformed */
};

/* false: data holds n zeros. */
bool unpack_bytes(struct unpack *u, void *data, size_t n);
/* 0 when u is bad. */
uint8_t unpack_u8(struct unpack *u);
uint32_t unpack_u32(struct unpack *u);
int64_t unpack_int(struct unpack *u);
/* Points into the bytes, with a NUL behind it; STR_NONE when u is bad. */
struct str unpack_text(struct unpack *u);
/* How many things follow, an int64_t, each of which takes at least `size`
 * bytes (more than 0): so many that they can be there, else u is bad. */
size_t unpack_count(struct unpack *u, size_t size);
/* Whether all reads succeeded and no byte is left. */
bool unpack_ends(const struct unpack *u);

#endif

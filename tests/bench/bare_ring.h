/*
 * The bare loop's stream: wire bytes in a ring that is mapped twice in a row,
 * so that any stretch of it is contiguous. Positions count from the stream's
 * beginning and never wrap.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_BARE_RING_H
#define BENCH_BARE_RING_H

#include "source.h"

struct bare_ring {
    bool flv; /* tags instead of chunks */
    uint8_t *bytes;
    size_t size;
    uint64_t tail; /* position of the next message */
    uint64_t key;  /* of the last key frame */
    bool has_key;
    struct source *source; /* owned */
    struct cursor cursor;
    int64_t start;    /* the stream's time 0, ns */
    uint8_t *body;    /* owned; room for one message */
    uint8_t *opening; /* owned; metadata and codec headers on the wire */
    size_t opening_size;
};

enum { BARE_CHUNK = 60000 };

/* The source becomes the ring's. */
void bare_ring_init(struct bare_ring *r, struct source *source, bool flv);
void bare_ring_clear(struct bare_ring *r);
/* When the next message is due, ns. */
int64_t bare_ring_due(const struct bare_ring *r);
/* Makes the next message; says what it was. */
void bare_ring_make(struct bare_ring *r, struct frame *f);
/* Where the byte at a position lies; the ring's size follow. */
const uint8_t *bare_ring_at(const struct bare_ring *r, uint64_t position);

#endif

/*
 * The packets that wait for a client, oldest first: shared frames, none of
 * which is copied.  An empty queue has no memory of its own.
 *
 * A frame of a key can be replaced by a newer one: the older one is dropped,
 * the newer one is the last.  Frames of a group can be dropped together.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef SIO_ENGINE_QUEUE_H
#define SIO_ENGINE_QUEUE_H

#include "sio/engine/engine.h"
#include "sio/engine/packet.h"

/* Bytes that a frame counts at least, for it takes them in memory. */
#define QUEUE_LEAST 64

struct queue_entry;

struct queue {
    struct queue_entry *entries; /* owned; NULL: nothing waits */
    uint32_t head, count, size;  /* first entry, entries, room for them */
    uint32_t keyed;              /* entries with a key */
    size_t bytes;                /* of all, in the form */
    enum packet_form form;
};

void queue_init(struct queue *q, enum packet_form form);
void queue_clear(struct queue *q); /* drops all */
/* The client gets what waits in another form from now on. */
void queue_set_form(struct queue *q, enum packet_form form);

/* Bytes that f counts. */
size_t queue_cost(const struct queue *q, const struct ws_frame *f);
/* Holds f.  NULL: it has neither key nor group.  -1: memory is out. */
int queue_push(struct queue *q, struct ws_frame *f,
               const struct engine_mark *mark);
/* The same before all others. */
int queue_push_first(struct queue *q, struct ws_frame *f);
/* Drops the frame of that key, which is not 0.  False: none waits. */
bool queue_drop(struct queue *q, uint64_t key);
/* Drops all of that group, which is not 0, and adds their bits to *bits; the
 * others stay in order.  Returns how many there were. */
uint32_t queue_drop_group(struct queue *q, uint32_t group, uint32_t *bits);

/* Whether f waits; looks at all that waits. */
bool queue_holds(const struct queue *q, const struct ws_frame *f);
/* The frame at place i, counted from 0; the queue's. */
struct ws_frame *queue_at(const struct queue *q, uint32_t i);
/* Lets the first n go. */
void queue_pop(struct queue *q, uint32_t n);

#endif

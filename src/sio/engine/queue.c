/*
 * The queue of a session: an array whose front is taken off.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sio/engine/queue.h"

#include <string.h>

#include "base/mem.h"

#define FIRST_SIZE 8

struct queue_entry {
    struct ws_frame *frame; /* held */
    struct engine_mark mark;
};

void
queue_init(struct queue *q, enum packet_form form)
{
    *q = (struct queue){ .form = form };
}

void
queue_clear(struct queue *q)
{
    queue_pop(q, q->count);
}

void
queue_set_form(struct queue *q, enum packet_form form)
{
    q->form = form;
    q->bytes = 0;
    for (uint32_t i = 0; i < q->count; i++) {
        q->bytes += queue_cost(q, queue_at(q, i));
    }
}

size_t
queue_cost(const struct queue *q, const struct ws_frame *f)
{
    size_t n = f->bounded ? 0 : packet_size(f, q->form);

    return n > QUEUE_LEAST ? n : QUEUE_LEAST;
}

static void
move_to(struct queue *q, uint32_t head)
{
    memmove(q->entries + head, q->entries + q->head,
            q->count * sizeof(q->entries[0]));
    q->head = head;
}

/* Makes room behind the last entry. */
static int
make_room(struct queue *q)
{
    if (q->head + q->count < q->size) {
        return 0;
    }
    if (q->head > q->size / 2) {
        move_to(q, 0);
        return 0;
    }
    uint32_t size = q->size == 0 ? FIRST_SIZE : q->size * 2;
    struct queue_entry *entries =
        try_resize(q->entries, size * sizeof(entries[0]));

    if (entries == NULL) {
        return -1;
    }
    q->entries = entries;
    q->size = size;
    return 0;
}

int
queue_push(struct queue *q, struct ws_frame *f, const struct engine_mark *mark)
{
    static const struct engine_mark none;

    mark = mark != NULL ? mark : &none;
    if (make_room(q) == -1) {
        return -1;
    }
    q->entries[q->head + q->count] =
        (struct queue_entry){ ws_frame_hold(f), *mark };
    q->count++;
    q->keyed += mark->key != 0;
    q->bytes += queue_cost(q, f);
    return 0;
}

int
queue_push_first(struct queue *q, struct ws_frame *f)
{
    if (q->head == 0) {
        if (make_room(q) == -1) {
            return -1;
        }
        move_to(q, 1);
    }
    q->head--;
    q->entries[q->head] = (struct queue_entry){ .frame = ws_frame_hold(f) };
    q->count++;
    q->bytes += queue_cost(q, f);
    return 0;
}

static void
free_if_empty(struct queue *q)
{
    if (q->count == 0) {
        mem_free(&q->entries);
        q->head = q->size = 0;
    }
}

/* Forgets what an entry counts, and its frame. */
static void
forget(struct queue *q, struct queue_entry *e)
{
    q->bytes -= queue_cost(q, e->frame);
    q->keyed -= e->mark.key != 0;
    ws_frame_let_go(&e->frame);
}

bool
queue_drop(struct queue *q, uint64_t key)
{
    uint32_t at = q->keyed == 0 ? 0 : q->count;
    struct queue_entry *first = at == 0 ? NULL : q->entries + q->head;

    while (at > 0 && first[at - 1].mark.key != key) {
        at--;
    }
    if (at == 0) {
        return false;
    }
    forget(q, &first[at - 1]);
    memmove(first + at - 1, first + at, (q->count - at) * sizeof(first[0]));
    q->count--;
    free_if_empty(q);
    return true;
}

uint32_t
queue_drop_group(struct queue *q, uint32_t group, uint32_t *bits)
{
    struct queue_entry *first = q->count == 0 ? NULL : q->entries + q->head;
    uint32_t kept = 0, dropped;

    for (uint32_t i = 0; i < q->count; i++) {
        if (first[i].mark.group == group) {
            *bits |= first[i].mark.bits;
            forget(q, &first[i]);
        } else {
            first[kept++] = first[i];
        }
    }
    dropped = q->count - kept;
    q->count = kept;
    free_if_empty(q);
    return dropped;
}

bool
queue_holds(const struct queue *q, const struct ws_frame *f)
{
    uint32_t i = 0;

    while (i < q->count && queue_at(q, i) != f) {
        i++;
    }
    return i < q->count;
}

struct ws_frame *
queue_at(const struct queue *q, uint32_t i)
{
    return q->entries[q->head + i].frame;
}

void
queue_pop(struct queue *q, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        forget(q, &q->entries[q->head + i]);
    }
    q->head += n;
    q->count -= n;
    free_if_empty(q);
}

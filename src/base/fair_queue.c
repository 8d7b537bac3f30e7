/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/fair_queue.h"

#include <stddef.h>

static struct fair_entry *
entry_of(const struct fair_queue *q, struct list *link)
{
    return link == &q->entries ? NULL
                               : LIST_ITEM(link, struct fair_entry, link);
}

void
fair_queue_init(struct fair_queue *q)
{
    list_init(&q->entries);
    q->turn = 0;
}

void
fair_entry_init(struct fair_entry *e, const uint64_t owner[2])
{
    list_init(&e->link);
    e->owner[0] = owner[0];
    e->owner[1] = owner[1];
    e->turn = 0;
}

bool
fair_same_owner(const struct fair_entry *a, const struct fair_entry *b)
{
    return a->owner[0] == b->owner[0] && a->owner[1] == b->owner[1];
}

struct fair_entry *
fair_queue_first(const struct fair_queue *q)
{
    return entry_of(q, q->entries.next);
}

struct fair_entry *
fair_queue_last(const struct fair_queue *q)
{
    return entry_of(q, q->entries.prev);
}

uint64_t
fair_queue_turn(const struct fair_queue *q, const struct fair_entry *e)
{
    struct fair_entry *o = fair_queue_last(q);

    while (o != NULL && !fair_same_owner(o, e)) {
        o = entry_of(q, o->link.prev);
    }
    return o != NULL && o->turn >= q->turn ? o->turn + 1 : q->turn;
}

void
fair_queue_add(struct fair_queue *q, struct fair_entry *e)
{
    struct list *at = q->entries.prev;

    e->turn = fair_queue_turn(q, e);
    while (at != &q->entries && entry_of(q, at)->turn > e->turn) {
        at = at->prev;
    }
    list_insert_before(at->next, &e->link);
}

void
fair_queue_return(struct fair_queue *q, struct fair_entry *e)
{
    list_prepend(&q->entries, &e->link);
}

/* One that is served before its turn holds up none of those that come. */
void
fair_queue_take(struct fair_queue *q, struct fair_entry *e)
{
    if (q->entries.next == &e->link && e->turn > q->turn) {
        q->turn = e->turn;
    }
    list_remove(&e->link);
}

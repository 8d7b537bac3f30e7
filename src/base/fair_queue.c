/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/fair_queue.h"

#define GUESTS_LOOKED 256 /* those whose turn it is stand in front */
#define ADD_LOOKED 4096   /* entries, to find a place for one */

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
    int looked = 0;

    while (o != NULL && !fair_same_owner(o, e)) {
        o = looked++ < ADD_LOOKED ? entry_of(q, o->link.prev) : NULL;
    }
    return o != NULL && o->turn >= q->turn ? o->turn + 1 : q->turn;
}

void
fair_queue_add(struct fair_queue *q, struct fair_entry *e)
{
    struct list *at = q->entries.prev;
    int looked = 0;

    e->turn = fair_queue_turn(q, e);
    while (at != &q->entries && entry_of(q, at)->turn > e->turn &&
           looked++ < ADD_LOOKED) {
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

/* ---- places beside those in use ---- */

bool
fair_has_owner(const struct list *served, const struct fair_entry *e)
{
    LIST_EACH (node, served) {
        if (fair_same_owner(LIST_ITEM(node, struct fair_entry, link), e)) {
            return true;
        }
    }
    return false;
}

static bool
is_last_of_owner(const struct list *served, const struct fair_entry *e)
{
    for (struct list *node = e->link.next; node != served; node = node->next) {
        if (fair_same_owner(LIST_ITEM(node, struct fair_entry, link), e)) {
            return false;
        }
    }
    return true;
}

static size_t
count_owners(const struct list *served)
{
    size_t owners = 0;

    LIST_EACH (node, served) {
        owners +=
            is_last_of_owner(served, LIST_ITEM(node, struct fair_entry, link));
    }
    return owners;
}

bool
fair_takes_guests(const struct list *served, size_t count, size_t most)
{
    return count < 2 * most && count_owners(served) <= most;
}

struct fair_entry *
fair_queue_guest(const struct fair_queue *q, const struct list *served)
{
    int looked = 0;

    LIST_EACH (node, &q->entries) {
        struct fair_entry *e = entry_of(q, node);

        if (!fair_has_owner(served, e)) {
            return e;
        }
        if (++looked == GUESTS_LOOKED) {
            break;
        }
    }
    return NULL;
}

struct fair_entry *
fair_queue_next(const struct fair_queue *q, const struct list *served,
                size_t count, size_t most)
{
    if (count < most) {
        return fair_queue_first(q);
    }
    return fair_takes_guests(served, count, most) ? fair_queue_guest(q, served)
                                                  : NULL;
}

/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/add.h"

#define BUSY "Too many addresses wait to be looked at; try again."
#define SHARE \
    "This client has its share of what is looked at at once; try again."

/* ---- states ---- */

static size_t *
count_of(struct add *a)
{
    switch (a->state) {
    case ADD_WAITS:
        return &a->queue->waits;
    case ADD_EXTRACTS:
        return &a->queue->extracts;
    case ADD_ADDS:
        break;
    }
    return NULL;
}

void
add_leave_state(struct add *a)
{
    size_t *count = count_of(a);

    if (count != NULL) {
        --*count;
    }
    list_remove(&a->entry.link);
    a->state = ADD_ADDS;
}

void
add_wait_turn(struct add *a)
{
    a->state = ADD_WAITS;
    a->queue->waits++;
    fair_queue_add(&a->queue->waiting, &a->entry);
}

void
add_have_turn(struct add *a)
{
    fair_queue_take(&a->queue->waiting, &a->entry);
    add_leave_state(a);
    a->state = ADD_EXTRACTS;
    a->queue->extracts++;
    list_append(&a->queue->extracting, &a->entry.link);
}

struct add *
add_next(const struct queue *q)
{
    struct fair_entry *e =
        fair_queue_next(&q->waiting, &q->extracting, q->extracts,
                        (size_t)q->plan.max_extractions);

    return e != NULL ? LIST_ITEM(e, struct add, entry) : NULL;
}

/* ---- shares ---- */

static int64_t
extractions_most(const struct fetcher *f)
{
    int64_t sum = 0;

    LIST_EACH (node, &f->queues) {
        const struct queue *q = LIST_ITEM(node, struct queue, link);

        sum += q->retired ? 0 : 2 * q->plan.max_extractions + DOWNLOADS_WAITING;
    }
    return sum;
}

void
add_set_pools(const struct fetcher *f)
{
    tally_set_size(&downloads_pools[DOWNLOADS_POOL_EXTRACTIONS],
                   extractions_most(f));
    tally_set_size(&downloads_pools[DOWNLOADS_POOL_ORDERS], DOWNLOADS_ORDERS);
}

/* The newest of that client that waits. */
static bool
give(void *arg, const struct tally_holder *h, bool in_use)
{
    const struct fetcher *f = arg;

    LIST_EACH (at, &f->queues) {
        struct queue *q = LIST_ITEM(at, struct queue, link);

        for (struct list *node = q->adds.prev; in_use && node != &q->adds;
             node = node->prev) {
            struct add *a = LIST_ITEM(node, struct add, link);

            if (a->state == ADD_WAITS && share_eq(&a->wish.client, h)) {
                add_refuse(a, DOWNLOADS_BUSY, SHARE);
                return true;
            }
        }
    }
    return false;
}

/* Among those that wait: one that would be served after an add of e's owner. */
static bool
another_gives(struct queue *q, const struct fair_entry *e)
{
    uint64_t turn = fair_queue_turn(&q->waiting, e);

    for (struct list *node = q->waiting.entries.prev;
         node != &q->waiting.entries; node = node->prev) {
        struct add *o = LIST_ITEM(node, struct add, entry.link);

        if (o->entry.turn <= turn) {
            break;
        }
        if (!share_is_exempt(&o->wish.client)) {
            add_refuse(o, DOWNLOADS_BUSY, SHARE);
            return true;
        }
    }
    return false;
}

/* Whether too many wait, and none gives way. */
static bool
is_busy(struct queue *q, const struct download_wish *w)
{
    struct fair_entry e;

    fair_entry_init(&e, w->client.words);
    return q->waits >= DOWNLOADS_WAITING && !another_gives(q, &e);
}

const char *
add_claim(struct queue *q, const struct download_wish *w)
{
    const struct share_want want = {
        .pool = &downloads_pools[DOWNLOADS_POOL_EXTRACTIONS],
        .client = w->client,
        .size = extractions_most(q->fetcher),
        .give = give,
        .arg = q->fetcher,
    };

    switch (share_claim(&want)) {
    case SHARE_GRANTED:
        break;
    case SHARE_OVER:
        return SHARE;
    case SHARE_FULL:
        return BUSY;
    }
    if (is_busy(q, w)) {
        tally_leave(want.pool, &want.client);
        return BUSY;
    }
    return NULL;
}

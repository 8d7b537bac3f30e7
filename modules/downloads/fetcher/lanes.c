/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/lanes.h"

#include <stddef.h>

#include "base/mem.h"
#include "net/share.h"

struct lane {
    struct list link;
    struct list waiting;
    struct tally_holder client;
};

void
lanes_init(struct lanes *l)
{
    list_init(&l->all);
}

static void
lane_free(struct lane *lane)
{
    list_remove(&lane->link);
    mem_free(&lane);
}

void
lanes_clear(struct lanes *l)
{
    LIST_EACH (node, &l->all) {
        lane_free(LIST_ITEM(node, struct lane, link));
    }
}

static struct lane *
lane_of(struct lanes *l, const struct tally_holder *client)
{
    struct lane *lane;

    LIST_EACH (node, &l->all) {
        lane = LIST_ITEM(node, struct lane, link);
        if (share_eq(&lane->client, client)) {
            return lane;
        }
    }
    lane = mem_zero(sizeof(*lane));
    list_init(&lane->waiting);
    lane->client = *client;
    list_append(&l->all, &lane->link);
    return lane;
}

void
lanes_add(struct lanes *l, const struct tally_holder *client, struct list *node)
{
    list_append(&lane_of(l, client)->waiting, node);
}

/* Lanes in front that are empty, because things were taken off, go. */
bool
lanes_empty(struct lanes *l)
{
    LIST_EACH (node, &l->all) {
        struct lane *lane = LIST_ITEM(node, struct lane, link);

        if (!list_empty(&lane->waiting)) {
            return false;
        }
        lane_free(lane);
    }
    return true;
}

struct list *
lanes_take(struct lanes *l)
{
    struct lane *lane;
    struct list *node;

    if (lanes_empty(l)) {
        return NULL;
    }
    lane = LIST_ITEM(l->all.next, struct lane, link);
    node = lane->waiting.next;
    list_remove(node);
    if (list_empty(&lane->waiting)) {
        lane_free(lane);
    } else {
        list_remove(&lane->link);
        list_append(&l->all, &lane->link);
    }
    return node;
}

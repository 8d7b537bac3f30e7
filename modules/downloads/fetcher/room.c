/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/room.h"

#include "base/clock.h"

#define LOOK_MS 500
#define SETTLE_MS 1000 /* all runs have counted what they wrote by then */
#define REST_MS 1500   /* from the end of a run to the next, at least */

static struct list writers = { &writers, &writers };
static int64_t rests_until;

static bool
has_most(const struct room *r)
{
    LIST_EACH (node, &writers) {
        const struct room *other = LIST_ITEM(node, struct room, link);

        if (other->place == r->place && other->bytes > r->bytes) {
            return false;
        }
    }
    return true;
}

static bool
is_full(const struct room *r)
{
    int64_t space = place_free_bytes(r->place);

    return space >= 0 && space < r->min_free;
}

static void
on_look(struct timer *t)
{
    struct room *r = LIST_ITEM(t, struct room, timer);
    int64_t now = clock_ms();

    timer_set(r->loop, t, LOOK_MS);
    if (!is_full(r)) {
        r->full_since = 0;
        return;
    }
    if (r->full_since == 0) {
        r->full_since = now;
    }
    if (now - r->full_since >= SETTLE_MS && now >= rests_until &&
        (r->bytes > 0 || !r->began_full) && has_most(r)) {
        rests_until = now + REST_MS;
        r->on_full(r);
    }
}

void
room_start(struct room *r, struct loop *l, const struct place *place,
           int64_t min_free, void (*on_full)(struct room *r))
{
    *r = (struct room){
        .loop = l, .place = place, .min_free = min_free, .on_full = on_full
    };
    r->began_full = is_full(r);
    timer_init(&r->timer, on_look);
    timer_set(l, &r->timer, LOOK_MS);
    list_append(&writers, &r->link);
}

void
room_stop(struct room *r)
{
    if (r->loop != NULL) {
        timer_stop(r->loop, &r->timer);
        list_remove(&r->link);
        r->loop = NULL;
    }
}

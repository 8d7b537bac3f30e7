/*
 * Timers of the loop: a 4-ary heap that knows where each timer is, so that
 * moving and stopping one need no search.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "event/loop.h"

#include <assert.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/loop_impl.h"

#define ARITY 4
#define FIRST_SIZE 64

static void
put(struct timer_heap *h, uint32_t at, struct timer_entry e)
{
    h->entries[at] = e;
    e.timer->place = at + 1;
}

static void
sift_up(struct timer_heap *h, uint32_t at, struct timer_entry e)
{
    while (at > 0) {
        uint32_t parent = (at - 1) / ARITY;

        if (h->entries[parent].due <= e.due) {
            break;
        }
        put(h, at, h->entries[parent]);
        at = parent;
    }
    put(h, at, e);
}

/* The child of at that is due first, or count if it has none. */
static uint32_t
first_child(const struct timer_heap *h, uint32_t at)
{
    uint32_t first = at * ARITY + 1;
    uint32_t best = first < h->count ? first : h->count;

    for (uint32_t i = first + 1; i < first + ARITY && i < h->count; i++) {
        if (h->entries[i].due < h->entries[best].due) {
            best = i;
        }
    }
    return best;
}

static void
sift_down(struct timer_heap *h, uint32_t at, struct timer_entry e)
{
    for (;;) {
        uint32_t child = first_child(h, at);

        if (child >= h->count || h->entries[child].due >= e.due) {
            break;
        }
        put(h, at, h->entries[child]);
        at = child;
    }
    put(h, at, e);
}

static void
place(struct timer_heap *h, uint32_t at, struct timer_entry e)
{
    if (at > 0 && h->entries[(at - 1) / ARITY].due > e.due) {
        sift_up(h, at, e);
    } else {
        sift_down(h, at, e);
    }
}

static void
grow(struct timer_heap *h)
{
    if (h->count < h->size) {
        return;
    }
    h->size = h->size == 0 ? FIRST_SIZE : h->size * 2;
    h->entries = mem_resize(h->entries, h->size * sizeof(h->entries[0]));
}

/* Memory of thousands of timers is not kept for a few. */
static void
shrink(struct timer_heap *h)
{
    if (h->size > FIRST_SIZE && h->count < h->size / 4) {
        h->size /= 2;
        h->entries = mem_resize(h->entries, h->size * sizeof(h->entries[0]));
    }
}

void
timer_init(struct timer *t, void (*on_due)(struct timer *t))
{
    *t = (struct timer){ .on_due = on_due };
}

bool
timer_is_set(const struct timer *t)
{
    return t->place != 0;
}

void
timer_set(struct loop *l, struct timer *t, int64_t delay_ms)
{
    struct timer_heap *h = &l->timers;
    int64_t now = clock_ms();

    if (delay_ms < 0) {
        delay_ms = 0;
    }
    t->due = delay_ms < INT64_MAX - now ? now + delay_ms : INT64_MAX;
    /* One that sets itself again at once must not keep the turn for ever. */
    if (h->running && t->due <= l->now) {
        t->due = l->now + 1;
    }
    if (t->place == 0) {
        grow(h);
        t->place = ++h->count;
        sift_up(h, t->place - 1, (struct timer_entry){ t->due, t });
        return;
    }
    place(h, t->place - 1, (struct timer_entry){ t->due, t });
}

void
timer_stop(struct loop *l, struct timer *t)
{
    struct timer_heap *h = &l->timers;
    uint32_t at = t->place;

    if (at == 0) {
        return;
    }
    assert(at <= h->count && h->entries[at - 1].timer == t);
    t->place = 0;
    h->count--;
    if (at - 1 < h->count) {
        place(h, at - 1, h->entries[h->count]);
    }
    shrink(h);
}

int64_t
timers_wait(const struct loop *l, int64_t now_ms)
{
    if (l->timers.count == 0) {
        return -1;
    }
    int64_t wait = l->timers.entries[0].due - now_ms;

    return wait > 0 ? wait : 0;
}

static bool
one_is_due(const struct loop *l)
{
    return l->timers.count > 0 && l->timers.entries[0].due <= l->now;
}

/* Thousands may be due at once: those that find no time are for the next
 * turn. */
void
timers_run(struct loop *l)
{
    struct timer_heap *h = &l->timers;

    if (!one_is_due(l)) {
        return;
    }
    int64_t share = loop_share();

    h->running = true;
    do {
        struct timer *t = h->entries[0].timer;

        timer_stop(l, t);
        t->on_due(t);
    } while (one_is_due(l) && !loop_share_used(share));
    h->running = false;
}

void
timers_clear(struct loop *l)
{
    struct timer_heap *h = &l->timers;

    for (uint32_t i = 0; i < h->count; i++) {
        h->entries[i].timer->place = 0;
    }
    mem_free(&h->entries);
    h->count = h->size = 0;
}

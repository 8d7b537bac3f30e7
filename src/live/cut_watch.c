/*
 * Watches of cuts, in a process: by the hash of their stream's name, whether
 * there is such a stream or not.
 *
 * A process without watches pays nothing.  One with watches is marked in each
 * stream that it watches, and is woken for that stream's cuts.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/cut_watch.h"

#include "base/hash.h"
#include "live/cut.h"
#include "live/stream.h"

#define BUCKETS 256u

static struct {
    struct list buckets[BUCKETS];
    uint64_t count;
    bool ready;
} watches;

static struct list *
bucket_of(struct str name)
{
    if (!watches.ready) {
        for (unsigned i = 0; i < BUCKETS; i++) {
            list_init(&watches.buckets[i]);
        }
        watches.ready = true;
    }
    return &watches.buckets[hash_str(name) % BUCKETS];
}

static void
mark(struct stream *s, bool on)
{
    uint32_t slot = slot_self();
    uint64_t bit = UINT64_C(1) << slot % 64;

    if (on) {
        atomic_fetch_or(&s->cut_readers[slot / 64], bit);
    } else {
        atomic_fetch_and(&s->cut_readers[slot / 64], ~bit);
    }
}

/* Changes with each cut, and when the publisher goes or comes, the hold is over
 * or the stream ends; never 0. */
static uint64_t
state_of(struct stream *s)
{
    struct cut_page *page = cut_page_of(s);
    uint64_t cuts = page != NULL ? atomic_load(&page->next) : 0;

    return (cuts * 31 + atomic_load(&s->generation) * 1000003 +
            atomic_load(&s->sessions))
               << 4 |
           (stream_is_open(s) ? 8u : 0) | (stream_hold_is_over(s) ? 4u : 0) |
           (stream_is_live(s) ? 2u : 0) | 1u;
}

void
live_cut_watch(struct live_cut_watch *w)
{
    struct stream *s = stream_find(w->name);

    list_append(bucket_of(w->name), &w->link);
    w->seen = 0;
    watches.count++;
    if (s != NULL) {
        mark(s, true);
        /* It may have been cut since the caller looked. */
        wake_slot(slot_self(), stream_number(s));
    }
}

static bool
is_watched(struct str name)
{
    struct list *bucket = bucket_of(name);

    LIST_EACH (node, bucket) {
        if (str_eq(LIST_ITEM(node, struct live_cut_watch, link)->name, name)) {
            return true;
        }
    }
    return false;
}

void
live_cut_unwatch(struct live_cut_watch *w)
{
    struct stream *s;

    if (list_empty(&w->link)) {
        return;
    }
    list_remove(&w->link);
    watches.count--;
    if (!is_watched(w->name) && (s = stream_find(w->name)) != NULL) {
        mark(s, false);
    }
}

/* Calls those that have not seen it, whatever they do to watches. */
void
cut_watches_look(uint32_t n)
{
    struct stream *s = &arena.streams[n];
    struct list due, *bucket;
    struct str name;
    uint64_t state;

    if (watches.count == 0) {
        return;
    }
    name = stream_name(s);
    bucket = bucket_of(name);
    if (!is_watched(name)) {
        return;
    }
    if (stream_is_open(s)) {
        mark(s, true);
    }
    state = state_of(s); /* behind the mark: what is later wakes us */
    list_init(&due);
    LIST_EACH (node, bucket) {
        struct live_cut_watch *w = LIST_ITEM(node, struct live_cut_watch, link);

        if (w->seen != state && str_eq(w->name, name)) {
            list_remove(node);
            list_append(&due, node);
        }
    }
    while (!list_empty(&due)) {
        struct live_cut_watch *w =
            LIST_ITEM(due.next, struct live_cut_watch, link);

        list_remove(&w->link);
        list_append(bucket, &w->link);
        w->seen = state;
        w->on_cut(w);
    }
}

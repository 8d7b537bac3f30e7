/*
 * The arena: laying it out, epochs, wake flags.
 *
 * Which segments are free is the business of segment.c, what they hold that of
 * writer.c and init_headers.c.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/arena.h"

#include <assert.h>
#include <string.h>

#include "live/history.h"
#include "live/record.h"
#include "live/stream.h"
#include "live/viewer.h"
#include "proc/shared.h"

struct arena arena;

/* Takes room at *at, aligned to a cache line; returns where it began. */
static size_t
lay(size_t *at, size_t size)
{
    size_t begin = (*at + 63) & ~(size_t)63;

    *at = begin + size;
    return begin;
}

struct layout {
    size_t keys, names, taken, viewers, streams, claims, pages, states,
        hints[SEGMENT_HINTS];
    size_t sessions, segments, size;
};

static size_t
to_segment(size_t at)
{
    return (at + SEGMENT_SIZE - 1) & ~(size_t)(SEGMENT_SIZE - 1);
}

static struct layout
lay_out(const struct live_settings *s)
{
    struct layout l;
    size_t at = 0;
    size_t segments = (size_t)s->memory / SEGMENT_SIZE;

    lay(&at, sizeof(struct arena_head));
    l.keys = lay(&at, (size_t)s->max_streams * sizeof(uint64_t));
    l.names =
        lay(&at, names_buckets((uint32_t)s->max_streams) * names_bucket_size());
    l.taken =
        lay(&at, names_words((uint32_t)s->max_streams) * sizeof(uint64_t));
    l.viewers = lay(&at, viewers_size((uint32_t)s->max_sessions));
    l.streams = lay(&at, (size_t)s->max_streams * sizeof(struct stream));
    l.claims = lay(&at, (size_t)s->max_sessions * sizeof(struct session_claim));
    l.pages = lay(&at, slots_count() * sizeof(struct wake_page));
    l.states = lay(&at, segments * sizeof(uint64_t));
    for (unsigned i = 0; i < SEGMENT_HINTS; i++) {
        l.hints[i] = lay(&at, segment_hint_words(segments) * sizeof(uint64_t));
    }
    /* These are given back by the page. */
    at = to_segment(at);
    l.sessions =
        lay(&at, (size_t)s->max_sessions * sizeof(struct session_record));
    at = to_segment(at);
    l.segments = lay(&at, segments * SEGMENT_SIZE);
    l.size = at;
    return l;
}

static void
point_into(uint8_t *memory, const struct layout *l)
{
    arena.head = (struct arena_head *)(void *)memory;
    arena.keys = (_Atomic uint64_t *)(void *)(memory + l->keys);
    arena.names = (struct name_bucket *)(void *)(memory + l->names);
    arena.taken = (_Atomic uint64_t *)(void *)(memory + l->taken);
    arena.viewers = (struct viewer_bucket *)(void *)(memory + l->viewers);
    arena.streams = (struct stream *)(void *)(memory + l->streams);
    arena.claims = (struct session_claim *)(void *)(memory + l->claims);
    arena.sessions = (struct session_record *)(void *)(memory + l->sessions);
    arena.pages = (struct wake_page *)(void *)(memory + l->pages);
    arena.states = (_Atomic uint64_t *)(void *)(memory + l->states);
    for (unsigned i = 0; i < SEGMENT_HINTS; i++) {
        arena.hints[i] = (_Atomic uint64_t *)(void *)(memory + l->hints[i]);
    }
    arena.segments = memory + l->segments;
}

int
live_create(const struct live_settings *s, struct errmsg *err)
{
    struct layout l = lay_out(s);
    uint8_t *memory;

    assert(s->max_streams <= WAKE_WORDS * 64);
    assert(s->max_stream_memory <= (int64_t)STREAM_MEMORY_MAX);
    memory = shared_create("weir-live", l.size, SHARED_ALL, err);
    if (memory == NULL) {
        return errmsg_prefix(err, "live.memory: ");
    }
    if (history_create(s->history_streams, err) == -1) {
        shared_destroy(memory);
        return errmsg_prefix(err, "live.history_streams: ");
    }
    point_into(memory, &l);
    arena.settings = *s;
    arena.stream_count = (uint32_t)s->max_streams;
    arena.session_count = (uint32_t)s->max_sessions;
    arena.segment_count = (uint32_t)(s->memory / SEGMENT_SIZE);
    arena.slot_count = slots_count();
    atomic_store(&arena.head->epoch, 1);
    arena.name_buckets = names_buckets(arena.stream_count);
    segments_begin();
    records_begin();
    viewers_begin();
    return 0;
}

void
live_destroy(void)
{
    if (arena.head != NULL) {
        history_destroy();
        shared_destroy(arena.head);
        arena = (struct arena){ .head = NULL };
    }
}

uint64_t
epoch_advance(void)
{
    return atomic_fetch_add(&arena.head->epoch, 1) + 1;
}

uint64_t
epoch_oldest(void)
{
    /* Not more than the epoch of now, even if all sleep: who wakes later may
     * enter what is retired later. */
    uint64_t oldest = atomic_load(&arena.head->epoch);

    for (uint32_t i = 0; i < slots_end(); i++) {
        const struct slot_card *card = slot_card(i);
        uint64_t seen;

        if (atomic_load(&card->kind) == SLOT_FREE ||
            atomic_load(&card->no_media)) {
            continue;
        }
        seen = atomic_load(&slot_at(i)->epoch_seen);
        oldest = seen < oldest ? seen : oldest;
    }
    return oldest;
}

void
wake_slot(uint32_t number, uint32_t n)
{
    struct wake_page *page = &arena.pages[number];
    struct slot *slot = slot_at(number);
    uint64_t bit = UINT64_C(1) << n % 64;
    uint32_t sleep;

    if (number >= arena.slot_count) {
        return;
    }
    /* The next caller repeats every step, so that a process killed between two
     * of them cannot leave a bit that nobody looks at. */
    atomic_fetch_or(&page->dirty[n / 64], bit);
    atomic_fetch_or(&page->summary[n / 64 / 64], UINT64_C(1) << n / 64 % 64);
    atomic_store(&page->pending, 1);
    sleep = atomic_load(&slot->asleep);
    if (sleep != 0) {
        slot_wake(number);
        /* Only of that very sleep: the next one wants its own wake. */
        atomic_compare_exchange_strong(&slot->asleep, &sleep, 0);
    }
}

static void
wake_slots(const struct stream *s, const _Atomic uint64_t *slots)
{
    for (uint32_t w = 0; w < (arena.slot_count + 63) / 64; w++) {
        uint64_t bits = atomic_load(&slots[w]);

        while (bits != 0) {
            uint32_t bit = (uint32_t)__builtin_ctzll(bits);

            bits &= bits - 1;
            wake_slot(w * 64 + bit, stream_number(s));
        }
    }
}

void
wake_readers(struct stream *s)
{
    wake_slots(s, s->readers);
}

void
wake_cut_readers(struct stream *s)
{
    wake_slots(s, s->cut_readers);
}

void
live_memory(struct live_memory_view *v)
{
    *v = (struct live_memory_view){
        .segments = arena.segment_count,
        .segment_size = SEGMENT_SIZE,
    };
    segments_count(&v->used, &v->retired);
    for (uint32_t i = 0; i < arena.stream_count; i++) {
        v->streams += atomic_load(&arena.keys[i]) != 0;
    }
    for (uint32_t i = 0; i < sessions_end(); i++) {
        v->sessions += session_owner(i) != 0;
    }
}

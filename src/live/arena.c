/*
 * The arena: laying it out, taking and retiring segments, epochs, wake flags.
 *
 * A segment is found by walking the state words from where this process was
 * last lucky; there is no free list that a killed process could break.  What
 * segments hold is the business of writer.c and prologue.c.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/arena.h"

#include <assert.h>
#include <string.h>

#include "base/log.h"
#include "proc/shared.h"

#define KIND_SHIFT 62
#define RETIRED_HINTS 1024u

/* What this process retired, oldest first: its memory is there already, while
 * a FREE segment's has to be found and zeroed by the kernel.  Only a hint:
 * others may have taken them. */
static struct {
    uint32_t items[RETIRED_HINTS];
    uint32_t first, count;
} retired;

struct arena arena = { .fd = -1 };

static uint64_t
segment_word(enum segment_kind kind, uint64_t value)
{
    return (uint64_t)kind << KIND_SHIFT | value;
}

static enum segment_kind
segment_kind_of(uint64_t word)
{
    return (enum segment_kind)(word >> KIND_SHIFT);
}

static uint64_t
segment_value(uint64_t word)
{
    return word & (UINT64_MAX >> 2);
}

/* Takes room at *at, aligned to a cache line; returns where it began. */
static size_t
lay(size_t *at, size_t size)
{
    size_t begin = (*at + 63) & ~(size_t)63;

    *at = begin + size;
    return begin;
}

struct layout {
    size_t keys, streams, sessions, pages, states, segments, size;
};

static struct layout
lay_out(const struct live_settings *s)
{
    struct layout l;
    size_t at = 0;
    size_t segments = (size_t)s->memory / SEGMENT_SIZE;

    lay(&at, sizeof(struct arena_head));
    l.keys = lay(&at, (size_t)s->max_streams * sizeof(uint64_t));
    l.streams = lay(&at, (size_t)s->max_streams * sizeof(struct stream));
    l.sessions =
        lay(&at, (size_t)s->max_sessions * sizeof(struct session_record));
    l.pages = lay(&at, slots_count() * sizeof(struct wake_page));
    l.states = lay(&at, segments * sizeof(uint64_t));
    at = (at + SEGMENT_SIZE - 1) & ~(size_t)(SEGMENT_SIZE - 1);
    l.segments = lay(&at, segments * SEGMENT_SIZE);
    l.size = at;
    return l;
}

static void
point_into(uint8_t *memory, const struct layout *l)
{
    arena.head = (struct arena_head *)(void *)memory;
    arena.keys = (_Atomic uint64_t *)(void *)(memory + l->keys);
    arena.streams = (struct stream *)(void *)(memory + l->streams);
    arena.sessions = (struct session_record *)(void *)(memory + l->sessions);
    arena.pages = (struct wake_page *)(void *)(memory + l->pages);
    arena.states = (_Atomic uint64_t *)(void *)(memory + l->states);
    arena.segments = memory + l->segments;
    arena.size = l->size;
}

int
live_create(const struct live_settings *s, struct errmsg *err)
{
    struct layout l = lay_out(s);
    uint8_t *memory;

    assert(s->max_streams <= WAKE_WORDS * 64);
    assert(s->max_stream_memory <= (int64_t)STREAM_MEMORY_MAX);
    memory = shared_create("weir-live", l.size, &arena.fd, err);
    if (memory == NULL) {
        return errmsg_prefix(err, "live.memory: ");
    }
    point_into(memory, &l);
    retired.count = 0;
    arena.settings = *s;
    arena.head->magic = ARENA_MAGIC;
    arena.head->layout = ARENA_LAYOUT;
    arena.head->segment_size = SEGMENT_SIZE;
    arena.head->stream_count = (uint32_t)s->max_streams;
    arena.head->session_count = (uint32_t)s->max_sessions;
    arena.head->segment_count = (uint32_t)(s->memory / SEGMENT_SIZE);
    arena.head->slot_count = slots_count();
    atomic_store(&arena.head->epoch, 1);
    return 0;
}

void
live_destroy(void)
{
    if (arena.head != NULL) {
        shared_destroy(arena.head, arena.size, &arena.fd);
        arena = (struct arena){ .fd = -1 };
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
        struct slot *slot = slot_at(i);
        uint64_t seen;

        if (atomic_load(&slot->kind) == SLOT_FREE) {
            continue;
        }
        seen = atomic_load(&slot->epoch_seen);
        oldest = seen < oldest ? seen : oldest;
    }
    return oldest;
}

/* Whether a segment with that state word may be taken. */
static bool
can_take(uint64_t word, uint64_t *oldest)
{
    enum segment_kind kind = segment_kind_of(word);

    if (kind == SEGMENT_FREE) {
        return true;
    }
    if (kind == SEGMENT_USED) {
        return false;
    }
    if (*oldest == 0) {
        *oldest = epoch_oldest();
    }
    return segment_value(word) <= *oldest;
}

/* Takes the segment if its state allows it. */
static bool
try_take(uint32_t segment, uint32_t n, uint64_t *oldest)
{
    uint64_t word =
        atomic_load_explicit(&arena.states[segment], memory_order_relaxed);

    return can_take(word, oldest) &&
           atomic_compare_exchange_strong(&arena.states[segment], &word,
                                          segment_word(SEGMENT_USED, n));
}

static uint32_t
take_retired(uint32_t n, uint64_t *oldest)
{
    while (retired.count > 0) {
        uint32_t segment = retired.items[retired.first];
        uint64_t word = atomic_load(&arena.states[segment]);

        if (segment_kind_of(word) == SEGMENT_RETIRED &&
            !can_take(word, oldest)) {
            break; /* nor can those behind it */
        }
        retired.first = (retired.first + 1) % RETIRED_HINTS;
        retired.count--;
        if (try_take(segment, n, oldest)) {
            return segment;
        }
    }
    return SEGMENT_NONE;
}

uint32_t
segment_take(uint32_t n)
{
    uint32_t count = arena.head->segment_count;
    uint64_t oldest = 0; /* asked for once, when it matters */
    uint32_t at = take_retired(n, &oldest);

    if (at != SEGMENT_NONE) {
        return at;
    }
    at = arena.segment_hint;
    for (uint32_t i = 0; i < count; i++) {
        at = at + 1 < count ? at + 1 : 0;
        if (try_take(at, n, &oldest)) {
            arena.segment_hint = at;
            return at;
        }
    }
    return SEGMENT_NONE;
}

void
segment_retire(uint32_t segment)
{
    uint32_t last = (retired.first + retired.count) % RETIRED_HINTS;

    atomic_store(&arena.states[segment],
                 segment_word(SEGMENT_RETIRED, epoch_advance()));
    if (retired.count < RETIRED_HINTS) {
        retired.items[last] = segment;
        retired.count++;
    }
}

bool
segment_used_by(uint32_t segment, uint32_t n)
{
    uint64_t word = atomic_load(&arena.states[segment]);

    return segment_kind_of(word) == SEGMENT_USED && segment_value(word) == n;
}

void
wake_slot(uint32_t number, uint32_t n)
{
    struct wake_page *page = &arena.pages[number];
    struct slot *slot = slot_at(number);
    uint64_t bit = UINT64_C(1) << n % 64;
    uint32_t sleep;

    /* Every step is repeated by whoever comes next, so that a process killed
     * between two of them cannot leave a bit that nobody looks at. */
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

void
wake_readers(struct stream *s)
{
    for (uint32_t w = 0; w < (arena.head->slot_count + 63) / 64; w++) {
        uint64_t bits = atomic_load(&s->readers[w]);

        while (bits != 0) {
            uint32_t bit = (uint32_t)__builtin_ctzll(bits);

            bits &= bits - 1;
            wake_slot(w * 64 + bit, stream_number(s));
        }
    }
}

void
live_memory(struct live_memory_view *v)
{
    *v = (struct live_memory_view){
        .segments = arena.head->segment_count,
        .segment_size = SEGMENT_SIZE,
    };
    for (uint32_t i = 0; i < arena.head->segment_count; i++) {
        enum segment_kind kind = segment_kind_of(
            atomic_load_explicit(&arena.states[i], memory_order_relaxed));

        v->used += kind == SEGMENT_USED;
        v->retired += kind == SEGMENT_RETIRED;
    }
    for (uint32_t i = 0; i < arena.head->stream_count; i++) {
        v->streams += atomic_load(&arena.keys[i]) != 0;
    }
    for (uint32_t i = 0; i < atomic_load(&arena.head->session_end); i++) {
        v->sessions += atomic_load(&arena.sessions[i].owner) != 0;
    }
}

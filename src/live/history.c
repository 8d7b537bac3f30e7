/*
 * Rings of speeds.
 *
 * Each level has one place more than it keeps: the next to be written, which
 * nobody reads.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/history.h"

#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "live/live.h"
#include "proc/shared.h"

#define SECOND INT64_C(1000)
#define POINTS (301 + 361 + 721)
#define NONE UINT64_MAX
#define UNIT 8 /* bit/s: speeds are kept as bytes a second, in 32 bits */

const struct history_level history_levels[HISTORY_LEVELS] = {
    { SECOND, 300 },
    { 10 * SECOND, 360 },
    { 120 * SECOND, HISTORY_MOST },
};

static const uint32_t first_place[HISTORY_LEVELS] = { 0, 301, 301 + 361 };

struct row {                  /* shared */
    _Atomic uint32_t version; /* odd: it changes hands */
    char name[LIVE_NAME_MAX];
    _Atomic uint64_t points[POINTS];
};

struct rings { /* shared; the master's */
    _Atomic uint64_t ticks;
    _Atomic int64_t at_ms; /* the last one, clock_ms() */
    struct row rows[];     /* the node's first */
};

struct sum {
    uint64_t first, second;
    uint32_t count;
};

struct keeping { /* the master's of a row */
    uint64_t hash;
    uint64_t seen; /* the tick after which it was put last; 0: free */
    bool here;     /* in the second that is not over */
    uint32_t first, second;
    struct sum sums[HISTORY_LEVELS];
};

static struct {
    struct rings *rings;  /* NULL: nothing is kept */
    struct keeping *keep; /* owned */
    uint32_t count;       /* rows */
    uint64_t full;        /* the tick after which no row was to be had */
} all;

int
history_create(int64_t streams, struct errmsg *err)
{
    size_t count = (size_t)streams + 1;

    if (streams == 0) {
        return 0;
    }
    all.rings = shared_create("weir history",
                              sizeof(struct rings) + count * sizeof(struct row),
                              SHARED_MASTER, err);
    if (all.rings == NULL) {
        return -1;
    }
    all.count = (uint32_t)count;
    all.keep = mem_zero(count * sizeof(*all.keep));
    for (uint32_t i = 0; i < POINTS; i++) {
        atomic_init(&all.rings->rows[0].points[i], NONE);
    }
    all.keep[0].seen = 1;
    return 0;
}

void
history_destroy(void)
{
    shared_destroy(all.rings);
    mem_free(&all.keep);
    all.rings = NULL;
    all.count = 0;
    all.full = 0;
}

/* ---- rows ---- */

static bool
is_of(uint32_t i, struct str name)
{
    return str_eq(str_from(all.rings->rows[i].name), name);
}

static uint32_t
find_kept(struct str name, uint64_t hash)
{
    for (uint32_t i = 1; i < all.count; i++) {
        if (all.keep[i].seen != 0 && all.keep[i].hash == hash &&
            is_of(i, name)) {
            return i;
        }
    }
    return 0;
}

/* A free row, or that of the stream that was gone longest; 0: all are there. */
static uint32_t
find_room(uint64_t now)
{
    uint32_t best = 0;

    for (uint32_t i = 1; i < all.count; i++) {
        if (all.keep[i].seen + 1 < now &&
            (best == 0 || all.keep[i].seen < all.keep[best].seen)) {
            best = i;
        }
    }
    return best;
}

static void
give_row(uint32_t i, struct str name, uint64_t hash)
{
    struct row *row = &all.rings->rows[i];

    atomic_fetch_add(&row->version, 1);
    atomic_thread_fence(memory_order_release);
    str_copy(row->name, sizeof(row->name), name);
    for (uint32_t k = 0; k < POINTS; k++) {
        atomic_store_explicit(&row->points[k], NONE, memory_order_relaxed);
    }
    atomic_fetch_add(&row->version, 1);
    all.keep[i] = (struct keeping){ .hash = hash };
}

/* 0: there is no room. */
static uint32_t
row_of(struct str name, uint64_t now)
{
    uint64_t hash = hash_str(name);
    uint32_t i = find_kept(name, hash);

    if (i != 0 || all.full == now) {
        return i;
    }
    i = find_room(now);
    if (i != 0) {
        give_row(i, name, hash);
    } else {
        all.full = now;
    }
    return i;
}

/* ---- a second ---- */

static uint32_t
packed(uint64_t speed)
{
    return speed / UNIT < UINT32_MAX ? (uint32_t)(speed / UNIT)
                                     : UINT32_MAX - 1;
}

void
history_put(struct str name, uint64_t first, uint64_t second)
{
    uint64_t now = history_ticks() + 2; /* 0 and 1: long ago */
    uint32_t i;

    if (all.rings == NULL) {
        return;
    }
    i = name.len > 0 ? row_of(name, now) : 0;
    if (i == 0 && name.len > 0) {
        return;
    }
    all.keep[i].seen = now;
    all.keep[i].here = true;
    all.keep[i].first = packed(first);
    all.keep[i].second = packed(second);
}

static void
write_point(uint32_t i, unsigned level, uint64_t at, uint64_t value)
{
    uint64_t place = at % (history_levels[level].count + 1);

    atomic_store_explicit(
        &all.rings->rows[i].points[first_place[level] + place], value,
        memory_order_relaxed);
}

static uint64_t
point(uint64_t first, uint64_t second)
{
    return first << 32 | second;
}

/* The point that ends with second number tick of a level, if one does. */
static void
write_level(uint32_t i, unsigned level, uint64_t tick)
{
    uint64_t per = (uint64_t)(history_levels[level].step_ms / SECOND);
    struct keeping *k = &all.keep[i];
    struct sum *sum = &k->sums[level];

    if (k->here) {
        sum->first += k->first;
        sum->second += k->second;
        sum->count++;
    }
    if ((tick + 1) % per == 0) {
        write_point(i, level, tick / per,
                    sum->count == 0 ? NONE
                                    : point(sum->first / sum->count,
                                            sum->second / sum->count));
        *sum = (struct sum){ 0 };
    }
}

void
history_tick(void)
{
    uint64_t tick = history_ticks();

    if (all.rings == NULL) {
        return;
    }
    for (uint32_t i = 0; i < all.count; i++) {
        for (unsigned level = 0; level < HISTORY_LEVELS; level++) {
            if (all.keep[i].seen != 0) {
                write_level(i, level, tick);
            }
        }
        all.keep[i].here = false;
    }
    atomic_store(&all.rings->at_ms, clock_ms());
    atomic_store(&all.rings->ticks, tick + 1);
}

uint64_t
history_ticks(void)
{
    return all.rings != NULL ? atomic_load(&all.rings->ticks) : 0;
}

/* ---- reading ---- */

static struct history_point
unpacked(uint64_t value)
{
    return (struct history_point){
        .known = value != NONE,
        .first = value != NONE ? (value >> 32) * UNIT : 0,
        .second = value != NONE ? (value & UINT32_MAX) * UNIT : 0,
    };
}

static void
read_level(const struct row *row, unsigned level, struct history_view *v)
{
    const struct history_level *l = &history_levels[level];
    uint64_t per = (uint64_t)(l->step_ms / SECOND);
    uint64_t ticks = atomic_load(&all.rings->ticks);
    uint64_t end = ticks / per; /* whole points so far */
    uint64_t begin = end > l->count ? end - l->count : 0;

    v->age_ms = clock_ms() - atomic_load(&all.rings->at_ms) +
                (int64_t)(ticks - end * per) * SECOND;
    v->count = (uint32_t)(end - begin);
    for (uint64_t at = begin; at < end; at++) {
        v->points[at - begin] = unpacked(atomic_load_explicit(
            &row->points[first_place[level] + at % (l->count + 1)],
            memory_order_relaxed));
    }
}

/* Whether it is that stream's, before and after it was read. */
static bool
read_row(const struct row *row, struct str name, unsigned level,
         struct history_view *v)
{
    uint32_t version = atomic_load(&row->version);

    if (version % 2 != 0 || !str_eq(str_from(row->name), name)) {
        return false;
    }
    read_level(row, level, v);
    atomic_thread_fence(memory_order_acquire);
    return atomic_load(&row->version) == version;
}

bool
history_read(struct str name, unsigned level, struct history_view *v)
{
    if (all.rings == NULL) {
        return false;
    }
    if (name.len == 0) {
        read_level(&all.rings->rows[0], level, v);
        return true;
    }
    for (uint32_t i = 1; i < all.count; i++) {
        if (read_row(&all.rings->rows[i], name, level, v)) {
            return true;
        }
    }
    return false;
}

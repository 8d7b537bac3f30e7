/*
 * An entry: 32 bits of a hash of pool and holder, 32 of a count; free while
 * that is 0.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/tally.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/hash.h"
#include "proc/shared.h"
#include "proc/slot.h"

#define WAYS 8
#define PAGE_SETS 64 /* sets of a page of memory */
#define TOPS 8
#define NOBODY 0 /* the master's slot */

struct tally_set {
    _Alignas(64) _Atomic uint64_t entries[WAYS];
};

/* A holder of many. */
struct top {
    _Atomic uint64_t words[2];
    _Atomic uint32_t count; /* when it came to that, or was looked at */
};

/* Of a slot.  A pool of the node has its tops in the area of nobody. */
struct tally_area {
    _Alignas(64) _Atomic int64_t used[TALLY_POOLS];
    _Atomic int64_t size[TALLY_POOLS];
    struct top tops[TALLY_POOLS][TOPS];
};

static struct {
    struct tally_set *sets;   /* shared; those of slot 0, of slot 1, ... */
    struct tally_area *areas; /* shared */
    size_t per_slot;
    uint32_t slots;
    const struct tally_pool *pools[TALLY_POOLS + 1]; /* by number */
    uint32_t count;
} all;

/* ---- memory ---- */

int
tally_register(struct tally_pool *table, struct errmsg *err)
{
    for (struct tally_pool *p = table; p != NULL && p->name != NULL; p++) {
        if (all.count + 1 == TALLY_POOLS) {
            return errmsg_set(err, "more than %d pools", TALLY_POOLS - 1);
        }
        p->number = ++all.count;
        all.pools[p->number] = p;
    }
    return 0;
}

int
tally_create(size_t keys, uint32_t slots, struct errmsg *err)
{
    size_t pages = keys / WAYS / PAGE_SETS + 1;

    all.per_slot = pages * PAGE_SETS;
    all.slots = slots;
    all.sets = shared_create_array("weir-tally", slots * all.per_slot,
                                   sizeof(struct tally_set), SHARED_ALL, err);
    all.areas =
        all.sets == NULL
            ? NULL
            : shared_create("weir-pools", slots * sizeof(struct tally_area),
                            SHARED_ALL, err);
    return all.areas == NULL ? -1 : 0;
}

void
tally_destroy(void)
{
    shared_destroy(all.areas);
    shared_destroy(all.sets);
    memset(&all, 0, sizeof(all));
}

void
tally_sweep(uint32_t slot)
{
    struct tally_set *sets = &all.sets[slot * all.per_slot];

    if (all.areas == NULL) {
        return;
    }
    memset(&all.areas[slot], 0, sizeof(all.areas[slot]));
    if (shared_empty(sets, all.per_slot * sizeof(struct tally_set))) {
        return;
    }
    for (size_t i = 0; i < all.per_slot * WAYS; i++) {
        atomic_store_explicit(&sets[i / WAYS].entries[i % WAYS], 0,
                              memory_order_relaxed);
    }
}

/* ---- entries ---- */

static uint32_t
count_of(uint64_t entry)
{
    return (uint32_t)entry;
}

/* part 0: of the whole pool. */
static uint64_t
part_key(const struct tally_pool *p, uint64_t part,
         const struct tally_holder *h)
{
    uint64_t what[] = { p->number, h->words[0], h->words[1], part };

    return hash_str(str_of((const char *)what, sizeof(what)));
}

static uint64_t
key_of(const struct tally_pool *p, const struct tally_holder *h)
{
    return part_key(p, 0, h);
}

/* All of a part, under a name that is no holder's. */
static uint64_t
whole_key(const struct tally_pool *p, uint64_t part)
{
    static const struct tally_holder everybody = { { UINT64_MAX, UINT64_MAX } };

    return part_key(p, part, &everybody);
}

static struct tally_set *
set_of(uint32_t slot, uint64_t key)
{
    return &all.sets[slot * all.per_slot + (uint32_t)key % all.per_slot];
}

/* Whether an entry counts for that key. */
static bool
is_of(uint64_t entry, uint64_t key)
{
    return count_of(entry) != 0 && entry >> 32 == key >> 32;
}

/* An entry of the key, or a free one.  Two that are made at once both count. */
static void
add(uint32_t slot, uint64_t key)
{
    struct tally_set *set = set_of(slot, key);

    for (int tries = 0; tries < 2 * WAYS; tries++) {
        _Atomic uint64_t *at = NULL;
        uint64_t entry = 0;

        for (int i = 0; i < WAYS; i++) {
            uint64_t here = atomic_load(&set->entries[i]);

            if (is_of(here, key) || (at == NULL && count_of(here) == 0)) {
                at = &set->entries[i];
                entry = here;
            }
            if (is_of(here, key)) {
                break;
            }
        }
        if (at == NULL || count_of(entry) == UINT32_MAX) {
            return;
        }
        if (atomic_compare_exchange_strong(
                at, &entry, (key >> 32 << 32) | (count_of(entry) + 1))) {
            return;
        }
    }
}

static void
take_away(uint32_t slot, uint64_t key)
{
    struct tally_set *set = set_of(slot, key);

    for (int i = 0; i < WAYS; i++) {
        uint64_t entry = atomic_load(&set->entries[i]);

        while (is_of(entry, key)) {
            if (atomic_compare_exchange_weak(&set->entries[i], &entry,
                                             entry - 1)) {
                return;
            }
        }
    }
}

static uint32_t
count_in(uint32_t slot, uint64_t key)
{
    const struct tally_set *set = set_of(slot, key);
    uint32_t sum = 0;

    for (int i = 0; i < WAYS; i++) {
        uint64_t entry = atomic_load(&set->entries[i]);

        sum += is_of(entry, key) ? count_of(entry) : 0;
    }
    return sum;
}

/* ---- scopes ---- */

static uint32_t
end(void)
{
    return slots_end() < all.slots ? slots_end() : all.slots;
}

static bool
is_living(uint32_t slot)
{
    const struct slot_card *c = slot_card(slot);

    return atomic_load_explicit(&c->kind, memory_order_relaxed) != SLOT_FREE &&
           atomic_load_explicit(&c->state, memory_order_relaxed) != SLOT_GONE;
}

/* The next slot of the pool's scope, from *at on, as one process sees it. */
static bool
next_slot(const struct tally_pool *p, uint32_t *at, uint32_t self)
{
    if (p->scope == TALLY_PROCESS) {
        bool more = *at <= self;

        *at = self;
        return more;
    }
    while (*at < end() && *at != NOBODY && !is_living(*at)) {
        (*at)++;
    }
    return *at < end();
}

static uint32_t
sum_of_key(const struct tally_pool *p, uint64_t key, uint32_t self)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; next_slot(p, &i, self); i++) {
        sum += count_in(i, key);
    }
    return sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
}

static uint32_t
sum_of(const struct tally_pool *p, const struct tally_holder *h, uint32_t self)
{
    return sum_of_key(p, key_of(p, h), self);
}

/* Any process can write there: nothing impossible is believed. */
static int64_t
number(const _Atomic int64_t *at)
{
    int64_t n = atomic_load_explicit(at, memory_order_relaxed);

    return n > 0 && n <= (int64_t)SLOT_COUNT_MOST ? n : 0;
}

static int64_t
used_in(const struct tally_pool *p, uint32_t self)
{
    int64_t sum = 0;

    for (uint32_t i = 0; next_slot(p, &i, self); i++) {
        sum += number(&all.areas[i].used[p->number]);
    }
    return sum;
}

/* ---- holders of many ---- */

static struct top *
tops_of(const struct tally_pool *p, uint32_t self)
{
    return all.areas[p->scope == TALLY_NODE ? NOBODY : self].tops[p->number];
}

static struct tally_holder
holder_of(const struct top *t)
{
    return (struct tally_holder){
        { atomic_load_explicit(&t->words[0], memory_order_relaxed),
          atomic_load_explicit(&t->words[1], memory_order_relaxed) }
    };
}

/* As many as it holds now. */
static uint32_t
look_again(const struct tally_pool *p, struct top *t, uint32_t self)
{
    struct tally_holder h = holder_of(t);
    uint32_t n = 0;

    if (atomic_load_explicit(&t->count, memory_order_relaxed) != 0) {
        n = sum_of(p, &h, self);
        atomic_store_explicit(&t->count, n, memory_order_relaxed);
    }
    return n;
}

static bool
is_same(const struct tally_holder *a, const struct tally_holder *b)
{
    return a->words[0] == b->words[0] && a->words[1] == b->words[1];
}

static bool
is_holder(const struct top *t, const struct tally_holder *h)
{
    struct tally_holder here = holder_of(t);

    return is_same(&here, h) &&
           atomic_load_explicit(&t->count, memory_order_relaxed) != 0;
}

static void
write_top(struct top *t, const struct tally_holder *h, uint32_t n)
{
    atomic_store_explicit(&t->words[0], h->words[0], memory_order_relaxed);
    atomic_store_explicit(&t->words[1], h->words[1], memory_order_relaxed);
    atomic_store_explicit(&t->count, n, memory_order_relaxed);
}

/* The place that says least, or the holder's own. */
static struct top *
place_for(struct top *tops, const struct tally_holder *h)
{
    struct top *least = &tops[0];

    for (int i = 0; i < TOPS; i++) {
        if (is_holder(&tops[i], h)) {
            return &tops[i];
        }
        if (atomic_load_explicit(&tops[i].count, memory_order_relaxed) <
            atomic_load_explicit(&least->count, memory_order_relaxed)) {
            least = &tops[i];
        }
    }
    return least;
}

/* It holds one more. */
static void
rank(const struct tally_pool *p, const struct tally_holder *h)
{
    struct top *place = place_for(tops_of(p, slot_self()), h);
    uint32_t n = tally_of(p, h);

    if (is_holder(place, h) || n > look_again(p, place, slot_self())) {
        write_top(place, h, n);
    }
}

static uint32_t
largest_of(const struct tally_pool *p, uint32_t self,
           const struct tally_holder *skip, struct tally_holder *out)
{
    struct top *tops = tops_of(p, self);
    uint32_t most = 0;

    for (int i = 0; i < TOPS; i++) {
        struct tally_holder h = holder_of(&tops[i]);
        uint32_t n = look_again(p, &tops[i], self);

        if (n > most && (skip == NULL || !is_same(&h, skip))) {
            most = n;
            *out = h;
        }
    }
    return most;
}

/* ---- counting ---- */

static bool
counts(const struct tally_pool *p)
{
    return p->number != 0 && all.areas != NULL;
}

static void
enter(const struct tally_pool *p, const struct tally_holder *h, uint32_t slot)
{
    if (counts(p)) {
        atomic_fetch_add(&all.areas[slot].used[p->number], 1);
        add(slot, key_of(p, h));
        rank(p, h);
    }
}

static void
leave(const struct tally_pool *p, const struct tally_holder *h, uint32_t slot)
{
    if (counts(p)) {
        atomic_fetch_sub(&all.areas[slot].used[p->number], 1);
        take_away(slot, key_of(p, h));
    }
}

void
tally_enter(const struct tally_pool *p, const struct tally_holder *h)
{
    enter(p, h, slot_self());
}

void
tally_leave(const struct tally_pool *p, const struct tally_holder *h)
{
    leave(p, h, slot_self());
}

void
tally_leave_nobody(const struct tally_pool *p, const struct tally_holder *h)
{
    leave(p, h, NOBODY);
}

void
tally_hand_on(const struct tally_pool *p, const struct tally_holder *h)
{
    enter(p, h, NOBODY);
    leave(p, h, slot_self());
}

void
tally_enter_part(const struct tally_pool *p, uint64_t part,
                 const struct tally_holder *h)
{
    tally_enter(p, h);
    if (counts(p)) {
        add(slot_self(), part_key(p, part, h));
        add(slot_self(), whole_key(p, part));
    }
}

void
tally_leave_part(const struct tally_pool *p, uint64_t part,
                 const struct tally_holder *h)
{
    tally_leave(p, h);
    if (counts(p)) {
        take_away(slot_self(), part_key(p, part, h));
        take_away(slot_self(), whole_key(p, part));
    }
}

void
tally_set_size(const struct tally_pool *p, int64_t size)
{
    if (counts(p)) {
        atomic_store_explicit(&all.areas[slot_self()].size[p->number], size,
                              memory_order_relaxed);
    }
}

/* ---- reading ---- */

uint32_t
tally_of(const struct tally_pool *p, const struct tally_holder *h)
{
    return counts(p) ? sum_of(p, h, slot_self()) : 0;
}

int64_t
tally_used(const struct tally_pool *p)
{
    return counts(p) ? used_in(p, slot_self()) : 0;
}

uint32_t
tally_part_of(const struct tally_pool *p, uint64_t part,
              const struct tally_holder *h)
{
    return counts(p) ? sum_of_key(p, part_key(p, part, h), slot_self()) : 0;
}

int64_t
tally_part_used(const struct tally_pool *p, uint64_t part)
{
    return counts(p) ? sum_of_key(p, whole_key(p, part), slot_self()) : 0;
}

uint32_t
tally_largest(const struct tally_pool *p, const struct tally_holder *skip,
              struct tally_holder *out)
{
    return counts(p) ? largest_of(p, slot_self(), skip, out) : 0;
}

const char *
tally_name(uint32_t n)
{
    return n > 0 && n <= all.count ? all.pools[n]->name : NULL;
}

/* The process that uses most of it. */
static uint32_t
fullest(const struct tally_pool *p)
{
    uint32_t found = NOBODY;

    for (uint32_t i = NOBODY + 1; i < end(); i++) {
        if (is_living(i) && number(&all.areas[i].size[p->number]) != 0 &&
            (found == NOBODY ||
             number(&all.areas[i].used[p->number]) >
                 number(&all.areas[found].used[p->number]))) {
            found = i;
        }
    }
    return found;
}

bool
tally_look(uint32_t n, struct tally_view *v)
{
    const struct tally_pool *p;
    uint32_t self;

    if (tally_name(n) == NULL || all.areas == NULL) {
        return false;
    }
    p = all.pools[n];
    self = fullest(p);
    memset(v, 0, sizeof(*v));
    v->name = p->name;
    v->scope = p->scope;
    v->size = number(&all.areas[self].size[n]);
    v->used = used_in(p, self);
    v->holds = largest_of(p, self, NULL, &v->largest);
    return true;
}

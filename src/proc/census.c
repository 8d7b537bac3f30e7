/*
 * An entry: 32 bits of the key, 16 of connections, 16 of incomplete ones.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/census.h"

#include <assert.h>
#include <stdatomic.h>

#include "proc/shared.h"
#include "proc/slot.h"

#define WAYS 8
#define MOST 0xffffU /* of a count */
#define PAGE_SETS 64 /* sets of a page of memory */

struct set {
    _Alignas(64) _Atomic uint64_t entries[WAYS];
};

static struct {
    struct set *sets; /* shared; those of slot 0, of slot 1, ... */
    size_t per_slot;
    uint32_t slots;
} all;

int
census_create(size_t keys, uint32_t slots, struct errmsg *err)
{
    size_t pages = keys / WAYS / PAGE_SETS + 1;

    all.per_slot = pages * PAGE_SETS;
    all.slots = slots;
    all.sets = shared_create_array("weir-census", slots * all.per_slot,
                                   sizeof(struct set), SHARED_ALL, err);
    return all.sets == NULL ? -1 : 0;
}

void
census_destroy(void)
{
    shared_destroy(all.sets);
    all.sets = NULL;
}

/* Gives the memory back, which empties it. */
void
census_sweep(uint32_t slot)
{
    struct set *sets = &all.sets[slot * all.per_slot];

    if (shared_empty(sets, all.per_slot * sizeof(struct set))) {
        return;
    }
    for (size_t i = 0; i < all.per_slot * WAYS; i++) {
        atomic_store_explicit(&sets[i / WAYS].entries[i % WAYS], 0,
                              memory_order_relaxed);
    }
}

/* ---- entries ---- */

static uint64_t
tag_of(uint64_t key)
{
    return key >> 32;
}

static uint32_t
connections_of(uint64_t entry)
{
    return (uint32_t)(entry >> 16 & MOST);
}

static uint32_t
incomplete_of(uint64_t entry)
{
    return (uint32_t)(entry & MOST);
}

/* The client's entry in the table of a slot.  NULL: it has none; then, if
 * *room is given, that is one that is free, or NULL. */
static _Atomic uint64_t *
find(uint32_t slot, uint64_t key, _Atomic uint64_t **room)
{
    struct set *set =
        &all.sets[slot * all.per_slot + (uint32_t)(key >> 1) % all.per_slot];

    for (int i = 0; i < WAYS; i++) {
        uint64_t entry =
            atomic_load_explicit(&set->entries[i], memory_order_seq_cst);

        if (connections_of(entry) == 0) {
            if (room != NULL && *room == NULL) {
                *room = &set->entries[i];
            }
        } else if (entry >> 32 == tag_of(key)) {
            return &set->entries[i];
        }
    }
    return NULL;
}

/* Only its owner writes a table. */
static void
write_entry(_Atomic uint64_t *at, uint64_t key, uint32_t connections,
            uint32_t incomplete)
{
    atomic_store_explicit(
        at, tag_of(key) << 32 | (uint64_t)connections << 16 | incomplete,
        memory_order_seq_cst);
}

bool
census_enter(uint64_t key)
{
    _Atomic uint64_t *room = NULL;
    _Atomic uint64_t *at = find(slot_self(), key, &room);
    uint64_t entry = 0;

    if (at != NULL) {
        entry = atomic_load_explicit(at, memory_order_relaxed);
    } else if (room != NULL) {
        at = room;
    }
    if (at == NULL || connections_of(entry) == MOST) {
        return false;
    }
    write_entry(at, key, at == room ? 1 : connections_of(entry) + 1,
                at == room ? 1 : incomplete_of(entry) + 1);
    return true;
}

void
census_leave(uint64_t key, bool incomplete)
{
    _Atomic uint64_t *at = find(slot_self(), key, NULL);

    assert(at != NULL);
    uint64_t entry = atomic_load_explicit(at, memory_order_relaxed);

    write_entry(at, key, connections_of(entry) - 1,
                incomplete_of(entry) - (incomplete ? 1 : 0));
}

void
census_mark(uint64_t key, bool incomplete)
{
    _Atomic uint64_t *at = find(slot_self(), key, NULL);

    assert(at != NULL);
    uint64_t entry = atomic_load_explicit(at, memory_order_relaxed);

    write_entry(at, key, connections_of(entry),
                incomplete_of(entry) + (incomplete ? 1 : -1U));
}

static bool
is_living(uint32_t slot)
{
    const struct slot_card *c = slot_card(slot);

    return atomic_load_explicit(&c->kind, memory_order_relaxed) != SLOT_FREE &&
           atomic_load_explicit(&c->state, memory_order_relaxed) != SLOT_GONE;
}

struct census
census_of(uint64_t key)
{
    struct census sum = { 0, 0 };
    uint32_t end = slots_end() < all.slots ? slots_end() : all.slots;

    for (uint32_t i = 0; i < end; i++) {
        const _Atomic uint64_t *at = is_living(i) ? find(i, key, NULL) : NULL;

        if (at != NULL) {
            uint64_t entry = atomic_load_explicit(at, memory_order_seq_cst);

            sum.connections += connections_of(entry);
            sum.incomplete += incomplete_of(entry);
        }
    }
    return sum;
}

/*
 * An entry: 20 bits of the key, 44 bits of the time at which its bucket is
 * full, in microseconds.  Times are compared around the circle of 2^44
 * (203 days): only what lies less than the horizon ahead is a time to come.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/rate_limit.h"

#include <assert.h>
#include <stdatomic.h>

#include "proc/shared.h"

#define WAYS 8
#define TIME_BITS 44
#define TIME_MASK (((uint64_t)1 << TIME_BITS) - 1)

struct set {
    _Alignas(64) _Atomic uint64_t entries[WAYS];
};

static struct {
    struct set *sets; /* shared */
    size_t count;
} table;

int
rate_limit_create(size_t keys, struct errmsg *err)
{
    table.count = (keys + WAYS - 1) / WAYS;
    table.sets = shared_create("weir-pace", table.count * sizeof(struct set),
                               SHARED_ALL, err);
    return table.sets == NULL ? -1 : 0;
}

void
rate_limit_destroy(void)
{
    shared_destroy(table.sets);
    table.sets = NULL;
}

static uint64_t
tag_of(uint64_t entry)
{
    return entry >> TIME_BITS;
}

/* Microseconds until the entry's bucket is full; 0: it is. */
static int64_t
ahead(uint64_t entry, int64_t now_us)
{
    uint64_t distance = (entry - (uint64_t)now_us) & TIME_MASK;

    return distance <= (uint64_t)PACE_HORIZON_US ? (int64_t)distance : 0;
}

struct place {
    _Atomic uint64_t *entry;
    uint64_t seen;
    int64_t ahead_us; /* of this key */
    bool gave_up;
};

/* The entry of the key, or the one that it may have: one that is over, its
 * own old one before others, or else the one that is over first. */
static struct place
find(struct set *set, uint64_t tag, int64_t now_us)
{
    struct place p = { .entry = NULL };
    int64_t soonest = INT64_MAX;

    for (int i = 0; i < WAYS; i++) {
        uint64_t seen =
            atomic_load_explicit(&set->entries[i], memory_order_relaxed);
        int64_t left = ahead(seen, now_us);

        if (tag_of(seen) == tag) {
            return (struct place){ &set->entries[i], seen, left, false };
        }
        if (left < soonest) {
            soonest = left;
            p.entry = &set->entries[i];
            p.seen = seen;
            p.gave_up = left > 0;
        }
    }
    return p;
}

static void
answer(const struct rate_limit_rule *rule, int64_t ahead_us,
       struct rate_limit_answer *out)
{
    int64_t room = rule->interval_us * rule->burst - ahead_us;

    out->left = room > 0 ? room / rule->interval_us : 0;
    out->wait_us = out->left > 0 ? 0 : rule->interval_us - room;
    out->reset_us = ahead_us;
}

void
rate_limit_take(uint64_t key, const struct rate_limit_rule *rule,
                int64_t now_us, struct rate_limit_answer *out)
{
    uint64_t tag = key >> TIME_BITS;
    struct set *set = &table.sets[(key & TIME_MASK) % table.count];

    assert(rule->interval_us > 0 &&
           rule->burst <= PACE_HORIZON_US / rule->interval_us);
    for (;;) {
        struct place p = find(set, tag, now_us);
        int64_t next = p.ahead_us + rule->interval_us;

        out->gave_up = false;
        out->allowed = next <= rule->interval_us * rule->burst;
        if (!out->allowed) {
            answer(rule, p.ahead_us, out);
            return;
        }
        if (atomic_compare_exchange_strong(
                p.entry, &p.seen,
                tag << TIME_BITS | ((uint64_t)(now_us + next) & TIME_MASK))) {
            out->gave_up = p.gave_up;
            answer(rule, next, out);
            return;
        }
        /* Another process was quicker: it made progress, we look again. */
    }
}

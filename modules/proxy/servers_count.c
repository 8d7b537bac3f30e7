/*
 * Numbers of servers: what is open, what was counted.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "servers_impl.h"

#include <string.h>

#include "proc/slot.h"

/* Numbers of this process, to which nobody else can write. */
static struct {
    slot_owner process; /* whose numbers these are: a fork brings another */
    int32_t gauges[SERVER_GAUGES][SERVERS_MAX];
} own;

const int64_t server_bounds[SERVER_BOUNDS] = { 1,   2,   5,    10,   25,   50,
                                               100, 250, 1000, 5000, 30000 };

_Static_assert(SERVER_WITHIN + SERVER_BOUNDS < SERVER_COUNTS, "room for all");

/* ---- what is open ---- */

static _Atomic int32_t *
gauge_of(unsigned which, int place, uint32_t slot)
{
    return &servers.gauges[((size_t)which * SERVERS_MAX + (size_t)place) *
                               servers.slots +
                           slot];
}

void
servers_empty_gauges(int place, uint32_t slot)
{
    for (unsigned g = 0; g < SERVER_GAUGES; g++) {
        _Atomic int32_t *gauge = gauge_of(g, place, slot);

        if (atomic_load(gauge) != 0) { /* else its page is not touched */
            atomic_store(gauge, 0);
        }
    }
}

void
servers_sweep(uint32_t slot)
{
    for (int i = 0; slot < servers.slots && i < servers_end(); i++) {
        servers_empty_gauges(i, slot);
    }
}

static int32_t *
own_gauge(unsigned which, int place)
{
    if (own.process != slot_self_owner()) {
        memset(&own, 0, sizeof(own));
        own.process = slot_self_owner();
    }
    return &own.gauges[which][place];
}

/* Returns what this process has open; mends what the others see of it. */
static int32_t
tell_own(unsigned which, int place)
{
    _Atomic int32_t *told = gauge_of(which, place, slot_self());
    int32_t value = *own_gauge(which, place);

    if (atomic_load(told) != value) {
        atomic_store(told, value);
    }
    return value;
}

void
servers_tell_open(int place)
{
    for (unsigned g = 0; servers_is_place(place) && g < SERVER_GAUGES; g++) {
        tell_own(g, place);
    }
}

void
servers_gauge(int place, enum server_gauge which, int change)
{
    if (servers_is_place(place)) {
        *own_gauge(which, place) += change;
        tell_own(which, place);
    }
}

/* Others have nothing open, nor has a worker that is gone. */
static bool
is_worker(uint32_t slot)
{
    return atomic_load(&slot_card(slot)->kind) == SLOT_WORKER &&
           slot_owner_alive(slot_owner_of(slot));
}

/* As another process tells, which has so many connections at the most. */
static int64_t
told_by(unsigned which, int place, uint32_t slot)
{
    int32_t n = atomic_load(gauge_of(which, place, slot));

    return n >= 0 && n <= SLOT_CONNECTIONS_MOST && is_worker(slot) ? n : 0;
}

int64_t
servers_gauged(int place, enum server_gauge which)
{
    int64_t sum = 0;

    for (uint32_t i = 0;
         servers_is_place(place) && i < slots_end() && i < servers.slots; i++) {
        sum += i == slot_self() ? tell_own(which, place)
                                : told_by(which, place, i);
    }
    return sum;
}

void
servers_open(int place, int change)
{
    servers_gauge(place, SERVER_OPENED, change);
}

int64_t
servers_opened(int place)
{
    return servers_gauged(place, SERVER_OPENED);
}

/* ---- what is counted ---- */

void
servers_count(int place, unsigned which, int64_t n)
{
    if (servers_is_place(place)) {
        atomic_fetch_add_explicit(
            &servers.shared->rows[place][slot_self() % ROWS].counts[which], n,
            memory_order_relaxed);
    }
}

static uint64_t
sum_of_rows(int place, unsigned which)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < ROWS; i++) {
        sum += (uint64_t)atomic_load_explicit(
            &servers.shared->rows[place][i].counts[which],
            memory_order_relaxed);
    }
    return sum;
}

int64_t
servers_counted(int place, unsigned which)
{
    struct told_seen seen;
    struct told *t;

    if (!servers_is_place(place)) {
        return 0;
    }
    t = &servers.cards->items[place].told[which];
    if (slot_self() == 0) {
        return told_look(t, sum_of_rows(place, which));
    }
    seen = told_seen(t);
    return told_now(seen, sum_of_rows(place, which));
}

void
servers_look(void)
{
    for (int place = 0; place < servers_end(); place++) {
        for (unsigned which = 0; which < SERVER_COUNTS; which++) {
            servers_counted(place, which);
        }
    }
}

void
servers_observe(int place, int64_t ms)
{
    unsigned bound = 0;

    while (bound < SERVER_BOUNDS && ms > server_bounds[bound]) {
        bound++;
    }
    servers_count(place, SERVER_TIME, ms);
    servers_count(place, SERVER_WITHIN + bound, 1);
}

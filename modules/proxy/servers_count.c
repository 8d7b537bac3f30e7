/*
 * Numbers of servers: what is open, what was counted.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "servers_impl.h"

#include "proc/slot.h"

/* The most that a process can claim to have open. */
#define OPEN_MOST (1 << 24)

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

static int64_t
sane(int32_t n)
{
    return n < 0 || n > OPEN_MOST ? 0 : n;
}

void
servers_gauge(int place, enum server_gauge which, int change)
{
    if (servers_is_place(place)) {
        _Atomic int32_t *own = gauge_of(which, place, slot_self());
        uint32_t value = (uint32_t)atomic_load(own);

        /* Nobody else writes there, as long as all is well. */
        atomic_store(own, (int32_t)(value + (uint32_t)change));
    }
}

int64_t
servers_gauged(int place, enum server_gauge which)
{
    int64_t sum = 0;

    for (uint32_t i = 0;
         servers_is_place(place) && i < slots_end() && i < servers.slots; i++) {
        sum += sane(atomic_load(gauge_of(which, place, i)));
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

int64_t
servers_counted(int place, unsigned which)
{
    uint64_t sum = 0;

    for (unsigned i = 0; servers_is_place(place) && i < ROWS; i++) {
        sum += (uint64_t)atomic_load_explicit(
            &servers.shared->rows[place][i].counts[which],
            memory_order_relaxed);
    }
    return (int64_t)sum;
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

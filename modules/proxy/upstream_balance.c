/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "upstream_balance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

#define POINTS 160 /* of a server of the usual weight */

/* ---- round robin, least connections ---- */

/* Goes round among the free seats that have this load, or any (-1). */
static int
go_round(struct balance_seat *seats, size_t count, const bool *among)
{
    int64_t total = 0;
    int best = -1;

    for (size_t i = 0; i < count; i++) {
        if (!seats[i].free || (among != NULL && !among[i])) {
            continue;
        }
        seats[i].current += seats[i].weight;
        total += seats[i].weight;
        if (best == -1 || seats[i].current > seats[best].current) {
            best = (int)i;
        }
    }
    if (best != -1) {
        seats[best].current -= total;
    }
    return best;
}

int
balance_round_robin(struct balance_seat *seats, size_t count)
{
    return go_round(seats, count, NULL);
}

/* Whether a has fewer for its weight than b: -1, 0 or 1. */
static int
compare_load(const struct balance_seat *a, const struct balance_seat *b)
{
    int64_t left = a->open * b->weight, right = b->open * a->weight;

    return left < right ? -1 : left > right;
}

int
balance_least(struct balance_seat *seats, size_t count)
{
    const struct balance_seat *least = NULL;
    bool among[64] = { false };

    for (size_t i = 0; i < count && i < sizeof(among); i++) {
        if (seats[i].free &&
            (least == NULL || compare_load(&seats[i], least) < 0)) {
            least = &seats[i];
        }
    }
    for (size_t i = 0; least != NULL && i < count && i < sizeof(among); i++) {
        among[i] = seats[i].free && compare_load(&seats[i], least) == 0;
    }
    return least == NULL ? -1 : go_round(seats, count, among);
}

int64_t
balance_weight(int64_t weight, int64_t back_ms, int64_t slow_start, int64_t now)
{
    int64_t full = weight * BALANCE_UNIT, since = now - back_ms;

    if (back_ms == 0 || since < 0 || since >= slow_start) {
        return full;
    }
    int64_t part = full * since / slow_start;

    /* A first request has to come some time. */
    return part > full / 100 ? part : full / 100;
}

/* ---- the hash ---- */

uint64_t
balance_key(struct str text)
{
    static const uint8_t key[16] = "weir's upstreams";

    return hash_keyed(key, text);
}

static int
compare_points(const void *a, const void *b)
{
    const struct balance_point *p = a, *q = b;

    if (p->at != q->at) {
        return p->at < q->at ? -1 : 1;
    }
    return p->seat < q->seat ? -1 : p->seat > q->seat;
}

/* As many as its weight is of all, POINTS on the average. */
static size_t
points_of(int64_t weight, int64_t total, size_t count)
{
    size_t n = (size_t)(weight * POINTS * (int64_t)count / total);

    return n > 0 ? n : 1;
}

static void
add_points(struct balance_ring *r, struct str name, uint32_t seat, size_t n)
{
    char text[512];

    for (size_t i = 0; i < n; i++) {
        int len = snprintf(text, sizeof(text), "%zu %.*s", i,
                           (int)(name.len < 480 ? name.len : 480), name.ptr);

        r->points[r->count++] = (struct balance_point){
            .at = balance_key(str_of(text, (size_t)len)),
            .seat = seat,
        };
    }
}

void
balance_ring_init(struct balance_ring *r, const struct str *names,
                  const int64_t *weights, size_t count)
{
    int64_t total = 0;
    size_t room = 0;

    for (size_t i = 0; i < count; i++) {
        total += weights[i];
    }
    for (size_t i = 0; i < count; i++) {
        room += points_of(weights[i], total, count);
    }
    r->points = mem_zero((room + 1) * sizeof(*r->points));
    r->count = 0;
    for (size_t i = 0; i < count; i++) {
        add_points(r, names[i], (uint32_t)i,
                   points_of(weights[i], total, count));
    }
    qsort(r->points, r->count, sizeof(*r->points), compare_points);
}

void
balance_ring_clear(struct balance_ring *r)
{
    mem_free(&r->points);
    r->count = 0;
}

int
balance_hash(const struct balance_ring *r, uint64_t key,
             const struct balance_seat *seats)
{
    size_t low = 0, high = r->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (r->points[middle].at < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (size_t i = 0; i < r->count; i++) {
        uint32_t seat = r->points[(low + i) % r->count].seat;

        if (seats[seat].free) {
            return (int)seat;
        }
    }
    return -1;
}

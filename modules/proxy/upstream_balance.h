/*
 * Choosing among the servers of an upstream: arithmetic alone.
 *
 * A seat is a server as one choice sees it.  Round robin is smooth: with the
 * weights 5, 1 and 1 the order is a a b a c a a, not five times a in a row.
 * Least connections takes the seat with the fewest open requests for its
 * weight, and among equals goes round.  A hash looks for its key on a ring on
 * which each server has points by its weight: when a server goes, its keys
 * alone move, to all the others.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_PROXY_UPSTREAM_BALANCE_H
#define MODULES_PROXY_UPSTREAM_BALANCE_H

#include "base/str.h"

#define BALANCE_UNIT 1000 /* a weight of 1, in thousandths */

struct balance_seat {
    bool free;       /* may be chosen */
    int64_t weight;  /* in thousandths, > 0 */
    int64_t open;    /* requests; for balance_least() */
    int64_t current; /* of round robin; kept between choices */
};

/* The place of the seat; -1: none is free. */
int balance_round_robin(struct balance_seat *seats, size_t count);
int balance_least(struct balance_seat *seats, size_t count);

/* The weight in thousandths of a server that is back since back_ms (0: was
 * never away) and takes slow_start ms to its full weight. */
int64_t balance_weight(int64_t weight, int64_t back_ms, int64_t slow_start,
                       int64_t now);

struct balance_point {
    uint64_t at;
    uint32_t seat;
};

struct balance_ring {
    struct balance_point *points; /* owned; in order */
    size_t count;
};

/* The order of servers does not matter, only names and weights (in
 * thousandths). */
void balance_ring_init(struct balance_ring *r, const struct str *names,
                       const int64_t *weights, size_t count);
void balance_ring_clear(struct balance_ring *r);
/* The first free seat from the key on; -1: none is free. */
int balance_hash(const struct balance_ring *r, uint64_t key,
                 const struct balance_seat *seats);
/* The same in all processes, on all nodes, at all times. */
uint64_t balance_key(struct str text);

#endif

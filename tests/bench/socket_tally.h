/*
 * What clients of Socket.IO see: one tally for all of them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_SOCKET_TALLY_H
#define BENCH_SOCKET_TALLY_H

#include "histogram.h"

#include <stdbool.h>

struct socket_tally {
    int64_t now;   /* when the bytes at hand were received */
    int64_t since; /* when counting began */
    int64_t cpu;   /* CPU time used until then */

    /* From there on: */
    uint64_t bytes;
    uint64_t emitted;         /* events that the first client has sent */
    uint64_t events;          /* that came */
    uint64_t missed;          /* in the numbers of a client that stayed */
    uint64_t repeated;        /* came again, or before their turn */
    struct histogram latency; /* from the stamp to the arrival */
    struct histogram back;    /* from a loss to the same, with the wait */
    uint64_t losses;          /* of clients that had joined */
    uint64_t failures;        /* attempts that came to nothing */

    /* From the beginning on: from connect to the namespace's answer. */
    struct histogram join;

    /* Clients, when the result is made: */
    unsigned clients;
    unsigned joined; /* are there */
    unsigned mute;   /* never read, and are still there */
    unsigned muted;  /* never read, and were closed by the server */
    unsigned away;   /* wait to try again, or try */
    unsigned gone;   /* do not try again; why tells about the first */
    char why[160];
};

/* Counts from here on. */
void socket_tally_reset(struct socket_tally *t);
/* Prints the result on standard output. */
void socket_tally_print(const struct socket_tally *t, bool json);

#endif

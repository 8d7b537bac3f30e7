/*
 * What viewers of HLS see.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_WATCH_TALLY_H
#define BENCH_WATCH_TALLY_H

#include "histogram.h"

#include <stdbool.h>
#include <stddef.h>

struct watch_tally {
    int64_t now;      /* when the bytes at hand were received */
    int64_t interval; /* between two pictures, ns */
    int64_t since, cpu;

    /* From there on: */
    uint64_t bytes, parts, part_bytes, playlists, playlist_bytes;
    uint64_t refused; /* answers other than 200 */
    uint64_t skipped; /* parts for which a viewer had no time */
    struct histogram part_latency, playlist_latency;

    /* From the beginning on: */
    uint64_t wrong; /* a playlist that goes back, a part of another stream */
    uint64_t lost, starved;
    unsigned watchers;
    char why[160];
};

void watch_tally_reset(struct watch_tally *t);
/* A part came, which a playlist named at `told`: its stamps tell when its last
 * picture was sent. */
void watch_tally_part(struct watch_tally *t, const uint8_t *bytes, size_t size,
                      int64_t told, unsigned stream);
void watch_tally_print(const struct watch_tally *t, bool json);

#endif

/*
 * A histogram of times: 64 steps to each power of two, so a value is known to
 * about 1.5 %, from 1 ns to hours, in a fixed table without any sorting.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_CELLS = 64 * 59 };

struct histogram {
    uint64_t count;
    int64_t max;
    uint32_t cells[HISTOGRAM_CELLS];
};

void histogram_clear(struct histogram *h);
/* Counts one value; a negative one counts as 0. */
void histogram_add(struct histogram *h, int64_t ns);
/* The value below which share (0 to 1) of all values lie, in milliseconds;
 * 0 of an empty histogram. */
double histogram_ms(const struct histogram *h, double share);

#endif

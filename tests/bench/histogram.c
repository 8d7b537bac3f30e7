/*
 * A value's cell is its highest bit and the six bits below it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "histogram.h"

#include <string.h>

enum { STEP_BITS = 6, STEPS = 1 << STEP_BITS };

static unsigned
cell_of(uint64_t v)
{
    if (v < STEPS) {
        return (unsigned)v;
    }
    unsigned shift = 63 - (unsigned)__builtin_clzll(v) - STEP_BITS;

    return (shift + 1) * STEPS + (unsigned)(v >> shift) - STEPS;
}

/* The middle of what falls into a cell. */
static double
value_of(unsigned cell)
{
    if (cell < STEPS) {
        return cell;
    }
    unsigned shift = cell / STEPS - 1;
    uint64_t low = (uint64_t)(STEPS + cell % STEPS) << shift;

    return (double)low + (double)(UINT64_C(1) << shift) / 2;
}

void
histogram_clear(struct histogram *h)
{
    memset(h, 0, sizeof(*h));
}

void
histogram_add(struct histogram *h, int64_t ns)
{
    if (ns < 0) {
        ns = 0;
    }
    if (ns > h->max) {
        h->max = ns;
    }
    h->cells[cell_of((uint64_t)ns)]++;
    h->count++;
}

double
histogram_ms(const struct histogram *h, double share)
{
    uint64_t seen = 0;
    uint64_t wanted = (uint64_t)(share * (double)h->count);

    if (h->count == 0) {
        return 0;
    }
    for (unsigned i = 0; i < HISTOGRAM_CELLS; i++) {
        seen += h->cells[i];
        if (seen > wanted) {
            return value_of(i) / 1e6;
        }
    }
    return (double)h->max / 1e6;
}

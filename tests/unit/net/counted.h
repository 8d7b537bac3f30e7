/*
 * For tests: what this folder counted.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef UNIT_NET_COUNTED_H
#define UNIT_NET_COUNTED_H

#include "net/metrics.h"

static inline int64_t
counted(unsigned metric, unsigned place)
{
    static _Atomic int64_t cells[8192];

    if (metric_own == NULL) {
        metric_register(net_metrics);
        metric_own = cells;
    }
    return metric_own[net_metrics[metric].first + place];
}

#endif

/*
 * The metrics of this folder.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_METRICS_H
#define PROC_METRICS_H

#include "proc/metric.h"

enum {
    PROC_LOG_DROPPED, /* reason: 0 no room, 1 cannot be written */
    PROC_BUS_LOST,    /* reason: 0 send failed, 1 cannot be read, 2 damaged,
                         3 refused */
    PROC_SANDBOX_REFUSED,
    PROC_SANDBOX_UNKNOWN,
};

extern struct metric proc_metrics[];

#endif

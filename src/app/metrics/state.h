/*
 * The state in force, for metrics: shared words that the master writes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_METRICS_STATE_H
#define APP_METRICS_STATE_H

#include "proc/metric.h"

/* Collected on demand: processes, memory, streams; ends with an empty row. */
extern struct metric state_metrics[];

/* In this process and those forked from it: streams one by one, too. */
void state_metrics_of_streams(bool on);

#endif

/*
 * Processor time, memory and descriptors of all processes, which the master
 * reads every second: a worker in its sandbox cannot ask about itself.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_METRICS_PROCESS_METER_H
#define APP_METRICS_PROCESS_METER_H

#include "event/loop.h"

#include <sys/resource.h>

void process_meter_start(struct loop *l);
void process_meter_stop(void);
/* The process of slot was reaped; usage is that of its whole life.  Before the
 * slot is released. */
void process_meter_gone(uint32_t slot, const struct rusage *usage);

#endif

/*
 * The module's metrics.  Those of servers are collected from servers.h.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_PROXY_PROXY_METRICS_H
#define MODULES_PROXY_PROXY_METRICS_H

#include "proc/metric.h"

extern struct metric proxy_metrics[];

#endif

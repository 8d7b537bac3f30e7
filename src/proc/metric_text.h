/*
 * Metrics as text: the Prometheus text format 0.0.4 and OpenMetrics 1.0.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_METRIC_TEXT_H
#define PROC_METRIC_TEXT_H

#include "base/buf.h"
#include "proc/metric.h"

enum metric_format { METRIC_PROMETHEUS, METRIC_OPENMETRICS };

/* Value of the Content-Type header. */
const char *metric_content_type(enum metric_format format);
/* Adds every registered metric to out, the sums of all processes.  0, or -1
 * when out is full. */
int metric_text(struct buf *out, enum metric_format format);

/* For collect(): one value with labels as they are written ("" for none; see
 * metric_escape()), counted in m's unit. */
void metric_tell(struct metric_out *out, const struct metric *m,
                 const char *labels, int64_t value);
/* A label's value as it may stand between quotes; cut to fit, NUL added. */
void metric_escape(char *dst, size_t size, struct str value);

#endif

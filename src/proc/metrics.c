/*
 * The table of this folder's metrics.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/metrics.h"

static const char *
log_reason(unsigned i)
{
    return i == 0 ? "full" : "write_failed";
}

static const char *
bus_reason(unsigned i)
{
    static const char *const names[] = { "not_sent", "not_read", "damaged",
                                         "refused" };

    return names[i];
}

struct metric proc_metrics[] = {
    [PROC_LOG_DROPPED] = {
        .name = "weir_log_lines_dropped_total",
        .help = "Log lines that were lost: there was no room for them, or "
                "their file cannot be written.",
        .labels = { { "reason", log_reason, 2 } },
    },
    [PROC_BUS_LOST] = {
        .name = "weir_bus_messages_lost_total",
        .help = "Messages between weir's processes that were lost.",
        .labels = { { "reason", bus_reason, 4 } },
    },
    [PROC_SANDBOX_REFUSED] = {
        .name = "weir_sandbox_refusals_total",
        .help = "System calls that the sandbox refused.",
    },
    [PROC_SANDBOX_UNKNOWN] = {
        .name = "weir_sandbox_unknown_calls_total",
        .help = "System calls of programs that are not on their list; each "
                "once a run.",
    },
    METRIC_END,
};

/*
 * The table of this folder's metrics.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/metrics.h"

#include "store/store.h"

static const char *
kind_name(unsigned i)
{
    return i == STORE_KIND_READ ? "read" : "write";
}

static const char *
status_name(unsigned i)
{
    static const char *const names[] = { "ok",   "conflict", "missing", "busy",
                                         "down", "full",     "failed" };

    return names[i];
}

static const char *
commit_name(unsigned i)
{
    return i == 0 ? "success" : "failure";
}

static const char *
checkpoint_name(unsigned i)
{
    return i == 0 ? "whole" : "part";
}

static const char *
connection_name(unsigned i)
{
    static const char *const names[] = { "made", "failed", "lost" };

    return names[i];
}

static const char *
lease_event_name(unsigned i)
{
    static const char *const names[] = { "taken", "given_back", "lost" };

    return names[i];
}

/* Microseconds. */
static const int64_t times[] = { 100,    250,    500,     1000,   2500,
                                 5000,   10000,  25000,   50000,  100000,
                                 250000, 500000, 1000000, 5000000 };
static const int64_t sizes[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256 };
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct metric store_metrics[] = {
    [STORE_CALLS] = {
        .name = "weir_store_calls_total",
        .help = "Reads and writes of the store that were answered.",
        .labels = { { "kind", kind_name, STORE_KINDS },
                    { "status", status_name, STORE_FAILED + 1 } },
    },
    [STORE_WAITING] = {
        .name = "weir_store_calls_waiting",
        .help = "Reads and writes of the store that are not answered yet.",
        .type = METRIC_GAUGE,
    },
    [STORE_READ_TIME] = {
        .name = "weir_store_read_seconds",
        .help = "From a read to its answer.",
        .type = METRIC_HISTOGRAM,
        .bounds = times, .bound_count = COUNT(times), .unit = 1000000,
    },
    [STORE_WRITE_TIME] = {
        .name = "weir_store_write_seconds",
        .help = "From a write to its answer.",
        .type = METRIC_HISTOGRAM,
        .bounds = times, .bound_count = COUNT(times), .unit = 1000000,
    },
    [STORE_COMMITS] = {
        .name = "weir_store_commits_total",
        .help = "Transactions that write.",
        .labels = { { "result", commit_name, 2 } },
    },
    [STORE_COMMIT_TIME] = {
        .name = "weir_store_commit_seconds",
        .help = "How long transactions that write took.",
        .type = METRIC_HISTOGRAM,
        .bounds = times, .bound_count = COUNT(times), .unit = 1000000,
    },
    [STORE_BATCH] = {
        .name = "weir_store_commit_writes",
        .help = "Writes that one transaction made.",
        .type = METRIC_HISTOGRAM,
        .bounds = sizes, .bound_count = COUNT(sizes),
    },
    [STORE_REPLAYED] = {
        .name = "weir_store_writes_replayed_total",
        .help = "Writes that were asked again, after the keeper died or a "
                "connection to the server was lost, and had been done.",
    },
    [STORE_CHECKPOINTS] = {
        .name = "weir_store_checkpoints_total",
        .help = "Times the write-ahead log was copied to the database: the "
                "whole, or a part because of who was reading.",
        .labels = { { "result", checkpoint_name, 2 } },
    },
    [STORE_WAL_BYTES] = {
        .name = "weir_store_wal_bytes",
        .help = "Bytes in use of the write-ahead log.",
        .type = METRIC_GAUGE,
    },
    [STORE_NO_ROOM] = {
        .name = "weir_store_no_room",
        .help = "1 while writes are refused because the disk is full.",
        .type = METRIC_GAUGE,
    },
    [STORE_NOTICES_LOST] = {
        .name = "weir_store_notices_lost_total",
        .help = "Notices that found a mailbox full; the process was told to "
                "look at everything instead.",
    },
    [STORE_RETRIES] = {
        .name = "weir_store_retries_total",
        .help = "PostgreSQL: transactions that were made again because others "
                "were in their way.",
    },
    [STORE_CONNECTIONS] = {
        .name = "weir_store_connections_total",
        .help = "PostgreSQL: connections that were made, could not be made, "
                "were lost.",
        .labels = { { "result", connection_name, 3 } },
    },
    [STORE_LEASES] = {
        .name = "weir_store_leases",
        .help = "Leases of this weir, among all on its database.",
        .type = METRIC_GAUGE,
    },
    [STORE_LEASE_EVENTS] = {
        .name = "weir_store_lease_events_total",
        .help = "Leases that were taken, given back, and lost because this "
                "weir could not reach the store in time.",
        .labels = { { "event", lease_event_name, STORE_LEASE_EVENT_KINDS } },
    },
    METRIC_END,
};

/*
 * The metrics of this folder.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_METRICS_H
#define STORE_METRICS_H

#include "proc/metric.h"

enum {
    STORE_CALLS,     /* enum store_kind, enum store_status; of the process that
                        asks */
    STORE_WAITING,   /* calls that are not answered */
    STORE_READ_TIME, /* microseconds from the call to its answer */
    STORE_WRITE_TIME,
    STORE_COMMITS,     /* result 0 done, 1 failed */
    STORE_COMMIT_TIME, /* microseconds of a whole transaction */
    STORE_BATCH,       /* calls of a transaction */
    STORE_REPLAYED,    /* calls answered from the ledger */
    STORE_CHECKPOINTS, /* result 0 whole, 1 readers were in its way */
    STORE_WAL_BYTES,
    STORE_NO_ROOM, /* gauge: the disk is full */
    STORE_NOTICES_LOST,
    STORE_RETRIES,      /* transactions made again */
    STORE_CONNECTIONS,  /* to the server, by their outcome, see below */
    STORE_LEASES,       /* gauge: held */
    STORE_LEASE_EVENTS, /* enum store_lease_event */
};

enum store_lease_event {
    STORE_LEASE_TAKEN,
    STORE_LEASE_DROPPED, /* given back */
    STORE_LEASE_LOST,    /* taken away, or its time was over */
    STORE_LEASE_EVENT_KINDS
};

enum { STORE_CONNECTED, STORE_NOT_CONNECTED, STORE_CONNECTION_LOST };

enum store_kind { STORE_KIND_READ, STORE_KIND_WRITE, STORE_KINDS };

extern struct metric store_metrics[];

#endif

/*
 * What this folder counts.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_METRICS_H
#define NET_METRICS_H

#include "proc/metric.h"

enum {
    NET_CONNECTIONS, /* by struct conn_socket's listener */
    NET_ACCEPTED,    /* the same */
    NET_REJECTED,    /* enum net_rejected */
    NET_PAUSES,      /* enum net_pause */
    NET_ACCEPT_ERRORS,
    NET_NO_MEMORY,
};

enum net_rejected {
    NET_REJECTED_SYSTEM, /* the system has no room to watch it */
    NET_REJECTED_COUNT
};

enum net_pause {
    NET_PAUSE_CONNECTIONS, /* worker_connections are in use */
    NET_PAUSE_DESCRIPTORS, /* no descriptors or memory */
    NET_PAUSE_COUNT
};

extern struct metric net_metrics[];

/* Of NET_ACCEPT_ERRORS. */
uint32_t net_errno_at(int number);

#endif

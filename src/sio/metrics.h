/*
 * Metrics of Engine.IO and Socket.IO: rows of channel_metrics.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef SIO_METRICS_H
#define SIO_METRICS_H

#include "proc/metric.h"

enum channel_transport {
    CHANNEL_POLLING,
    CHANNEL_WEBSOCKET,
    CHANNEL_TRANSPORTS
};

/* Results of upgrades. */
enum channel_upgrade { CHANNEL_UPGRADED, CHANNEL_UPGRADE_FAILED };

/* Why an event did not go to a client. */
enum channel_dropped {
    CHANNEL_REPLACED, /* by a newer one of its key */
    CHANNEL_VOLATILE,
    CHANNEL_OUTDATED, /* a snapshot tells it */
    CHANNEL_DROPS
};

/* Results of snapshots. */
enum channel_snapshot {
    CHANNEL_SNAPSHOT_ASKED,  /* of the module's role */
    CHANNEL_SNAPSHOT_SHARED, /* a socket got one that was there */
    CHANNEL_SNAPSHOT_FAILED,
    CHANNEL_SNAPSHOTS
};

/* Results of clients' tries to recover their sockets. */
enum channel_recovery { CHANNEL_RECOVERED, CHANNEL_NOT_RECOVERED };

enum channel_metric {
    CHANNEL_SESSIONS,         /* enum channel_transport; open now */
    CHANNEL_OPENED,           /* enum channel_transport */
    CHANNEL_ENDED,            /* enum session_end */
    CHANNEL_UPGRADES,         /* enum channel_upgrade */
    CHANNEL_PACKETS,          /* enum metric_dir, enum channel_transport */
    CHANNEL_BYTES,            /* the same; of packets, without framing */
    CHANNEL_QUEUED,           /* bytes that wait for clients now */
    CHANNEL_SOCKETS,          /* joined to namespaces now */
    CHANNEL_EVENTS,           /* enum metric_dir; out: deliveries */
    CHANNEL_EVENTS_DROPPED,   /* enum channel_dropped */
    CHANNEL_SNAPSHOT_RESULTS, /* enum channel_snapshot */
    CHANNEL_RECOVERIES,       /* enum channel_recovery */
    CHANNEL_REFUSED,          /* enum channel_refusal */
    CHANNEL_EMITS,            /* of other processes; enum channel_emit */
    CHANNEL_METRICS
};

/* Why a request was refused. */
enum channel_refusal {
    /* The codes of the protocol are the first, in the order of engine_error. */
    CHANNEL_REFUSED_TRANSPORT,
    CHANNEL_REFUSED_SESSION,
    CHANNEL_REFUSED_METHOD,
    CHANNEL_REFUSED_REQUEST,
    CHANNEL_REFUSED_FORBIDDEN,
    CHANNEL_REFUSED_VERSION,
    CHANNEL_REFUSED_HANDSHAKE, /* no right request for a WebSocket */
    CHANNEL_REFUSED_SIZE,      /* a body above max_payload */
    CHANNEL_REFUSED_SESSIONS,  /* there are too many */
    CHANNEL_REFUSED_AWAY,      /* the channel does not run, or is too busy */
    CHANNEL_REFUSALS
};

/* Results of emits. */
enum channel_emit { CHANNEL_EMIT_SENT, CHANNEL_EMIT_REFUSED };

extern struct metric channel_metrics[];

#endif

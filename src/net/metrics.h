/*
 * The metrics of this folder.
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
    NET_PROXY_REFUSED,  /* enum proxy_refusal */
    NET_TLS_HANDSHAKES, /* enum net_tls */
    NET_TLS_BROKEN,     /* enum net_tls_break */
    NET_TLS_EXPIRY,     /* listener; the master's, seconds since 1970 */
    NET_RESOLVED,       /* enum net_resolved */
    NET_OUTGOING,       /* enum net_outgoing */
    NET_EGRESS_REFUSED,
    NET_UNSENT,     /* net/unsent.h */
    NET_UNSENT_CUT, /* the same */
    NET_PUMPS,      /* net/tls_pump.h */
    NET_MOVED,      /* enum net_move */
    NET_POOL_SIZE,  /* of a pool (net/share.h), by its number; what follows */
    NET_POOL_USED,
    NET_POOL_REFUSED, /* number; 0 the client has its share, 1 it is full */
    NET_POOL_GAVE,
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

/* How a handshake ended. */
enum net_tls {
    NET_TLS_FULL_1_2,
    NET_TLS_RESUMED_1_2, /* with a ticket */
    NET_TLS_FULL_1_3,
    NET_TLS_RESUMED_1_3,
    NET_TLS_FAILED,    /* refused by either side */
    NET_TLS_TIMED_OUT, /* not whole in time */
    NET_TLS_LEFT,      /* given up by the peer */
    NET_TLS_NOT_TLS,   /* it did not begin with one */
    NET_TLS_COUNT
};

/* How a TLS connection broke. */
enum net_tls_break {
    NET_TLS_TRUNCATED, /* without close_notify */
    NET_TLS_ERROR,     /* an error of the protocol */
    NET_TLS_BREAKS
};

/* How a look-up of a name ended. */
enum net_resolved {
    NET_RESOLVED_FOUND,
    NET_RESOLVED_NONE,   /* there is no such name, or it has no address */
    NET_RESOLVED_FAILED, /* the name servers did */
    NET_RESOLVED_TIMED_OUT,
    NET_RESOLVED_TOO_MANY, /* not begun */
    NET_RESOLVED_COUNT
};

/* Which way a connection went (net/conn_move.h). */
enum net_move { NET_MOVE_GIVEN, NET_MOVE_TAKEN, NET_MOVES };

/* How an attempt at an outgoing connection ended. */
enum net_outgoing {
    NET_OUTGOING_CONNECTED,
    NET_OUTGOING_CANCELLED, /* by its caller */
    NET_OUTGOING_NAME,      /* not resolved */
    NET_OUTGOING_EGRESS,    /* no address is allowed */
    NET_OUTGOING_FAILED,    /* refused, or no route */
    NET_OUTGOING_TIMED_OUT,
    NET_OUTGOING_TLS, /* the handshake failed */
    NET_OUTGOING_COUNT
};

extern struct metric net_metrics[];

/* Of NET_ACCEPT_ERRORS. */
uint32_t net_errno_at(int number);

#endif

/*
 * The metrics of this folder.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef RTMP_METRICS_H
#define RTMP_METRICS_H

#include "proc/metric.h"

enum {
    RTMP_CLOSED,        /* enum rtmp_session_end */
    RTMP_REFUSED_TOTAL, /* wish (connect, publish, play), enum rtmp_refused */
    RTMP_HANDSHAKE_ERRORS, /* reason: 0 version, 1 time-out, 2 not sent */
    RTMP_CLIENTS_CLOSED,   /* 0 play, 1 publish; enum rtmp_client_fate */
};

/* Why a session ended. */
enum rtmp_session_end {
    END_PEER, /* it closed, or its connection failed */
    END_HANDSHAKE,
    END_HANDSHAKE_SLOW,
    END_CONNECT_SLOW,
    END_UNUSED,   /* neither publishes nor plays */
    END_PROTOCOL, /* invalid chunks, messages or commands */
    END_PING,
    END_STUCK, /* takes no bytes */
    END_REFUSED,
    END_APPLICATION, /* a stream ended, was replaced, was idle ... */
    END_STOP,
    END_COUNT
};

extern struct metric rtmp_metrics[];

#endif

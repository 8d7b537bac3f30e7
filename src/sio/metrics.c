/*
 * The table of this folder's metrics.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sio/metrics.h"

#include "sio/channel.h"

static const char *
transport_name(unsigned i)
{
    return i == CHANNEL_POLLING ? "polling" : "websocket";
}

static const char *
end_name(unsigned i)
{
    static const char *const names[SESSION_ENDS] = {
        [SESSION_CLIENT_CLOSED] = "client",
        [SESSION_TRANSPORT_LOST] = "transport",
        [SESSION_PING_TIMEOUT] = "ping_timeout",
        [SESSION_PARSE_ERROR] = "parse_error",
        [SESSION_TOO_SLOW] = "too_slow",
        [SESSION_NOT_JOINED] = "not_joined",
        [SESSION_SERVER_CLOSED] = "module",
        [SESSION_KICKED] = "kicked",
        [SESSION_REFUSED] = "refused",
        [SESSION_ENDPOINT_GONE] = "endpoint_gone",
        [SESSION_STOPPING] = "stopping",
    };

    return names[i];
}

static const char *
upgrade_name(unsigned i)
{
    return i == CHANNEL_UPGRADED ? "success" : "failure";
}

static const char *
drop_name(unsigned i)
{
    static const char *const names[CHANNEL_DROPS] = {
        [CHANNEL_REPLACED] = "replaced",
        [CHANNEL_VOLATILE] = "volatile",
        [CHANNEL_OUTDATED] = "outdated",
    };

    return names[i];
}

static const char *
snapshot_name(unsigned i)
{
    static const char *const names[CHANNEL_SNAPSHOTS] = {
        [CHANNEL_SNAPSHOT_ASKED] = "asked",
        [CHANNEL_SNAPSHOT_SHARED] = "shared",
        [CHANNEL_SNAPSHOT_FAILED] = "failed",
    };

    return names[i];
}

static const char *
recovery_name(unsigned i)
{
    return i == CHANNEL_RECOVERED ? "success" : "failure";
}

static const char *
refusal_name(unsigned i)
{
    static const char *const names[CHANNEL_REFUSALS] = {
        [CHANNEL_REFUSED_TRANSPORT] = "transport",
        [CHANNEL_REFUSED_SESSION] = "session",
        [CHANNEL_REFUSED_METHOD] = "method",
        [CHANNEL_REFUSED_REQUEST] = "request",
        [CHANNEL_REFUSED_FORBIDDEN] = "forbidden",
        [CHANNEL_REFUSED_VERSION] = "version",
        [CHANNEL_REFUSED_HANDSHAKE] = "handshake",
        [CHANNEL_REFUSED_SIZE] = "size",
        [CHANNEL_REFUSED_SESSIONS] = "sessions",
        [CHANNEL_REFUSED_AWAY] = "away",
    };

    return names[i];
}

static const char *
emit_name(unsigned i)
{
    return i == CHANNEL_EMIT_SENT ? "sent" : "refused";
}

#define TRANSPORT                                       \
    {                                                   \
        "transport", transport_name, CHANNEL_TRANSPORTS \
    }

struct metric channel_metrics[] = {
    [CHANNEL_SESSIONS] = {
        .name = "weir_channel_sessions",
        .help = "Sessions of Engine.IO that are open, by the transport that "
                "they use.",
        .type = METRIC_GAUGE,
        .labels = { TRANSPORT },
    },
    [CHANNEL_OPENED] = {
        .name = "weir_channel_sessions_opened_total",
        .help = "Sessions of Engine.IO, by the transport that they began with.",
        .labels = { TRANSPORT },
    },
    [CHANNEL_ENDED] = {
        .name = "weir_channel_sessions_ended_total",
        .help = "Sessions of Engine.IO that ended.",
        .labels = { { "reason", end_name, SESSION_ENDS } },
    },
    [CHANNEL_UPGRADES] = {
        .name = "weir_channel_upgrades_total",
        .help = "Upgrades of sessions from polling to WebSocket.",
        .labels = { { "result", upgrade_name, 2 } },
    },
    [CHANNEL_PACKETS] = {
        .name = "weir_channel_packets_total",
        .help = "Packets of Engine.IO.",
        .labels = { METRIC_LABEL_DIR, TRANSPORT },
    },
    [CHANNEL_BYTES] = {
        .name = "weir_channel_bytes_total",
        .help = "Bytes of packets of Engine.IO, without framing and "
                "compression.",
        .labels = { METRIC_LABEL_DIR, TRANSPORT },
    },
    [CHANNEL_QUEUED] = {
        .name = "weir_channel_queued_bytes",
        .help = "Bytes of packets that wait for clients.",
        .type = METRIC_GAUGE,
    },
    [CHANNEL_SOCKETS] = {
        .name = "weir_channel_sockets",
        .help = "Sockets of Socket.IO: clients in namespaces.",
        .type = METRIC_GAUGE,
    },
    [CHANNEL_EVENTS] = {
        .name = "weir_channel_events_total",
        .help = "Events of Socket.IO; to clients, each delivery counts.",
        .labels = { METRIC_LABEL_DIR },
    },
    [CHANNEL_EVENTS_DROPPED] = {
        .name = "weir_channel_events_dropped_total",
        .help = "Events that a client did not get because a newer one of the "
                "same key replaced them, because they were volatile and the "
                "client was busy, or because its queue was full and a new "
                "snapshot has them in it.",
        .labels = { { "reason", drop_name, CHANNEL_DROPS } },
    },
    [CHANNEL_SNAPSHOT_RESULTS] = {
        .name = "weir_channel_snapshots_total",
        .help = "Snapshots for sockets: asked of the module's "
                "role, shared with others, or not to be had.",
        .labels = { { "result", snapshot_name, CHANNEL_SNAPSHOTS } },
    },
    [CHANNEL_RECOVERIES] = {
        .name = "weir_channel_recoveries_total",
        .help = "Clients that asked to recover a lost socket.",
        .labels = { { "result", recovery_name, 2 } },
    },
    [CHANNEL_REFUSED] = {
        .name = "weir_channel_refused_total",
        .help = "Requests of Engine.IO that were refused.",
        .labels = { { "reason", refusal_name, CHANNEL_REFUSALS } },
    },
    [CHANNEL_EMITS] = {
        .name = "weir_channel_emits_total",
        .help = "Events that processes of weir sent to the channel.",
        .labels = { { "result", emit_name, 2 } },
    },
    [CHANNEL_METRICS] = METRIC_END,
};

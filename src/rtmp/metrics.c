/*
 * The table of this folder's metrics.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rtmp/metrics.h"

#include "rtmp/client.h"
#include "rtmp/rtmp.h"

static const char *
end_name(unsigned i)
{
    static const char *const names[END_COUNT] = {
        [END_PEER] = "peer",
        [END_HANDSHAKE] = "handshake",
        [END_HANDSHAKE_SLOW] = "handshake_timeout",
        [END_CONNECT_SLOW] = "connect_timeout",
        [END_UNUSED] = "unused",
        [END_PROTOCOL] = "protocol",
        [END_PING] = "ping_timeout",
        [END_STUCK] = "send_timeout",
        [END_REFUSED] = "refused",
        [END_APPLICATION] = "application",
        [END_STOP] = "stop",
    };

    return names[i];
}

static const char *
wish_name(unsigned i)
{
    static const char *const names[] = { "connect", "publish", "play" };

    return names[i];
}

static const char *
refused_name(unsigned i)
{
    static const char *const names[RTMP_REFUSED_COUNT] = {
        [RTMP_REFUSED_OTHER] = "other",   [RTMP_REFUSED_APP] = "app",
        [RTMP_REFUSED_ACCESS] = "access", [RTMP_REFUSED_NAME] = "name",
        [RTMP_REFUSED_KEY] = "key",       [RTMP_REFUSED_HOOK] = "module",
        [RTMP_REFUSED_LIVE] = "live",     [RTMP_REFUSED_LATE] = "timeout",
        [RTMP_REFUSED_LOOP] = "itself",
    };

    return names[i];
}

static const char *
handshake_name(unsigned i)
{
    static const char *const names[] = { "version", "timeout", "not_sent" };

    return names[i];
}

static const char *
client_wish_name(unsigned i)
{
    static const char *const names[] = { "play", "publish" };

    return names[i];
}

static const char *
client_fate_name(unsigned i)
{
    return rtmp_client_fate_name((enum rtmp_client_fate)i);
}

struct metric rtmp_metrics[] = {
    [RTMP_CLOSED] = {
        .name = "weir_rtmp_sessions_closed_total",
        .help = "RTMP sessions that ended.",
        .labels = { { "reason", end_name, END_COUNT } },
    },
    [RTMP_REFUSED_TOTAL] = {
        .name = "weir_rtmp_refused_total",
        .help = "Requests of RTMP clients that were refused; \"live\": see "
                "weir_live_refused_total.",
        .labels = { { "command", wish_name, 3 },
                    { "reason", refused_name, RTMP_REFUSED_COUNT } },
    },
    [RTMP_HANDSHAKE_ERRORS] = {
        .name = "weir_rtmp_handshake_errors_total",
        .help = "RTMP handshakes that failed.",
        .labels = { { "reason", handshake_name, 3 } },
    },
    [RTMP_CLIENTS_CLOSED] = {
        .name = "weir_rtmp_clients_closed_total",
        .help = "RTMP sessions to other servers that ended.",
        .labels = { { "command", client_wish_name, 2 },
                    { "reason", client_fate_name, RTMP_CLIENT_FATES } },
    },
    METRIC_END,
};

/*
 * The table of this folder's metrics.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/metrics.h"

#include <errno.h>
#include <stdio.h>

#include "net/proxy_accept.h"
#include "proc/metric_text.h"
#include "proc/tally.h"

/* Errors of accept(2). */
static const struct {
    int number;
    const char *name;
} errors[] = {
    { 0, "other" },       { EMFILE, "EMFILE" },
    { ENFILE, "ENFILE" }, { ENOBUFS, "ENOBUFS" },
    { ENOMEM, "ENOMEM" }, { ECONNABORTED, "ECONNABORTED" },
    { EPROTO, "EPROTO" }, { EPERM, "EPERM" },
};
#define ERRORS (sizeof(errors) / sizeof(errors[0]))

static const char *
error_name(unsigned i)
{
    return errors[i].name;
}

uint32_t
net_errno_at(int number)
{
    for (unsigned i = 1; i < ERRORS; i++) {
        if (errors[i].number == number) {
            return i;
        }
    }
    return 0;
}

static const char *
rejected_name(unsigned i)
{
    static const char *const names[NET_REJECTED_COUNT] = {
        [NET_REJECTED_SYSTEM] = "system",
    };

    return names[i];
}

static const char *
pause_name(unsigned i)
{
    static const char *const names[NET_PAUSE_COUNT] = {
        [NET_PAUSE_CONNECTIONS] = "worker_connections",
        [NET_PAUSE_DESCRIPTORS] = "descriptors",
    };

    return names[i];
}

static const char *
proxy_name(unsigned i)
{
    return proxy_refusal_name((enum proxy_refusal)i);
}

static const char *
handshake_pairs(unsigned i)
{
    static const char *const pairs[NET_TLS_COUNT] = {
        [NET_TLS_FULL_1_2] = "version=\"1.2\",result=\"full\"",
        [NET_TLS_RESUMED_1_2] = "version=\"1.2\",result=\"resumed\"",
        [NET_TLS_FULL_1_3] = "version=\"1.3\",result=\"full\"",
        [NET_TLS_RESUMED_1_3] = "version=\"1.3\",result=\"resumed\"",
        [NET_TLS_FAILED] = "version=\"unknown\",result=\"failed\"",
        [NET_TLS_TIMED_OUT] = "version=\"unknown\",result=\"timed_out\"",
        [NET_TLS_LEFT] = "version=\"unknown\",result=\"left\"",
        [NET_TLS_NOT_TLS] = "version=\"unknown\",result=\"not_tls\"",
    };

    return pairs[i];
}

static const char *
break_name(unsigned i)
{
    return i == NET_TLS_TRUNCATED ? "truncated" : "error";
}

static const char *
resolved_name(unsigned i)
{
    static const char *const names[NET_RESOLVED_COUNT] = {
        [NET_RESOLVED_FOUND] = "found",
        [NET_RESOLVED_NONE] = "none",
        [NET_RESOLVED_FAILED] = "failed",
        [NET_RESOLVED_TIMED_OUT] = "timed_out",
        [NET_RESOLVED_TOO_MANY] = "too_many",
    };

    return names[i];
}

static const char *
outgoing_name(unsigned i)
{
    static const char *const names[NET_OUTGOING_COUNT] = {
        [NET_OUTGOING_CONNECTED] = "connected",
        [NET_OUTGOING_CANCELLED] = "cancelled",
        [NET_OUTGOING_NAME] = "name",
        [NET_OUTGOING_EGRESS] = "egress",
        [NET_OUTGOING_FAILED] = "failed",
        [NET_OUTGOING_TIMED_OUT] = "timed_out",
        [NET_OUTGOING_TLS] = "tls",
    };

    return names[i];
}

static const char *
move_name(unsigned i)
{
    return i == NET_MOVE_GIVEN ? "given" : "taken";
}

/* ---- pools ---- */

static const char *
pool_name(unsigned i)
{
    return tally_name(i);
}

static const char *
pool_refusal(unsigned i)
{
    return i == 0 ? "share" : "full";
}

static void
tell_pools(const struct metric *m, struct metric_out *out, bool used)
{
    struct tally_view v;

    for (uint32_t i = 1; tally_look(i, &v); i++) {
        char label[64];

        snprintf(label, sizeof(label), "pool=\"%s\"", v.name);
        if (v.size > 0) {
            metric_tell(out, m, label, used ? v.used : v.size);
        }
    }
}

static void
collect_sizes(const struct metric *m, struct metric_out *out)
{
    tell_pools(m, out, false);
}

static void
collect_used(const struct metric *m, struct metric_out *out)
{
    tell_pools(m, out, true);
}

#define POOL                           \
    {                                  \
        "pool", pool_name, TALLY_POOLS \
    }
#define LISTENER                                 \
    {                                            \
        NULL, metric_listener_name, METRIC_NAMES \
    }

struct metric net_metrics[] = {
    [NET_CONNECTIONS] = {
        .name = "weir_connections",
        .help = "Connections that are open.",
        .type = METRIC_GAUGE,
        .labels = { LISTENER },
    },
    [NET_ACCEPTED] = {
        .name = "weir_connections_accepted_total",
        .help = "Connections that were accepted.",
        .labels = { LISTENER },
    },
    [NET_REJECTED] = {
        .name = "weir_connections_rejected_total",
        .help = "Connections that were closed as soon as they were accepted.",
        .labels = { { "reason", rejected_name, NET_REJECTED_COUNT } },
    },
    [NET_PAUSES] = {
        .name = "weir_accept_pauses_total",
        .help = "Times a worker stopped accepting connections for a while.",
        .labels = { { "reason", pause_name, NET_PAUSE_COUNT } },
    },
    [NET_ACCEPT_ERRORS] = {
        .name = "weir_accept_errors_total",
        .help = "Connections that could not be accepted.",
        .labels = { { "errno", error_name, ERRORS } },
    },
    [NET_NO_MEMORY] = {
        .name = "weir_connections_no_memory_total",
        .help = "Connections closed because memory was out.",
    },
    [NET_PROXY_REFUSED] = {
        .name = "weir_proxy_protocol_errors_total",
        .help = "Connections that were closed because of their PROXY "
                "protocol header.",
        .labels = { { "reason", proxy_name, PROXY_REFUSALS } },
    },
    [NET_TLS_HANDSHAKES] = {
        .name = "weir_tls_handshakes_total",
        .help = "Handshakes that are over; the version of those that "
                "failed is \"unknown\".",
        .labels = { { NULL, handshake_pairs, NET_TLS_COUNT } },
    },
    [NET_TLS_BROKEN] = {
        .name = "weir_tls_connections_broken_total",
        .help = "TLS connections that ended without close_notify, or by an "
                "error of the protocol.",
        .labels = { { "reason", break_name, NET_TLS_BREAKS } },
    },
    [NET_TLS_EXPIRY] = {
        .name = "weir_tls_cert_expiry_timestamp_seconds",
        .help = "When the first of a listener's certificates expires.",
        .type = METRIC_GAUGE,
        .labels = { LISTENER },
        .sparse = true,
    },
    [NET_RESOLVED] = {
        .name = "weir_resolver_lookups_total",
        .help = "Names that were looked up to connect to them.",
        .labels = { { "result", resolved_name, NET_RESOLVED_COUNT } },
    },
    [NET_OUTGOING] = {
        .name = "weir_outgoing_connects_total",
        .help = "Attempts to connect to another host, with its handshake "
                "where there is TLS.",
        .labels = { { "result", outgoing_name, NET_OUTGOING_COUNT } },
    },
    [NET_EGRESS_REFUSED] = {
        .name = "weir_egress_refused_total",
        .help = "Addresses that were not connected to because of the egress "
                "rules.",
    },
    [NET_UNSENT] = {
        .name = "weir_http_unsent_bytes",
        .help = "Bytes of answers, and of frames for players, that are kept "
                "in memory because clients do not take them; "
                "http.max_unsent bounds it.",
        .type = METRIC_GAUGE,
    },
    [NET_UNSENT_CUT] = {
        .name = "weir_http_unsent_cut_total",
        .help = "Times that what was kept for a client, or a frame for its "
                "players, was given up because of http.max_unsent.",
    },
    [NET_PUMPS] = {
        .name = "weir_tls_pumps",
        .help = "TLS connections that workers carry bytes of for another "
                "process, which has them.",
        .type = METRIC_GAUGE,
    },
    [NET_MOVED] = {
        .name = "weir_connections_moved_total",
        .help = "Connections that a process gave to another one, and that "
                "one took.",
        .labels = { { "direction", move_name, NET_MOVES } },
    },
    [NET_POOL_SIZE] = {
        .name = "weir_pool_size",
        .help = "The size of each pool that clients share, and that is in "
                "use.",
        .type = METRIC_GAUGE,
        .labels = { { .name = "pool" } },
        .collect = collect_sizes,
    },
    [NET_POOL_USED] = {
        .name = "weir_pool_used",
        .help = "How much of it is in use; of pools that each process has, by "
                "the process that uses most.",
        .type = METRIC_GAUGE,
        .labels = { { .name = "pool" } },
        .collect = collect_used,
    },
    [NET_POOL_REFUSED] = {
        .name = "weir_pool_refused_total",
        .help = "Refusals of what clients share: an address has its share of "
                "a pool, or the pool is full.",
        .labels = { POOL, { "reason", pool_refusal, 2 } },
        .sparse = true,
    },
    [NET_POOL_GAVE] = {
        .name = "weir_pool_gave_total",
        .help = "Things that were ended so that others, or newer ones of "
                "their client, have their place in a pool.",
        .labels = { POOL },
        .sparse = true,
    },
    METRIC_END,
};

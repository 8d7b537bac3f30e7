/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proxy_metrics.h"

#include <stdio.h>

#include "base/clock.h"
#include "proc/metric_text.h"
#include "servers.h"

#define LABELS_MAX 1400

/* upstream="api",server="127.0.0.1:9001" and one more, if it has a name. */
static void
tell(struct metric_out *out, const struct metric *m, int place,
     const char *label, const char *value, int64_t n)
{
    char labels[LABELS_MAX], upstream[2 * SERVERS_UPSTREAM_MAX],
        server[2 * SERVERS_NAME_MAX];

    metric_escape(upstream, sizeof(upstream), servers_upstream(place));
    metric_escape(server, sizeof(server), servers_name(place));
    if (label == NULL) {
        snprintf(labels, sizeof(labels), "upstream=\"%s\",server=\"%s\"",
                 upstream, server);
    } else {
        snprintf(labels, sizeof(labels),
                 "upstream=\"%s\",server=\"%s\",%s=\"%s\"", upstream, server,
                 label, value);
    }
    metric_tell(out, m, labels, n);
}

/* The next place that is in use, from `place` on; -1 behind the last. */
static int
next_used(int place)
{
    while (place < servers_end()) {
        if (servers_is_used(place)) {
            return place;
        }
        place++;
    }
    return -1;
}

#define EACH_USED(place) \
    for (int place = next_used(0); place != -1; place = next_used(place + 1))

/* Several counts, told apart by a label. */
static void
tell_counts(struct metric_out *out, const struct metric *m, unsigned first,
            const char *label, const char *const *values)
{
    EACH_USED(place)
    {
        for (unsigned i = 0; values[i] != NULL; i++) {
            tell(out, m, place, label, values[i],
                 servers_counted(place, first + i));
        }
    }
}

static void
collect_requests(const struct metric *m, struct metric_out *out)
{
    static const char *const classes[] = { "none", "1xx", "2xx", "3xx",
                                           "4xx",  "5xx", NULL };

    tell_counts(out, m, SERVER_ANSWERS, "class", classes);
}

static void
collect_fails(const struct metric *m, struct metric_out *out)
{
    static const char *const reasons[] = { "unreached", "tls",   "timed_out",
                                           "broken",    "wrong", NULL };

    tell_counts(out, m, SERVER_FAILS, "reason", reasons);
}

static void
collect_checks(const struct metric *m, struct metric_out *out)
{
    static const char *const results[] = { "good", "failed", NULL };

    tell_counts(out, m, SERVER_CHECKS, "result", results);
}

static void
collect_retries(const struct metric *m, struct metric_out *out)
{
    EACH_USED(place)
    {
        tell(out, m, place, NULL, NULL, servers_counted(place, SERVER_RETRIES));
    }
}

static void
collect_seconds(const struct metric *m, struct metric_out *out)
{
    EACH_USED(place)
    {
        tell(out, m, place, NULL, NULL, servers_counted(place, SERVER_TIME));
    }
}

/* As the buckets of a histogram: each has all that are faster. */
static void
collect_within(const struct metric *m, struct metric_out *out)
{
    char bound[32];

    EACH_USED(place)
    {
        uint64_t sum = 0;

        for (unsigned i = 0; i <= SERVER_BOUNDS; i++) {
            sum += (uint64_t)servers_counted(place, SERVER_WITHIN + i);
            if (i < SERVER_BOUNDS) {
                snprintf(bound, sizeof(bound), "%g",
                         (double)server_bounds[i] / 1000);
            } else {
                snprintf(bound, sizeof(bound), "+Inf");
            }
            tell(out, m, place, "le", bound,
                 sum < INT64_MAX ? (int64_t)sum : INT64_MAX);
        }
    }
}

static void
collect_open(const struct metric *m, struct metric_out *out)
{
    EACH_USED(place)
    {
        tell(out, m, place, NULL, NULL, servers_opened(place));
    }
}

static void
collect_connections(const struct metric *m, struct metric_out *out)
{
    EACH_USED(place)
    {
        tell(out, m, place, NULL, NULL,
             servers_gauged(place, SERVER_CONNECTIONS));
    }
}

/* The first server of an upstream has the number of its queue. */
static void
collect_waiting(const struct metric *m, struct metric_out *out)
{
    EACH_USED(place)
    {
        tell(out, m, place, NULL, NULL, servers_gauged(place, SERVER_WAITING));
    }
}

static void
collect_up(const struct metric *m, struct metric_out *out)
{
    int64_t now = clock_ms();

    EACH_USED(place)
    {
        bool up = !servers_is_drained(place) &&
                  servers_check(place, now) != SERVER_CHECKED_DOWN &&
                  servers_gate(place, now) == SERVER_OPEN;

        tell(out, m, place, NULL, NULL, up);
    }
}

#define OF_SERVER                \
    {                            \
        { "upstream", NULL, 0 }, \
        {                        \
            "server", NULL, 0    \
        }                        \
    }
#define OF_SERVER_AND(name)                             \
    {                                                   \
        { "upstream", NULL, 0 }, { "server", NULL, 0 }, \
        {                                               \
            name, NULL, 0                               \
        }                                               \
    }

struct metric proxy_metrics[] = {
    { .name = "weir_proxy_requests_total",
      .help = "Requests that were passed on, by the class of their answers; "
              "none: none came.",
      .labels = OF_SERVER_AND("class"),
      .collect = collect_requests,
      .look = servers_look },
    { .name = "weir_proxy_fails_total",
      .help = "Requests that a server did not answer as it should.",
      .labels = OF_SERVER_AND("reason"),
      .collect = collect_fails },
    { .name = "weir_proxy_retries_total",
      .help = "Requests that another server had failed before.",
      .labels = OF_SERVER,
      .collect = collect_retries },
    { .name = "weir_proxy_answer_seconds_total",
      .help = "From asking a server to the heads of its answers, in all.",
      .labels = OF_SERVER,
      .unit = 1000,
      .collect = collect_seconds },
    { .name = "weir_proxy_answers_within_total",
      .help = "Heads of answers that came within so many seconds.",
      .labels = OF_SERVER_AND("le"),
      .collect = collect_within },
    { .name = "weir_proxy_open_requests",
      .help = "Requests that a server has now.",
      .type = METRIC_GAUGE,
      .labels = OF_SERVER,
      .collect = collect_open },
    { .name = "weir_proxy_connections",
      .help = "Connections to a server, idle ones included.",
      .type = METRIC_GAUGE,
      .labels = OF_SERVER,
      .collect = collect_connections },
    { .name = "weir_proxy_waiting",
      .help = "Requests in the queue of an upstream, at its first server.",
      .type = METRIC_GAUGE,
      .labels = OF_SERVER,
      .collect = collect_waiting },
    { .name = "weir_proxy_up",
      .help = "Whether a server gets requests: 0 while it is drained or down.",
      .type = METRIC_GAUGE,
      .labels = OF_SERVER,
      .collect = collect_up },
    { .name = "weir_proxy_checks_total",
      .help = "Checks of servers.",
      .labels = OF_SERVER_AND("result"),
      .collect = collect_checks },
    METRIC_END,
};

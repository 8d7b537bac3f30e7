/*
 * Metrics that nobody counts: they are found out when somebody asks.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/metrics/state.h"

#include <stdio.h>
#include <sys/resource.h>

#include "app/metrics/metrics.h"
#include "config.h"
#include "live/live.h"
#include "proc/slot.h"

static void
collect_build(const struct metric *m, struct metric_out *out)
{
    metric_tell(out, m, "version=\"" WEIR_VERSION "\"", 1);
}

/* ---- processes ---- */

static void
collect_workers(const struct metric *m, struct metric_out *out)
{
    static const char *const labels[] = { "state=\"starting\"",
                                          "state=\"ready\"",
                                          "state=\"draining\"" };
    int64_t counts[SLOT_GONE + 1] = { 0 };

    for (uint32_t i = 0; i < slots_count(); i++) {
        if (atomic_load(&slot_card(i)->kind) == SLOT_WORKER) {
            counts[slot_state(i)]++;
        }
    }
    for (int i = 0; i < SLOT_GONE; i++) {
        metric_tell(out, m, labels[i], counts[i]);
    }
}

/* The kinds of processes together. */
static int64_t
sum_of(unsigned which)
{
    const struct metric *m = &app_metrics[which];
    uint64_t sum = 0;

    for (unsigned kind = 0; kind < APP_KINDS; kind++) {
        sum += (uint64_t)metric_sum(m, metric_at(m, kind, 0, 0));
    }
    return (int64_t)sum;
}

static void
collect_cpu(const struct metric *m, struct metric_out *out)
{
    metric_tell(out, m, "", sum_of(APP_CPU));
}

static void
collect_memory(const struct metric *m, struct metric_out *out)
{
    metric_tell(out, m, "", sum_of(APP_MEMORY));
}

static void
collect_max_files(const struct metric *m, struct metric_out *out)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        metric_tell(out, m, "", (int64_t)limit.rlim_cur);
    }
}

static void
collect_start(const struct metric *m, struct metric_out *out)
{
    metric_tell(out, m, "", metric_sum(&app_metrics[APP_START_TIME], 0));
}

/* ---- live streams ---- */

static void
collect_streams(const struct metric *m, struct metric_out *out)
{
    uint32_t live, hold;

    live_count_streams(&live, &hold);
    metric_tell(out, m, "state=\"live\"", live);
    metric_tell(out, m, "state=\"hold\"", hold);
}

static void
collect_sessions(const struct metric *m, struct metric_out *out)
{
    struct live_memory_view v;

    live_memory(&v);
    metric_tell(out, m, "", v.sessions);
}

/* By application and protocol. */
struct viewers {
    int64_t hls[METRIC_NAMES], mp4[METRIC_NAMES];
};

static void
count_viewer(void *arg, struct str name, enum live_kind kind)
{
    struct viewers *v = arg;
    unsigned app = metric_name_find(METRIC_APPS, str_cut(&name, '/'));

    (kind == LIVE_KIND_MP4 ? v->mp4 : v->hls)[app]++;
}

static void
tell_viewers(const struct metric *m, struct metric_out *out, unsigned app,
             enum live_kind kind, int64_t count)
{
    char name[METRIC_NAME_MAX * 2], labels[sizeof(name) + 64];

    metric_escape(name, sizeof(name), str_from(metric_app_name(app)));
    snprintf(labels, sizeof(labels), "app=\"%s\",protocol=\"%s\"", name,
             live_kind_name(kind));
    metric_tell(out, m, labels, count);
}

static void
collect_viewers(const struct metric *m, struct metric_out *out)
{
    struct viewers v = { 0 };

    live_each_viewer(count_viewer, &v);
    for (unsigned i = 0; i < METRIC_NAMES && metric_app_name(i) != NULL; i++) {
        tell_viewers(m, out, i, LIVE_KIND_HLS, v.hls[i]);
        tell_viewers(m, out, i, LIVE_KIND_MP4, v.mp4[i]);
    }
}

static void
collect_arena(const struct metric *m, struct metric_out *out)
{
    struct live_memory_view v;

    live_memory(&v);
    metric_tell(out, m, "state=\"used\"", (int64_t)v.used * v.segment_size);
    metric_tell(out, m, "state=\"retired\"",
                (int64_t)v.retired * v.segment_size);
    metric_tell(out, m, "state=\"free\"",
                (int64_t)(v.segments - v.used - v.retired) * v.segment_size);
}

/* ---- one by one, when metrics.stream_labels says so ---- */

#define STREAMS_TOLD 1000

static bool streams_told;

void
state_metrics_of_streams(bool on)
{
    streams_told = on;
}

struct telling {
    const struct metric *m;
    struct metric_out *out;
    unsigned left;
    int64_t (*value)(const struct live_stream_view *v);
};

static bool
tell_stream(void *arg, const struct live_stream_view *v)
{
    struct telling *t = arg;
    struct str name = str_from(v->name);
    struct str app = str_cut(&name, '/');
    char a[LIVE_NAME_MAX * 2], n[LIVE_NAME_MAX * 2], labels[sizeof(a) * 3];

    metric_escape(a, sizeof(a), app);
    metric_escape(n, sizeof(n), name);
    snprintf(labels, sizeof(labels), "app=\"%s\",stream=\"%s\"", a, n);
    metric_tell(t->out, t->m, labels, t->value(v));
    return --t->left > 0;
}

static void
tell_streams(const struct metric *m, struct metric_out *out,
             int64_t (*value)(const struct live_stream_view *v))
{
    struct telling t = { m, out, STREAMS_TOLD, value };

    if (streams_told) {
        live_each_stream(tell_stream, &t);
    }
}

static int64_t
live_of(const struct live_stream_view *v)
{
    return v->live;
}

static int64_t
players_of(const struct live_stream_view *v)
{
    return v->players;
}

static int64_t
bytes_of(const struct live_stream_view *v)
{
    return (int64_t)v->bytes;
}

static int64_t
dropped_of(const struct live_stream_view *v)
{
    return (int64_t)v->dropped;
}

static int64_t
memory_of(const struct live_stream_view *v)
{
    return v->memory;
}

static void
collect_stream_live(const struct metric *m, struct metric_out *out)
{
    tell_streams(m, out, live_of);
}

static void
collect_stream_players(const struct metric *m, struct metric_out *out)
{
    tell_streams(m, out, players_of);
}

static void
collect_stream_bytes(const struct metric *m, struct metric_out *out)
{
    tell_streams(m, out, bytes_of);
}

static void
collect_stream_dropped(const struct metric *m, struct metric_out *out)
{
    tell_streams(m, out, dropped_of);
}

static void
collect_stream_memory(const struct metric *m, struct metric_out *out)
{
    tell_streams(m, out, memory_of);
}

struct metric state_metrics[] = {
    { .name = "weir_build_info",
      .help = "1; the labels tell what was built.",
      .type = METRIC_GAUGE,
      .labels = { { .name = "version" } },
      .collect = collect_build },
    { .name = "process_start_time_seconds",
      .help = "When weir was started.",
      .type = METRIC_GAUGE,
      .unit = 1000,
      .collect = collect_start },
    { .name = "process_cpu_seconds_total",
      .help = "Processor time of all processes, those that ended included.",
      .unit = 1000000,
      .collect = collect_cpu },
    { .name = "process_resident_memory_bytes",
      .help = "Resident memory of all processes; what is shared is counted "
              "for each.",
      .type = METRIC_GAUGE,
      .collect = collect_memory },
    { .name = "process_max_fds",
      .help = "How many descriptors one process may have open.",
      .type = METRIC_GAUGE,
      .collect = collect_max_files },
    { .name = "weir_workers",
      .help = "Worker processes, of all generations.",
      .type = METRIC_GAUGE,
      .labels = { { .name = "state" } },
      .collect = collect_workers },
    { .name = "weir_streams",
      .help = "Live streams: with a publisher, or on hold for one to come "
              "back.",
      .type = METRIC_GAUGE,
      .labels = { { .name = "state" } },
      .collect = collect_streams },
    { .name = "weir_live_sessions",
      .help = "Publishers and players together.",
      .type = METRIC_GAUGE,
      .collect = collect_sessions },
    { .name = "weir_live_viewers",
      .help = "Players over HLS, those that asked not long ago, and of MP4 "
              "without an end.",
      .type = METRIC_GAUGE,
      .labels = { { .name = "app" }, { .name = "protocol" } },
      .collect = collect_viewers },
    { .name = "weir_live_memory_bytes",
      .help = "Memory for live media: in use by streams, given back but "
              "perhaps still read, free.",
      .type = METRIC_GAUGE,
      .labels = { { .name = "state" } },
      .collect = collect_arena },
    { .name = "weir_stream_live",
      .help = "1: it has a publisher; 0: on hold (metrics.stream_labels).",
      .type = METRIC_GAUGE,
      .labels = { { .name = "app" }, { .name = "stream" } },
      .collect = collect_stream_live },
    { .name = "weir_stream_players",
      .help = "Players of one stream (metrics.stream_labels).",
      .type = METRIC_GAUGE,
      .labels = { { .name = "app" }, { .name = "stream" } },
      .collect = collect_stream_players },
    { .name = "weir_stream_bytes_total",
      .help = "Media published to one stream since it began "
              "(metrics.stream_labels).",
      .labels = { { .name = "app" }, { .name = "stream" } },
      .collect = collect_stream_bytes },
    { .name = "weir_stream_frames_dropped_total",
      .help = "Frames of one stream that found no memory "
              "(metrics.stream_labels).",
      .labels = { { .name = "app" }, { .name = "stream" } },
      .collect = collect_stream_dropped },
    { .name = "weir_stream_memory_bytes",
      .help = "The part of live.memory that one stream holds "
              "(metrics.stream_labels).",
      .type = METRIC_GAUGE,
      .labels = { { .name = "app" }, { .name = "stream" } },
      .collect = collect_stream_memory },
    METRIC_END,
};

/*
 * The table of what the core counts, and all tables together.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/metrics/metrics.h"

#include <stdio.h>

#include "app/metrics/state.h"
#include "base/clock.h"
#include "base/log.h"
#include "http/metrics.h"
#include "live/metrics.h"
#include "net/metrics.h"
#include "proc/metrics.h"
#include "proc/slot.h"
#include "rtmp/metrics.h"
#include "sio/channel.h"
#include "store/metrics.h"

/* ---- labels ---- */

static const char *
kind_name(unsigned i)
{
    static const char *const names[APP_KINDS] = { "master", "worker", "role" };

    return names[i];
}

/* Of those that can be started again. */
static const char *
child_name(unsigned i)
{
    return kind_name(i + 1);
}

static const char *
restart_name(unsigned i)
{
    static const char *const names[APP_RESTART_COUNT] = {
        [APP_RESTART_CRASH] = "crash", [APP_RESTART_KILLED] = "killed",
        [APP_RESTART_STUCK] = "stuck", [APP_RESTART_STATUS] = "status",
        [APP_RESTART_ENDED] = "ended", [APP_RESTART_NO_FORK] = "no_fork",
    };

    return names[i];
}

static const char *
kill_name(unsigned i)
{
    return i == APP_KILL_STUCK ? "stuck" : "stop";
}

static const char *
control_name(unsigned i)
{
    static const char *const names[APP_CONTROL_COUNT] = {
        [APP_CONTROL_CLIENTS] = "clients",
        [APP_CONTROL_LEVEL] = "level",
        [APP_CONTROL_SLOW] = "slow",
        [APP_CONTROL_DESCENDANT] = "descendant",
    };

    return names[i];
}

static const char *
result_name(unsigned i)
{
    return i == 0 ? "success" : "failure";
}

/* ---- the table ---- */

/* Microseconds. */
static const int64_t turns[] = {
    100,   500,   1000,   2500,   5000,   10000,
    25000, 50000, 100000, 250000, 500000, 1000000
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define KIND                         \
    {                                \
        "kind", kind_name, APP_KINDS \
    }

struct metric app_metrics[] = {
    [APP_RESTARTS] = {
        .name = "weir_worker_restarts_total",
        .help = "Processes that ended without being told to and were started "
                "again.",
        .labels = { { "kind", child_name, 2 },
                    { "reason", restart_name, APP_RESTART_COUNT } },
    },
    [APP_KILLS] = {
        .name = "weir_process_kills_total",
        .help = "Processes that the master killed: stuck in a turn of their "
                "loop, or not ending when told to.",
        .labels = { { "reason", kill_name, APP_KILL_COUNT } },
    },
    [APP_ORPHANS] = {
        .name = "weir_orphans_killed_total",
        .help = "Processes that the master killed because they had lost their "
                "parent and no child of weir was to have them.",
    },
    [APP_STALLS] = {
        .name = "weir_event_loop_stalls_total",
        .help = "Turns of an event loop that took longer than 100 ms.",
    },
    [APP_LOOP] = {
        .name = "weir_event_loop_lag_seconds",
        .help = "How long turns of the event loops of workers and roles took; "
                "so long what became ready meanwhile had to wait.",
        .type = METRIC_HISTOGRAM,
        .bounds = turns, .bound_count = COUNT(turns), .unit = 1000000,
    },
    [APP_RELOADS] = {
        .name = "weir_config_reloads_total",
        .help = "Reloads of the configuration.",
        .labels = { { "result", result_name, 2 } },
    },
    [APP_RTMP_BYTES] = {
        .name = "weir_rtmp_bytes_total",
        .help = "Bytes on the wire over RTMP since the session named its "
                "application.",
        .labels = { METRIC_LABEL_DIR, METRIC_LABEL_APP },
    },
    [APP_IDLE_PUBLISHERS] = {
        .name = "weir_rtmp_idle_publishers_total",
        .help = "Publishers closed because they sent nothing for "
                "idle_timeout.",
        .labels = { METRIC_LABEL_APP },
    },
    [APP_SUPPRESSED] = {
        .name = "weir_log_lines_suppressed_total",
        .help = "Lines of the error log that were not written because there "
                "were too many like them.",
    },
    [APP_CONTROL_REFUSED] = {
        .name = "weir_control_refused_total",
        .help = "Clients of the control socket that were sent away.",
        .labels = { { "reason", control_name, APP_CONTROL_COUNT } },
    },
    [APP_CPU] = {
        .name = "weir_process_cpu_seconds_total",
        .help = "Processor time.",
        .labels = { KIND }, .unit = 1000000,
    },
    [APP_MEMORY] = {
        .name = "weir_process_resident_memory_bytes",
        .help = "Resident memory; what is shared is counted for each process "
                "that touched it.",
        .type = METRIC_GAUGE,
        .labels = { KIND },
    },
    [APP_PRIVATE] = {
        .name = "weir_process_private_memory_bytes",
        .help = "Resident memory that is not shared with others.",
        .type = METRIC_GAUGE,
        .labels = { KIND },
    },
    [APP_FILES] = {
        .name = "weir_process_open_fds",
        .help = "Open descriptors.",
        .type = METRIC_GAUGE,
        .labels = { KIND },
    },
    [APP_FILES_MOST] = {
        .name = "process_open_fds",
        .help = "Open descriptors of the process that has most.",
        .type = METRIC_GAUGE,
    },
    [APP_RELOAD_OK] = {
        .name = "weir_config_last_reload_successful",
        .help = "1 when the last reload, or the start, succeeded.",
        .type = METRIC_GAUGE,
    },
    [APP_RELOAD_TIME] = {
        .name = "weir_config_last_reload_success_timestamp_seconds",
        .help = "When the configuration in force was loaded.",
        .type = METRIC_GAUGE,
        .unit = 1000,
    },
    [APP_GENERATION] = {
        .name = "weir_generation",
        .help = "Number of the configuration in force: 1 at the start, one "
                "more with each reload.",
        .type = METRIC_GAUGE,
    },
    [APP_GENERATIONS] = {
        .name = "weir_generations",
        .help = "Generations that have workers, the one in force among them; "
                "a reload that makes more than max_generations closes the "
                "oldest.",
        .type = METRIC_GAUGE,
    },
    [APP_START_TIME] = {
        .name = "weir_start_time_seconds",
        .help = "When weir was started.",
        .type = METRIC_GAUGE,
        .unit = 1000,
    },
    METRIC_END,
};

/* Weir's own tables. */
static struct metric *const own[] = {
    state_metrics, app_metrics,  proc_metrics,  net_metrics,    http_metrics,
    rtmp_metrics,  live_metrics, store_metrics, channel_metrics
};

#define OWN (sizeof(own) / sizeof(own[0]))

const char *
metrics_own_name(size_t i)
{
    for (size_t t = 0; t < OWN; t++) {
        for (const struct metric *m = own[t]; m->name != NULL; m++) {
            if (i-- == 0) {
                return m->name;
            }
        }
    }
    return NULL;
}

void
metrics_register(const struct module *const *table)
{
    for (size_t i = 0; i < OWN; i++) {
        metric_register(own[i]);
    }
    for (size_t i = 0; table[i] != NULL; i++) {
        if (table[i]->metrics != NULL) {
            metric_register(table[i]->metrics);
        }
    }
}

static void
count_suppressed(unsigned long n)
{
    metric_add_shared(&app_metrics[APP_SUPPRESSED], 0, (int64_t)n);
}

/* ---- names ---- */

static struct str
pairs_of(const struct listener *l, char *dst, size_t size)
{
    char name[sizeof(l->name) * 2];

    /* A free port is not to be told from another by its text. */
    bool free_port = str_ends(str_from(l->name), STR(":0")) ||
                     str_eq(str_from(l->name), STR("0"));
    char bound[ADDR_TEXT];

    metric_escape(name, sizeof(name),
                  str_from(free_port ? addr_text(&l->addr, bound) : l->name));
    snprintf(dst, size, "listener=\"%s\",proto=\"%s\"", name, l->proto);
    return str_from(dst);
}

uint16_t
metrics_listener(const struct listener *l)
{
    char pairs[512];

    return (uint16_t)metric_name_find(METRIC_LISTENERS,
                                      pairs_of(l, pairs, sizeof(pairs)));
}

static void
learn_applications(const struct settings *s)
{
    for (size_t i = 0; i < s->rtmp.servers.count; i++) {
        const struct conf_groups *all =
            &settings_rtmp_server(&s->rtmp, i)->applications;
        const struct rtmp_application_settings *a = all->items;

        for (size_t k = 0; k < all->count; k++) {
            metric_name_add(METRIC_APPS, a[k].name);
        }
    }
}

void
metrics_learn(const struct generation *g)
{
    char pairs[512];

    state_metrics_of_streams(g->settings->metrics.stream_labels);
    for (size_t i = 0; modules[i] != NULL; i++) {
        metric_name_add(METRIC_MODULES, str_from(modules[i]->name));
    }
    for (size_t i = 0; i < g->binding_count; i++) {
        metric_name_add(METRIC_LISTENERS, pairs_of(g->bindings[i].listener,
                                                   pairs, sizeof(pairs)));
    }
    learn_applications(g->settings);
}

static void
tell_certificates(const struct generation *g)
{
    const struct metric *m = &net_metrics[NET_TLS_EXPIRY];

    for (uint32_t i = 0; i < metric_cells(m); i++) {
        metric_set(m, i, 0);
    }
    for (size_t i = 0; i < g->binding_count; i++) {
        const struct binding *b = &g->bindings[i];

        if (b->tls != NULL) {
            metric_set(m, metrics_listener(b->listener), tls_expires(b->tls));
        }
    }
}

void
metrics_in_force(const struct generation *g)
{
    int64_t now = clock_wall_ms();

    tell_certificates(g);
    log_on_suppressed(count_suppressed);
    metric_set(&app_metrics[APP_RELOAD_OK], 0, 1);
    metric_set(&app_metrics[APP_RELOAD_TIME], 0, now);
    metric_set(&app_metrics[APP_GENERATION], 0, g->number);
    if (metric_sum(&app_metrics[APP_START_TIME], 0) == 0) {
        metric_set(&app_metrics[APP_START_TIME], 0, now);
        metrics_generations(1);
    }
}

void
metrics_generations(int64_t count)
{
    metric_set(&app_metrics[APP_GENERATIONS], 0, count);
}

void
metrics_reload(bool ok)
{
    metric_add(&app_metrics[APP_RELOADS], ok ? 0 : 1, 1);
    if (!ok) {
        metric_set(&app_metrics[APP_RELOAD_OK], 0, 0);
    }
}

/* ---- all of it ---- */

int
metrics_text(struct buf *out, enum metric_format format)
{
    return metric_text(out, format);
}

/* The names in "a="b",c="d""; listeners are not known without a running
 * weir. */
static void
list_pairs(const char *pairs, FILE *out)
{
    struct str rest = str_from(pairs != NULL ? pairs : "listener=,proto=");
    const char *before = "";

    while (rest.len > 0) {
        struct str pair = str_cut(&rest, ',');
        struct str name = str_cut(&pair, '=');

        fprintf(out, "%s%.*s", before, STR_ARGS(name));
        before = ",";
    }
}

static void
list_labels(const struct metric *m, FILE *out)
{
    const char *before = "";

    for (int i = 0; i < METRIC_LABELS; i++) {
        const struct metric_label *l = &m->labels[i];

        if (l->name != NULL || l->count > 0) {
            fputs(before, out);
            if (l->name != NULL) {
                fputs(l->name, out);
            } else {
                list_pairs(l->value(0), out);
            }
            before = ",";
        }
    }
    fputs(before[0] == '\0' ? "-" : "", out);
}

void
metrics_list(FILE *out)
{
    static const char *const types[] = { "counter", "gauge", "histogram" };
    const struct metric *m;

    for (unsigned i = 0; (m = metric_table(i)) != NULL; i++) {
        for (; m->name != NULL; m++) {
            fprintf(out, "%s  %s  ", m->name, types[m->type]);
            list_labels(m, out);
            fprintf(out, "  %s\n", m->help);
        }
    }
}

/* ---- the event loop ---- */

static void
on_turn(void *arg, int64_t us)
{
    (void)arg;
    metric_observe(&app_metrics[APP_LOOP], 0, us);
}

void
metrics_watch_loop(struct loop *l)
{
    loop_set_meter(l, on_turn, NULL);
    log_on_suppressed(count_suppressed);
}

/* ---- sums ---- */

static uint64_t
wire_bytes(enum metric_dir dir)
{
    const struct metric *rtmp = &app_metrics[APP_RTMP_BYTES];
    uint64_t sum =
        (uint64_t)metric_sum(&http_metrics[HTTP_BYTES], (uint32_t)dir);

    for (unsigned app = 0; app < METRIC_NAMES; app++) {
        sum += (uint64_t)metric_sum(rtmp, metric_at(rtmp, dir, app, 0));
    }
    return sum;
}

void
metrics_wire_bytes(uint64_t *in, uint64_t *out)
{
    *in = wire_bytes(METRIC_IN);
    *out = wire_bytes(METRIC_OUT);
}

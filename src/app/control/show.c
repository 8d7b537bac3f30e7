/*
 * Commands that tell of weir itself: version, processes, listeners, settings.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/control/control_impl.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/master/old_generations.h"
#include "app/metrics/metrics.h"
#include "app/module.h"
#include "app/node_state.h"
#include "app/settings/names.h"
#include "base/clock.h"
#include "base/mem.h"
#include "config.h"
#include "live/live.h"
#include "net/conn.h"
#include "net/share.h"
#include "proc/slot.h"

static int64_t
seconds_since(int64_t ms)
{
    return (clock_ms() - ms) / 1000;
}

/* ---- version ---- */

static enum control_result
on_version(struct control_call *call)
{
    control_pair(call, "version", STR(WEIR_VERSION));
    return CONTROL_DONE;
}

static enum control_result
on_build(struct control_call *call)
{
    control_pair(call, "version", STR(WEIR_VERSION));
    control_pair(call, "compiler", STR(WEIR_COMPILER));
    control_pair(call, "flags", STR(WEIR_CFLAGS));
    control_pair(call, "configure", STR(WEIR_CONFIGURE));
    control_pair(call, "libraries", STR(WEIR_LIBRARIES));
    for (size_t i = 0; modules[i] != NULL; i++) {
        char name[64];

        snprintf(name, sizeof(name), "module_%.50s", modules[i]->name);
        control_pair(call, name, str_from(modules[i]->about));
    }
    return CONTROL_DONE;
}

/* ---- info ---- */

struct sums {
    int64_t processes, draining;
    uint64_t connections, accepted, log_dropped;
};

static struct sums
add_slots(void)
{
    struct sums s = { 0 };

    for (uint32_t i = 0; i < slots_count(); i++) {
        struct slot *slot = slot_at(i);

        if (atomic_load(&slot_card(i)->kind) == SLOT_FREE) {
            continue;
        }
        s.processes++;
        s.draining += slot_state(i) == SLOT_DRAINING;
        s.connections += slot_connections(i);
        s.accepted += slot_number(&slot->accepted, SLOT_COUNT_MOST);
        s.log_dropped += slot_number(&slot->log_dropped, SLOT_COUNT_MOST);
    }
    return s;
}

static const char *
phase_name(enum phase phase)
{
    static const char *const names[] = {
        [STARTING] = "starting", [SERVING] = "serving",   [LEAVING] = "leaving",
        [DRAINING] = "draining", [STOPPING] = "stopping",
    };

    return names[phase];
}

/* 0: that succeeded, 1: that failed. */
static int64_t
reloads(unsigned result)
{
    return metric_sum(&app_metrics[APP_RELOADS], result);
}

static enum control_result
on_info(struct control_call *call)
{
    const struct master *m = control_master(call);
    struct sums s = add_slots();
    struct live_memory_view v;

    live_memory(&v);
    control_pair(call, "version", STR(WEIR_VERSION));
    control_pair_int(call, "pid", getpid());
    control_pair_int(call, "uptime_s",
                     seconds_since(atomic_load(&slot_card(0)->started_ms)));
    control_pair(call, "file", str_from(m->file));
    control_pair(call, "phase", str_from(phase_name(m->phase)));
    control_pair(call, "state", str_from(node_state_name(node_state())));
    control_pair_int(call, "generation", m->generation->number);
    control_pair_int(call, "reloads", reloads(0));
    control_pair_int(call, "reload_failures", reloads(1));
    control_pair(call, "last_reload",
                 metric_sum(&app_metrics[APP_RELOAD_OK], 0) != 0
                     ? STR("success")
                     : STR("failure"));
    control_pair_int(call, "workers", m->generation->workers);
    control_pair_int(call, "processes", s.processes);
    control_pair_int(call, "draining", s.draining);
    control_pair(call, "log_level", str_from(log_level_name(log_level())));
    control_pair_int(call, "log_lines_dropped", (int64_t)s.log_dropped);
    control_pair_int(call, "connections", (int64_t)s.connections);
    control_pair_int(call, "accepted", (int64_t)s.accepted);
    control_pair_int(call, "streams", v.streams);
    control_pair_int(call, "sessions", v.sessions);
    control_pair_int(call, "live_memory_used",
                     (int64_t)v.used * v.segment_size);
    control_pair_int(call, "live_memory_retired",
                     (int64_t)v.retired * v.segment_size);
    control_pair_int(call, "live_memory", (int64_t)v.segments * v.segment_size);
    control_pair_int(call, "control_clients", call->client->control->count);
    return CONTROL_DONE;
}

/* ---- processes ---- */

static const struct control_column proc_columns[] = {
    { "slot", 4 },   { "pid", 7 },      { "name", 12 },
    { "gen", 4 },    { "state", 9 },    { "uptime_s", 8 },
    { "conns", 6 },  { "pumps", 6 },    { "accepted", 9 },
    { "rss_kb", 8 }, { "failures", 8 }, { "starts_in_ms", 12 },
    { "why", 0 },    { NULL, 0 },
};

/* Resident memory; the kernel keeps the number, nothing is waited for. */
static int64_t
resident_kb(pid_t pid)
{
    char path[64], text[128];
    struct str rest;
    int64_t pages = 0;
    ssize_t n = -1;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd != -1) {
        n = read(fd, text, sizeof(text));
        close(fd);
    }
    rest = str_of(text, n > 0 ? (size_t)n : 0);
    str_cut(&rest, ' ');
    str_to_int(str_cut(&rest, ' '), 0, INT64_MAX / 65536, &pages);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Why it cannot start: "-" if it can. */
static void
cell_why(struct control_call *call, const struct child *c)
{
    bool fails = c != NULL && c->failed;

    control_cell_words(call, str_from(fails ? c->why.text : "-"));
}

/* The master's, and those of its child c. */
static void
show_slot(struct control_call *call, uint32_t number, const struct child *c)
{
    const struct slot_card *card = slot_card(number);
    struct slot *s = slot_at(number);
    enum slot_state state = slot_state(number);
    pid_t pid = atomic_load(&card->pid);

    control_cell_int(call, number);
    control_cell_int(call, pid);
    control_cell(call, str_from(card->name));
    control_cell_int(call, atomic_load(&card->generation));
    control_cell(call, str_from(c == NULL || state == SLOT_DRAINING
                                    ? slot_state_name(state)
                                    : child_state(c)));
    control_cell_int(call, seconds_since(atomic_load(&card->started_ms)));
    control_cell_int(call, (int64_t)slot_connections(number));
    control_cell_int(call,
                     (int64_t)slot_number(&s->pumps, SLOT_CONNECTIONS_MOST));
    control_cell_int(call, (int64_t)slot_number(&s->accepted, SLOT_COUNT_MOST));
    control_cell_int(call, resident_kb(pid));
    control_cell_int(call, c != NULL ? c->attempt : 0);
    control_cell_int(call, 0);
    cell_why(call, c);
}

/* One that does not run: it waits to be started again. */
static void
show_waiting(struct control_call *call, const struct child *c)
{
    char name[CHILD_NAME];
    int64_t wait = c->again.due - clock_ms();

    control_cell_int(call, 0);
    control_cell_int(call, 0);
    control_cell(call, str_from(child_name(c, name)));
    control_cell_int(call, c->generation->number);
    control_cell(call, str_from(child_state(c)));
    for (int i = 0; i < 5; i++) { /* uptime, conns, pumps, accepted, rss */
        control_cell_int(call, 0);
    }
    control_cell_int(call, c->attempt);
    control_cell_int(call, wait > 0 ? wait : 0);
    cell_why(call, c);
}

static enum control_result
on_proc(struct control_call *call)
{
    const struct master *m = control_master(call);

    control_table(call, proc_columns);
    show_slot(call, 0, NULL);
    LIST_EACH (node, &m->children.list) {
        const struct child *c = LIST_ITEM(node, struct child, link);

        if (c->pid != 0) {
            show_slot(call, c->slot, c);
        } else {
            show_waiting(call, c);
        }
    }
    return CONTROL_DONE;
}

/* ---- listeners ---- */

static const struct control_column listener_columns[] = {
    { "proto", 6 },   { "address", 24 }, { "sockets", 7 }, { "queued", 6 },
    { "backlog", 7 }, { "state", 8 },    { "names", 0 },   { NULL, 0 },
};

void
control_listener_text(const struct listener *l, char *dst)
{
    if (l->addr.family == AF_UNIX) {
        snprintf(dst, CONTROL_ADDRESS, "unix:%s", l->path);
    } else {
        addr_text(&l->addr, dst);
    }
}

/* Connections that wait to be accepted, and how many may, of all sockets. */
static void
add_queues(const struct listener *l, int64_t *queued, int64_t *most)
{
    *queued = *most = 0;
    for (unsigned i = 0; i < l->count && l->addr.family != AF_UNIX; i++) {
        struct tcp_info info = { 0 };
        socklen_t size = sizeof(info);

        if (getsockopt(l->fds[i], IPPROTO_TCP, TCP_INFO, &info, &size) == 0) {
            *queued += info.tcpi_unacked;
            *most += info.tcpi_sacked;
        }
    }
}

static struct str
add_names(struct pool *pool, struct str text, const struct conf_strings *names)
{
    for (size_t i = 0; i < names->count; i++) {
        text = pool_printf(pool, "%.*s%s%.*s", STR_ARGS(text),
                           text.len > 0 ? "," : "", STR_ARGS(names->items[i]));
    }
    return text;
}

/* server_name of all that share it. */
static void
cell_names(struct control_call *call, const struct listener *l)
{
    const struct generation *g = control_master(call)->generation;
    struct pool *pool = pool_new(1024);
    struct str text = STR_NONE;

    for (size_t i = 0; i < g->binding_count; i++) {
        const struct binding *b = &g->bindings[i];
        const struct http_at *all;
        size_t count = 0;

        if (b->listener != l || b->server.kind != SERVER_HTTP) {
            continue;
        }
        all = settings_http_at(pool, &g->settings->http, b->settings->address,
                               &count);
        for (size_t k = 0; k < count; k++) {
            text = add_names(pool, text, &all[k].server->server_name);
        }
    }
    control_cell(call, text.len > 0 ? text : STR("-"));
    pool_free(&pool);
}

static enum control_result
on_listeners(struct control_call *call)
{
    struct master *m = control_master(call);

    control_table(call, listener_columns);
    LIST_EACH (node, &m->listeners) {
        const struct listener *l = LIST_ITEM(node, struct listener, link);
        char text[CONTROL_ADDRESS];
        int64_t queued, most;

        add_queues(l, &queued, &most);
        control_listener_text(l, text);
        control_cell(call, str_from(l->proto));
        control_cell(call, str_from(text));
        control_cell_int(call, l->count);
        control_cell_int(call, queued);
        control_cell_int(call, most);
        control_cell(call, l->retired    ? STR("leaving")
                           : l->disabled ? STR("disabled")
                                         : STR("ready"));
        cell_names(call, l);
    }
    return CONTROL_DONE;
}

/* ---- settings and limits ---- */

static enum control_result
on_config(struct control_call *call)
{
    const struct conf *c = control_master(call)->generation->conf;
    bool changed = control_words(call) == 1;
    char *text = NULL;
    size_t len = 0;
    FILE *file;

    if (changed && !str_eq(control_word(call, 0), STR("changed"))) {
        return control_usage(call);
    }
    file = open_memstream(&text, &len);
    if (file == NULL) {
        return control_fail(call, "failed", "out of memory");
    }
    if (changed) {
        conf_print_changed(c, file);
    } else {
        conf_print(c, file);
    }
    fclose(file);
    control_lines(call, str_of(text, len));
    mem_free(&text);
    return CONTROL_DONE;
}

static const struct control_column limit_columns[] = {
    { "name", 28 },    { "used", 14 }, { "limit", 14 },
    { "largest", 24 }, { "holds", 0 }, { NULL, 0 },
};

static void
show_limit(struct control_call *call, const char *name, int64_t used,
           int64_t limit)
{
    control_cell(call, str_from(name));
    control_cell_int(call, used);
    control_cell_int(call, limit);
    control_cell(call, STR("-"));
    control_cell_int(call, 0);
}

static void
show_pool(struct control_call *call, const struct tally_view *v)
{
    char largest[SHARE_TEXT];

    control_cell(call, str_from(v->name));
    control_cell_int(call, v->used);
    control_cell_int(call, v->size);
    control_cell(call, v->holds == 0
                           ? STR("-")
                           : str_from(share_text(&v->largest, largest)));
    control_cell_int(call, v->holds);
}

/* Pools that clients share. */
static void
show_pools(struct control_call *call)
{
    struct tally_view v;

    for (uint32_t i = 1; tally_look(i, &v); i++) {
        bool has_its_row = i == conn_pools[0].number;

        if (v.size > 0 && !has_its_row) { /* else nobody here has it */
            show_pool(call, &v);
        }
    }
}

static int64_t
open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int64_t count = -3; /* . and .. and its own */

    if (dir == NULL) {
        return 0;
    }
    while (readdir(dir) != NULL) {
        count++;
    }
    closedir(dir);
    return count;
}

/* Of the worker that has most; as it says, so no more than the limit. */
static int64_t
most_connections(int64_t limit)
{
    int64_t most = 0;

    for (uint32_t i = 1; i < slots_count(); i++) {
        int64_t here = (int64_t)slot_connections(i);

        most = here > most ? here : most;
    }
    return most < limit ? most : limit;
}

/* Those of balancers are no client's, and count all the same. */
static void
show_connections(struct control_call *call, int64_t limit)
{
    struct tally_view v = { .holds = 0 };

    tally_look(conn_pools[0].number, &v);
    v.name = "worker_connections";
    v.used = most_connections(limit);
    v.size = limit;
    show_pool(call, &v);
}

static enum control_result
on_limits(struct control_call *call)
{
    const struct settings *s = control_settings(call);
    struct rlimit files = { 0 };
    struct live_memory_view v;

    live_memory(&v);
    getrlimit(RLIMIT_NOFILE, &files);
    control_table(call, limit_columns);
    show_connections(call, s->worker_connections);
    show_limit(call, "live.memory", (int64_t)v.used * v.segment_size,
               (int64_t)v.segments * v.segment_size);
    show_pools(call);
    show_limit(call, "max_generations",
               old_generations_count(control_master(call)), s->max_generations);
    show_limit(call, "processes", add_slots().processes, slots_count());
    show_limit(call, "master_open_files", open_files(),
               (int64_t)files.rlim_cur);
    show_limit(call, "control_clients", call->client->control->count,
               CONTROL_CLIENTS);
    return CONTROL_DONE;
}

/* ---- metrics ---- */

static enum control_result
on_metrics(struct control_call *call)
{
    struct buf text;

    buf_init(&text, METRICS_SIZE);
    if (metrics_text(&text, METRIC_PROMETHEUS) == -1) {
        buf_clear(&text);
        return control_fail(call, "failed", "the metrics are too many");
    }
    control_lines(call, buf_str(&text));
    buf_clear(&text);
    return CONTROL_DONE;
}

const struct control_verb control_show_verbs[] = {
    { "version", NULL, "The version.", CONTROL_USER, 0, on_version },
    { "build", NULL, "How this weir was built, and its modules.", CONTROL_USER,
      0, on_build },
    { "show info", NULL, "What there is to know in a few numbers.",
      CONTROL_USER, 0, on_info },
    { "show proc", NULL, "Processes of all generations.", CONTROL_USER, 0,
      on_proc },
    { "show listeners", NULL, "Addresses, and connections that wait there.",
      CONTROL_USER, 0, on_listeners },
    { "show config", "[changed]",
      "The settings in force, secrets masked; changed: those that differ from "
      "their defaults.",
      CONTROL_OPERATOR, 1, on_config },
    { "show limits", NULL, "What is in use of what is limited.", CONTROL_USER,
      0, on_limits },
    { "show metrics", NULL, "All numbers, in the format of Prometheus.",
      CONTROL_USER, 0, on_metrics },
    { .words = NULL },
};

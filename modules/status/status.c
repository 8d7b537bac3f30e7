/*
 * Answers for load balancers and orchestrators: /healthz (does the process
 * answer at all), /readyz (may it be sent traffic), /startupz (did it finish
 * starting).  And for Prometheus: /metrics (metrics.c).
 *
 * Each worker answers for itself and for the state that it shares with the
 * others.  That it drains is no reason to send traffic elsewhere: its
 * successors serve, or the node as a whole leaves.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "status.h"

#include <stdio.h>
#include <string.h>

#include "app/node_state.h"
#include "app/roles.h"
#include "app/store_role.h"
#include "app/worker.h"
#include "conf/rows.h"
#include "http/escape.h"
#include "live/live.h"
#include "proc/slot.h"
#include "store/store.h"

#define TEXT "text/plain; charset=utf-8"
#define ANSWER_MAX 4096
#define RETRY_AFTER "5" /* seconds */
#define MEMORY_FULL 95  /* percent of the arena that are too much */
#define CHECK_TEXT 80

struct status_settings {
    struct conf_strings metrics_access;
    struct conf_strings degraded;
};

/* Those of ready_checks that a node may fail and be ready all the same. */
static int
check_degraded(struct str name, struct errmsg *err)
{
    if (str_eq(name, STR("connections")) || str_eq(name, STR("memory")) ||
        str_eq(name, STR("store"))) {
        return 0;
    }
    return errmsg_set(err,
                      "\"%.*s\" must be \"connections\", \"memory\" or "
                      "\"store\"",
                      STR_ARGS(name));
}

static const struct conf_key keys[] = {
    ROW(status_settings, metrics_access, CONF_STRINGS,
        .preset = "allow loopback,deny all", .check = access_check_rule,
        .help = "Clients that may GET /metrics, as in access."),
    ROW(status_settings, degraded, CONF_STRINGS, .preset = "",
        .check = check_degraded,
        .help =
            "Checks (connections, memory, store) that make the node degraded "
            "when they fail, not unready: /readyz tells so, with 200."),
    CONF_END,
};

struct check {
    const char *name;
    bool ok;
    char text[CHECK_TEXT]; /* what is so when it is not */
};

/* ---- what is looked at ---- */

static struct check
check_shutdown(const struct status *s)
{
    (void)s;
    return (struct check){
        "shutdown",
        slot_state(0) != SLOT_DRAINING,
        "shutting down",
    };
}

static bool
is_ready_worker(uint32_t i)
{
    return atomic_load(&slot_card(i)->kind) == SLOT_WORKER &&
           slot_state(i) == SLOT_READY;
}

static struct check
check_state(const struct status *s)
{
    enum node_state state = node_state();
    struct check c = { "state", state == NODE_READY, "" };

    (void)s;
    snprintf(c.text, sizeof(c.text), "state %s", node_state_name(state));
    return c;
}

static struct check
check_connections(const struct status *s)
{
    uint64_t open = slot_connections(slot_self());
    int64_t limit = s->worker->generation->settings->worker_connections;
    struct check c = { "connections", open < (uint64_t)limit, "" };

    snprintf(c.text, sizeof(c.text), "%llu of %lld connections are in use",
             (unsigned long long)open, (long long)limit);
    return c;
}

static struct check
check_memory(const struct status *s)
{
    struct live_memory_view v;
    struct check c = { "memory", true, "" };

    (void)s;
    live_memory(&v);
    c.ok = v.used * 100 < v.segments * MEMORY_FULL;
    snprintf(c.text, sizeof(c.text), "%llu of %llu segments are in use",
             (unsigned long long)v.used, (unsigned long long)v.segments);
    return c;
}

static struct check
check_store(const struct status *s)
{
    bool full = store_is_full();
    struct check c = { "store", !full && !store_is_down(), "" };

    (void)s;
    snprintf(c.text, sizeof(c.text), "%s",
             full ? store_status_text(STORE_FULL)
                  : "the store does not answer");
    return c;
}

struct names {
    char *text;
    size_t size, len;
};

static void
add_name(void *arg, const struct role *r)
{
    struct names *n = arg;

    if (n->len > 0) {
        n->len = str_append(n->text, n->size, n->len, STR(", "));
    }
    n->len = str_append(n->text, n->size, n->len, str_from(r->name));
}

/* Processes that cannot start: the log and weirctl show proc say why. */
static struct check
check_roles(const struct status *s)
{
    struct check c = { "roles", true, "" };
    struct names n = { c.text, sizeof(c.text), 0 };

    (void)s;
    roles_each_failing(add_name, &n);
    c.ok = n.len == 0;
    if (!c.ok) {
        str_append(c.text, sizeof(c.text), n.len, STR(" cannot start"));
    }
    return c;
}

/* Workers of this generation that serve. */
static unsigned
count_ready(uint32_t generation)
{
    unsigned n = 0;

    for (uint32_t i = 1; i < slots_count(); i++) {
        n += is_ready_worker(i) &&
             atomic_load(&slot_card(i)->generation) == generation;
    }
    return n;
}

static struct check
check_started(const struct status *s)
{
    const struct generation *g = s->worker->generation;
    unsigned ready = s->started ? g->workers : count_ready(g->number);
    struct check c = { "workers", ready >= g->workers, "" };

    snprintf(c.text, sizeof(c.text), "%u of %u workers are ready", ready,
             g->workers);
    return c;
}

typedef struct check look_at(const struct status *s);

static look_at *const ready_checks[] = {
    check_shutdown, check_state, check_connections,
    check_memory,   check_roles, check_store,
};
static look_at *const started_checks[] = { check_started };

#define CHECKS_MAX (sizeof(ready_checks) / sizeof(ready_checks[0]))

/* ---- answers ---- */

struct report {
    const char *good, *bad; /* status */
    struct check checks[CHECKS_MAX];
    size_t count;
    bool ok;
    bool degraded; /* some fail, but none that counts */
};

/* Of a report as a whole. */
static const char *
verdict(const struct report *r)
{
    return !r->ok ? r->bad : r->degraded ? "degraded" : r->good;
}

/* A service that cannot start takes nothing else down. */
static bool
is_counted(const struct status *s, const struct check *c)
{
    bool no_keeper = roles_is_failing(store_roles);

    if (strcmp(c->name, "roles") == 0 ||
        (strcmp(c->name, "store") == 0 && no_keeper)) {
        return false;
    }
    for (size_t i = 0; i < s->degraded->count; i++) {
        if (str_eq(s->degraded->items[i], str_from(c->name))) {
            return false;
        }
    }
    return true;
}

static struct report
look(const struct status *s, look_at *const *checks, size_t count)
{
    struct report r = { .count = count, .ok = true };

    for (size_t i = 0; i < count; i++) {
        struct check *c = &r.checks[i];

        *c = checks[i](s);
        r.degraded |= !c->ok;
        r.ok &= c->ok || !is_counted(s, c);
    }
    return r;
}

static void
write_json(struct buf *b, const struct report *r)
{
    buf_printf(b, "{\"status\":\"%s\",\"checks\":[", verdict(r));
    for (size_t i = 0; i < r->count; i++) {
        const struct check *c = &r->checks[i];

        buf_printf(b, "%s{\"name\":\"%s\",\"ok\":%s", i > 0 ? "," : "", c->name,
                   c->ok ? "true" : "false");
        if (!c->ok) {
            buf_add_str(b, STR(",\"text\":"));
            http_json_string(b, str_from(c->text));
        }
        buf_add(b, "}", 1);
    }
    buf_add_str(b, STR("]}\n"));
}

/* One line: ready, or the first reason why not. */
static void
write_line(struct buf *b, const struct status *s, const struct report *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct check *c = &r->checks[i];

        if (!c->ok && (r->ok || is_counted(s, c))) {
            buf_printf(b, "%s%s\n", r->ok ? "degraded: " : "", c->text);
            return;
        }
    }
    buf_printf(b, "%s\n", r->good);
}

static void
write_verbose(struct buf *b, const struct report *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct check *c = &r->checks[i];

        buf_printf(b, "[%c] %s: %s\n", c->ok ? '+' : '-', c->name,
                   c->ok ? "ok" : c->text);
    }
    buf_printf(b, "%s\n", verdict(r));
}

static bool
wants_json(const struct http_request *r)
{
    const struct str *accept = http_header(r, "Accept");
    struct str rest = accept != NULL ? *accept : STR_NONE;

    while (rest.len > 0) {
        struct str type = str_cut(&rest, ',');

        if (str_eq_nocase(str_trim(str_cut(&type, ';')),
                          STR("application/json"))) {
            return true;
        }
    }
    return false;
}

static enum http_result
answer(struct http_request *r, const struct status *s,
       const struct report *report)
{
    bool json = wants_json(r);
    struct str ignored;
    struct buf b;

    buf_init(&b, ANSWER_MAX);
    if (json) {
        write_json(&b, report);
    } else if (http_query(r, "verbose", &ignored)) {
        write_verbose(&b, report);
    } else {
        write_line(&b, s, report);
    }
    http_set_header(r, "Cache-Control", STR("no-store"));
    if (!report->ok) {
        http_set_header(r, "Retry-After", STR(RETRY_AFTER));
    }
    http_reply(r, report->ok ? 200 : 503, json ? "application/json" : TEXT,
               buf_str(&b));
    buf_clear(&b);
    return HTTP_DONE;
}

static enum http_result
on_healthz(struct http_request *r, void *state)
{
    const struct report report = { .good = "ok", .bad = "", .ok = true };

    return answer(r, state, &report);
}

static enum http_result
on_readyz(struct http_request *r, void *state)
{
    struct report report = look(state, ready_checks, CHECKS_MAX);

    report.good = "ready";
    report.bad = "not ready";
    return answer(r, state, &report);
}

static enum http_result
on_startupz(struct http_request *r, void *state)
{
    struct status *s = state;
    struct report report = look(s, started_checks, 1);

    s->started |= report.ok;
    report.good = "started";
    report.bad = "starting";
    return answer(r, s, &report);
}

static const struct http_route routes[] = {
    { .method = "GET", .path = "/healthz", .handler = on_healthz },
    { .method = "GET", .path = "/readyz", .handler = on_readyz },
    { .method = "GET", .path = "/startupz", .handler = on_startupz },
    { .method = "GET", .path = "/metrics", .handler = status_metrics },
    { .path = NULL },
};

/* ---- life ---- */

static int
start(const struct module_layer *layer, void **state,
      const struct http_route **r, struct errmsg *err)
{
    const struct status_settings *settings = layer->settings;
    struct pool *pool = layer->worker->pool;
    struct status *s = pool_zero(pool, sizeof(*s));

    (void)r;
    (void)err;
    s->worker = layer->worker;
    s->metrics_access = access_parse(pool, settings->metrics_access.items,
                                     settings->metrics_access.count);
    s->degraded = &settings->degraded;
    *state = s;
    return 0;
}

const struct module status_module = {
    .name = "status",
    .about = "answers GET /healthz, /readyz, /startupz and /metrics",
    .keys = keys,
    .settings_size = sizeof(struct status_settings),
    .start = start,
    .routes = routes,
};

/*
 * Opening, closing, connecting.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "upstream_identity.h"
#include "upstream_impl.h"

#include "app/worker.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/addr.h"
#include "net/egress.h"

#define TICK_MS 500

/* Of this process: a worker. */
static struct {
    struct list all;           /* struct upstream */
    struct resolver *resolver; /* owned; while there is one */
} own = { { &own.all, &own.all }, NULL };

/* ---- what clients share ---- */

/* Of all upstreams of this worker. */
static void
tell_sizes(void)
{
    int64_t open = 0, queue = 0;

    LIST_EACH (node, &own.all) {
        const struct upstream *u = LIST_ITEM(node, struct upstream, link);

        queue += u->settings->queue;
        for (size_t i = 0; i < u->count; i++) {
            open += u->servers[i].settings->max_connections;
        }
    }
    tally_set_size(&upstream_pools[UPSTREAM_POOL_OPEN], open);
    tally_set_size(&upstream_pools[UPSTREAM_POOL_QUEUE], queue);
}

/* ---- looking now and then ---- */

void
upstream_let_go(struct server *s)
{
    struct upstream *u = s->seen.upstream;

    s->seen.epoch++;
    if (u->on_changed != NULL) {
        u->on_changed(&s->seen);
    }
}

static bool
is_away(const struct server *s, int64_t now)
{
    return servers_is_drained(s->place) || upstream_checked_down(s) ||
           servers_gate(s->place, now) != SERVER_OPEN;
}

static void
on_tick(struct timer *t)
{
    struct upstream *u = LIST_ITEM(t, struct upstream, tick);
    int64_t now = loop_now(u->loop);

    for (size_t i = 0; i < u->count; i++) {
        struct server *s = &u->servers[i];
        bool away = is_away(s, now);

        if (away && !s->away) {
            upstream_let_go(s);
        }
        s->away = away;
        upstream_names_tick(s, now);
        servers_tell_open(s->place);
    }
    upstream_choose_tick(u);
    timer_set(u->loop, t, TICK_MS);
}

/* ---- opening ---- */

static struct upstream *
find_open(struct str name)
{
    LIST_EACH (node, &own.all) {
        struct upstream *u = LIST_ITEM(node, struct upstream, link);

        if (str_eq(u->settings->name, name)) {
            return u;
        }
    }
    return NULL;
}

/* As a client writes it in Host. */
static struct str
authority_of(const struct upstream *u, const struct server *s)
{
    bool six = str_find(s->at.host, ':', 0) < s->at.host.len;
    uint16_t usual = u->settings->tls.count > 0 ? 443 : 80;
    struct str host;

    if (s->at.path.len > 0) {
        return STR("localhost");
    }
    host = pool_printf(u->pool, six ? "[%.*s]" : "%.*s", STR_ARGS(s->at.host));
    return s->at.port == usual
               ? host
               : pool_printf(u->pool, "%.*s:%u", STR_ARGS(host), s->at.port);
}

static int
open_server(struct upstream *u, size_t i, struct errmsg *err)
{
    struct server *s = &u->servers[i];
    struct addr a;

    s->settings = upstream_server_at(u->settings, i);
    if (upstream_parse_address(u->pool, s->settings->address, &s->at, err) ==
        -1) {
        return -1;
    }
    s->place = servers_find(u->settings->name, s->settings->address);
    if (s->place == -1) {
        return errmsg_set(err, "there is no room for server %.*s",
                          STR_ARGS(s->settings->address));
    }
    s->rules = (struct server_rules){ s->settings->max_fails,
                                      s->settings->fail_timeout };
    if (u->count == 1) {
        s->rules.max_fails = 0; /* another one would have to be there */
    }
    s->named = s->at.host.len > 0 && addr_parse_ip(s->at.host, &a) == -1;
    s->seen = (struct upstream_server){
        .upstream = u,
        .name = s->settings->address,
        .place = (unsigned)i,
        .authority = authority_of(u, s),
        .tls = u->settings->tls.count > 0,
    };
    u->has_backups |= s->settings->backup;
    return 0;
}

static int
open_servers(struct upstream *u, struct errmsg *err)
{
    u->count = u->settings->servers.count;
    u->servers = pool_zero(u->pool, u->count * sizeof(*u->servers));
    for (size_t i = 0; i < u->count; i++) {
        if (open_server(u, i, err) == -1) {
            return -1;
        }
    }
    return 0;
}

static int
open_tls(struct upstream *u, struct errmsg *err)
{
    const struct upstream_tls_settings *t = upstream_tls_of(u->settings);

    if (t == NULL) {
        return 0;
    }
    struct tls_client_options o = { .ca = t->ca, .insecure = t->insecure };

    if (upstream_identity(t, &o.identity, err) == -1) {
        return -1;
    }
    u->tls = tls_client_new(&o, err);
    return u->tls == NULL ? -1 : 0;
}

static void
free_upstream(struct upstream *u)
{
    struct pool *pool = u->pool;

    for (size_t i = 0; i < u->count; i++) {
        upstream_names_clear(&u->servers[i]);
    }
    upstream_queue_clear(u);
    upstream_choose_clear(u);
    timer_stop(u->loop, &u->tick);
    list_remove(&u->link);
    tls_client_free(&u->tls);
    if (list_empty(&own.all)) {
        resolver_free(&own.resolver);
    }
    pool_free(&pool);
}

static struct upstream *
make(struct worker *w)
{
    struct pool *pool = pool_new(4096);
    struct upstream *u = pool_zero(pool, sizeof(*u));
    const struct settings *s = w->generation->settings;

    u->pool = pool;
    u->loop = w->loop;
    u->egress = egress_parse(pool, s->egress.items, s->egress.count);
    timer_init(&u->tick, on_tick);
    upstream_queue_init(u);
    list_append(&own.all, &u->link);
    return u;
}

static int
open_all(struct upstream *u, const struct settings *s, struct str name,
         struct errmsg *err)
{
    static const struct resolver_options usual = { .servers = NULL };

    u->settings = upstream_find(s, u->pool, name, err);
    if (u->settings == NULL) {
        return -1;
    }
    if (own.resolver == NULL) {
        own.resolver = resolver_new(u->loop, &usual, err);
    }
    u->resolver = own.resolver;
    u->keep = (struct upstream_keep){ u->settings->keepalive,
                                      u->settings->keepalive_timeout,
                                      u->settings->keepalive_requests };
    return u->resolver == NULL || open_tls(u, err) == -1 ||
                   open_servers(u, err) == -1
               ? -1
               : 0;
}

struct upstream *
upstream_open(struct worker *w, struct str name, struct errmsg *err)
{
    struct upstream *u = find_open(name);

    if (u == NULL) {
        u = make(w);
        if (open_all(u, w->generation->settings, name, err) == -1) {
            errmsg_prefix(err, "upstream \"%.*s\": ", STR_ARGS(name));
            free_upstream(u);
            return NULL;
        }
        upstream_choose_tick(u);
        tell_sizes();
        timer_set(u->loop, &u->tick, 0);
    }
    u->layers++;
    return u;
}

void
upstream_close(struct upstream **at)
{
    struct upstream *u = *at;

    *at = NULL;
    if (u == NULL || --u->layers > 0) {
        return;
    }
    for (size_t i = 0; u->on_gone != NULL && i < u->count; i++) {
        u->on_gone(&u->servers[i].seen);
    }
    free_upstream(u);
}

void
upstream_on_change(struct upstream *u, upstream_changed *on_changed,
                   upstream_changed *on_gone)
{
    u->on_changed = on_changed;
    u->on_gone = on_gone;
}

/* ---- looking at it ---- */

struct str
upstream_name(const struct upstream *u)
{
    return u->settings->name;
}

size_t
upstream_count(const struct upstream *u)
{
    return u->count;
}

struct upstream_server *
upstream_at(struct upstream *u, size_t i)
{
    return &u->servers[i].seen;
}

const struct upstream_keep *
upstream_keep(const struct upstream *u)
{
    return &u->keep;
}

/* ---- connecting ---- */

struct outgoing *
upstream_connect(struct upstream_server *server, int64_t timeout_ms,
                 outgoing_handler *handler, void *arg)
{
    const struct server *s = LIST_ITEM(server, struct server, seen);
    const struct upstream *u = server->upstream;
    const struct upstream_tls_settings *t = upstream_tls_of(u->settings);
    struct outgoing_target to = {
        .host = s->at.path.len > 0 ? STR("localhost") : s->at.host,
        .port = s->at.port,
        .path = s->at.path,
        .known = s->known.count > 0 ? &s->known : NULL,
        .tls_name = t != NULL ? t->server_name : STR_NONE,
        .resolver = u->resolver,
        .egress = u->egress,
        .tls = u->tls,
        .timeout_ms = timeout_ms,
    };

    return outgoing_start(u->loop, &to, handler, arg);
}

void
upstream_count_connection(struct upstream_server *server, int change)
{
    const struct server *s = LIST_ITEM(server, struct server, seen);

    servers_gauge(s->place, SERVER_CONNECTIONS, change);
}

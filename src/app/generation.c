/*
 * Loading and opening a configuration.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/generation.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/settings/names.h"
#include "base/log.h"
#include "base/mem.h"
#include "proc/logring.h"

struct generation *
generation_load(uint32_t number, const char *path, char **mistakes)
{
    struct conf *c = settings_load(path, mistakes);

    if (c == NULL) {
        return NULL;
    }
    struct generation *g = mem_zero(sizeof(*g));

    g->number = number;
    g->conf = c;
    g->settings = settings_of(c);
    g->workers = settings_workers(g->settings);
    return g;
}

static void
free_bindings(struct generation *g)
{
    for (size_t i = 0; i < g->binding_count; i++) {
        tls_context_free(&g->bindings[i].tls);
    }
    mem_free(&g->bindings);
    g->binding_count = 0;
}

void
generation_free(struct generation **g)
{
    if (*g == NULL) {
        return;
    }
    free_bindings(*g);
    generation_forget_logs(*g);
    conf_free(&(*g)->conf);
    mem_free(g);
}

/* ---- log files ---- */

#define USER_TIMEOUT_MS 30000

static bool
is_off(struct str log)
{
    return log.len == 0 || str_eq(log, STR("off"));
}

static int
open_access_log(struct str path, int *number, struct errmsg *err)
{
    *number = -1;
    if (is_off(path)) {
        return 0;
    }
    *number = logring_open(path, err);
    return *number == -1 ? errmsg_prefix(err, "access_log: ") : 0;
}

static size_t
count_servers(const struct settings *s)
{
    struct server_settings server;
    size_t n = 0;

    while (settings_server(s, n, &server)) {
        n++;
    }
    return n;
}

static int
open_logs(struct generation *g, struct errmsg *err)
{
    size_t n = count_servers(g->settings);
    struct server_settings server;

    generation_forget_logs(g);
    g->logs = mem_alloc((n + 1) * sizeof(*g->logs));
    for (size_t i = 0; i < n; i++) {
        g->logs[i] = -1;
    }
    for (size_t i = 0; settings_server(g->settings, i, &server); i++) {
        if (open_access_log(server.access_log, &g->logs[i], err) == -1) {
            return -1;
        }
    }
    return 0;
}

int
generation_access_log(const struct generation *g, enum server_kind kind,
                      size_t number)
{
    struct server_settings server;

    for (size_t i = 0; settings_server(g->settings, i, &server); i++) {
        if (server.kind == kind && server.number == number) {
            return g->logs[i];
        }
    }
    return -1;
}

void
generation_forget_logs(struct generation *g)
{
    mem_free(&g->logs);
}

bool
generation_writes(const struct generation *g, int log_file)
{
    size_t n = g->logs == NULL ? 0 : count_servers(g->settings);

    for (size_t i = 0; i < n; i++) {
        if (g->logs[i] == log_file) {
            return true;
        }
    }
    return false;
}

/* ---- listeners ---- */

static bool
is_bound(const struct generation *g, const struct listener *l)
{
    for (size_t i = 0; i < g->binding_count; i++) {
        if (g->bindings[i].listener == l) {
            return true;
        }
    }
    return false;
}

/* One that is open and that this generation has not taken yet.  Port 0 may
 * stand several times: there the protocol tells them apart. */
static struct listener *
find_open(const struct generation *g, struct list *listeners,
          const struct binding *b, const struct addr_listen *where)
{
    bool free_port = where->addr.family != AF_UNIX && where->addr.port == 0;

    LIST_EACH (node, listeners) {
        struct listener *l = LIST_ITEM(node, struct listener, link);

        if (l->retired && l->addr.family == AF_UNIX) {
            continue; /* its path is gone */
        }
        if (listener_is_at(l, where, b->settings->address) &&
            (!free_port ||
             str_eq(str_from(l->proto), str_from(b->server.proto))) &&
            !is_bound(g, l)) {
            return l;
        }
    }
    return NULL;
}

static bool
overlaps_one(struct list *listeners, const struct addr_listen *where)
{
    LIST_EACH (node, listeners) {
        if (listener_overlaps(LIST_ITEM(node, struct listener, link), where)) {
            return true;
        }
    }
    return false;
}

bool
generation_would_have(struct list *listeners, const struct addr_listen *where)
{
    const struct listen_options beside = { .beside = true };
    struct errmsg ignored;

    LIST_EACH (node, listeners) {
        const struct listener *l = LIST_ITEM(node, struct listener, link);

        if (listener_is_at(l, where, STR_NONE)) {
            return true;
        }
    }
    return overlaps_one(listeners, where) &&
           listener_try(where, "", &beside, &ignored) == 0;
}

/* The kernel gives a peer up that takes nothing, or acknowledges nothing,
 * for so long: not before weir itself would. */
static int64_t
user_timeout(const struct server_settings *s)
{
    if (s->send_timeout == 0) {
        return 0;
    }
    return s->send_timeout > USER_TIMEOUT_MS ? s->send_timeout
                                             : USER_TIMEOUT_MS;
}

static struct listen_options
options_of(const struct generation *g, const struct binding *b)
{
    const struct listen_settings *s = b->settings;

    return (struct listen_options){
        .backlog = (int)s->backlog,
        .sockets = g->workers,
        .later = true,
        .ip6only = s->ipv6only,
        .keep_alive = s->so_keepalive,
        .user_timeout_ms = user_timeout(&b->server),
        .rcvbuf = s->rcvbuf,
        .sndbuf = s->sndbuf,
        .deferred = s->deferred,
        .freebind = s->freebind,
    };
}

static int
bind_address(struct generation *g, struct list *listeners, struct binding *b,
             struct errmsg *err)
{
    struct str name = b->settings->address;
    struct listen_options o = options_of(g, b);
    struct addr_listen where;

    if (addr_parse_listen(name, &where, err) == -1) {
        return -1;
    }
    b->listener = find_open(g, listeners, b, &where);
    if (b->listener != NULL) {
        return listener_grow(b->listener, g->workers, err);
    }
    o.beside = overlaps_one(listeners, &where);
    /* Strings of a configuration have a NUL behind them. */
    b->listener = listener_open(&where, name.ptr, b->server.proto, &o, err);
    if (b->listener == NULL) {
        return -1;
    }
    b->opened = true;
    list_append(listeners, &b->listener->link);
    return 0;
}

/* An earlier server of HTTP has the address, too. */
static bool
joins(const struct generation *g, const struct binding *b)
{
    return b->server.kind == SERVER_HTTP &&
           settings_http_joins(&g->settings->http, b->server.number,
                               b->settings->address);
}

/* Servers of HTTP at one address: one of them says what the socket is like. */
static void
share_address(const struct generation *g, struct binding *b)
{
    struct pool *pool = pool_new(1024);
    size_t count;
    const struct http_at *all = settings_http_at(pool, &g->settings->http,
                                                 b->settings->address, &count);
    const struct http_at *says = settings_http_socket(all, count);

    b->settings = says->listen;
    b->server.trusted_proxies = &says->server->trusted_proxies;
    b->server.number = all[0].number;
    b->server.where = &all[0].server->where;
    pool_free(&pool);
}

static int
open_tls(const struct generation *g, struct binding *b, struct errmsg *err)
{
    struct pool *pool = conf_pool(g->conf);
    const struct http_at *all;
    size_t count;

    if (b->server.kind != SERVER_HTTP) {
        return settings_tls(b->settings, false, &b->tls, err);
    }
    all = settings_http_at(pool, &g->settings->http, b->settings->address,
                           &count);
    return settings_http_tls(pool, all, count, &b->tls, err);
}

/* Binds all addresses of one server. */
static int
bind_server(struct generation *g, struct list *listeners,
            const struct server_settings *server, struct errmsg *err)
{
    for (size_t i = 0; i < server->listen->count; i++) {
        struct binding b = { .server = *server,
                             .settings = settings_listen(server->listen, i) };

        if (joins(g, &b)) {
            continue;
        }
        b.server.place = g->binding_count;
        if (server->kind == SERVER_HTTP) {
            share_address(g, &b);
        }
        if (bind_address(g, listeners, &b, err) == -1) {
            return -1;
        }
        g->bindings[g->binding_count++] = b;
        if (open_tls(g, &g->bindings[b.server.place], err) == -1) {
            return errmsg_prefix(err, "tls: ");
        }
    }
    return 0;
}

static size_t
count_addresses(const struct settings *s)
{
    struct server_settings server;
    size_t n = 0;

    for (size_t i = 0; settings_server(s, i, &server); i++) {
        n += server.listen->count;
    }
    return n;
}

static int
bind_all(struct generation *g, struct list *listeners, struct errmsg *err)
{
    size_t most = count_addresses(g->settings) + 1;
    struct server_settings server;

    g->bindings = mem_zero(most * sizeof(*g->bindings));
    for (size_t i = 0; settings_server(g->settings, i, &server); i++) {
        if (bind_server(g, listeners, &server, err) == -1) {
            return -1;
        }
    }
    return 0;
}

void
generation_unopen(struct generation *g, struct list *listeners)
{
    for (size_t i = 0; i < g->binding_count; i++) {
        struct binding *b = &g->bindings[i];

        if (b->opened) {
            listener_close(&b->listener);
        }
    }
    LIST_EACH (node, listeners) {
        listener_shrink(LIST_ITEM(node, struct listener, link));
    }
    free_bindings(g);
}

int
generation_open(struct generation *g, struct list *listeners,
                struct errmsg *err)
{
    int why;

    if (open_logs(g, err) == 0 && bind_all(g, listeners, err) == 0) {
        return 0;
    }
    why = errno;
    generation_unopen(g, listeners);
    errno = why;
    return -1;
}

int
generation_listen(struct generation *g, struct errmsg *err)
{
    for (size_t i = 0; i < g->binding_count; i++) {
        if (listener_start(g->bindings[i].listener, err) == -1) {
            return -1;
        }
    }
    return 0;
}

void
generation_keep_listeners(struct generation *g)
{
    for (size_t i = 0; i < g->binding_count; i++) {
        const struct binding *b = &g->bindings[i];
        struct listen_options o = options_of(g, b);

        listener_keep(b->listener);
        listener_tune(b->listener, &o);
        b->listener->proto = b->server.proto;
        str_copy(b->listener->name, sizeof(b->listener->name),
                 b->settings->address);
    }
}

void
generation_retire_others(const struct generation *keep, struct list *listeners)
{
    LIST_EACH (node, listeners) {
        struct listener *l = LIST_ITEM(node, struct listener, link);

        if (!l->retired && (keep == NULL || !is_bound(keep, l))) {
            listener_retire(l);
        }
    }
}

bool
generation_some_retire(const struct list *listeners)
{
    LIST_EACH (node, listeners) {
        if (LIST_ITEM(node, struct listener, link)->retired) {
            return true;
        }
    }
    return false;
}

bool
generation_close_retired(const struct generation *next, struct list *listeners)
{
    bool left = false;

    LIST_EACH (node, listeners) {
        struct listener *l = LIST_ITEM(node, struct listener, link);

        if (l->retired && next != NULL && is_bound(next, l)) {
            left = true;
        } else if (l->retired) {
            listener_close(&l);
        }
    }
    return left;
}

void
generation_close_all(struct list *listeners)
{
    LIST_EACH (node, listeners) {
        struct listener *l = LIST_ITEM(node, struct listener, link);

        listener_close(&l);
    }
}

/* Whether the kernel encrypts, if anybody asked it to. */
static void
announce_kernel_tls(const struct generation *g)
{
    for (size_t i = 0; i < g->binding_count; i++) {
        const struct binding *b = &g->bindings[i];

        if (b->tls != NULL && settings_wants_ktls(b->settings)) {
            int why = tls_kernel_support();

            log_info("kernel TLS is %s%s", why == 0 ? "" : "not there: ",
                     why == 0 ? "there" : strerror(why));
            return;
        }
    }
}

/* ---- who accepts on what ---- */

bool
generation_gives(const struct generation *g, const struct listener *l,
                 unsigned socket, uint32_t index)
{
    return l->addr.family == AF_UNIX || socket % g->workers == index;
}

int *
generation_sockets(const struct generation *g, uint32_t index, size_t *count)
{
    size_t most = 1;

    for (size_t i = 0; i < g->binding_count; i++) {
        most += g->bindings[i].listener->count;
    }
    int *fds = mem_alloc(most * sizeof(*fds));

    *count = 0;
    for (size_t i = 0; i < g->binding_count; i++) {
        const struct listener *l = g->bindings[i].listener;

        for (unsigned k = 0; k < l->count; k++) {
            if (generation_gives(g, l, k, index)) {
                fds[(*count)++] = l->fds[k];
            }
        }
    }
    return fds;
}

void
generation_announce(const struct generation *g)
{
    char text[ADDR_TEXT];

    for (size_t i = 0; i < g->binding_count; i++) {
        const struct binding *b = &g->bindings[i];
        const struct listener *l = b->listener;
        const char *s = b->tls == NULL ? "" : "s";

        if (!b->opened) {
            continue;
        }
        if (l->addr.family == AF_UNIX) {
            log_notice("listening on %s%s unix:%s", b->server.proto, s,
                       l->path);
        } else {
            log_notice("listening on %s%s %s", b->server.proto, s,
                       addr_text(&l->addr, text));
        }
        if (b->tls != NULL) {
            tls_context_warn(b->tls);
        }
    }
    announce_kernel_tls(g);
}

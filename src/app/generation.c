/*
 * Loading and opening a configuration.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/generation.h"

#include <errno.h>
#include <stdio.h>

#include "app/metrics.h"
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

void
generation_free(struct generation **g)
{
    if (*g == NULL) {
        return;
    }
    mem_free(&(*g)->bindings);
    mem_free(&(*g)->access_logs);
    mem_free(&(*g)->rtmp_logs);
    conf_free(&(*g)->conf);
    mem_free(g);
}

/* ---- log files ---- */

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

static int
open_access_logs(struct generation *g, struct errmsg *err)
{
    const struct settings *s = g->settings;
    size_t http = s->http.servers.count, rtmp = s->rtmp.servers.count;

    g->access_logs = mem_zero((http + 1) * sizeof(*g->access_logs));
    g->rtmp_logs = mem_zero((rtmp + 1) * sizeof(*g->rtmp_logs));
    for (size_t i = 0; i < http; i++) {
        if (open_access_log(settings_http_server(&s->http, i)->access_log,
                            &g->access_logs[i], err) == -1) {
            return -1;
        }
    }
    for (size_t i = 0; i < rtmp; i++) {
        if (open_access_log(settings_rtmp_server(&s->rtmp, i)->access_log,
                            &g->rtmp_logs[i], err) == -1) {
            return -1;
        }
    }
    return 0;
}

static int
open_logs(struct generation *g, struct errmsg *err)
{
    /* The first file that is opened is the error log: number 0. */
    if (logring_open(g->settings->error_log.file, err) == -1) {
        return errmsg_prefix(err, "error_log: ");
    }
    return open_access_logs(g, err);
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

/* One that is open and that this generation has not taken yet: the same text
 * may stand several times when the port is 0. */
static struct listener *
find_open(const struct generation *g, struct list *listeners, const char *proto,
          struct str name)
{
    LIST_EACH (node, listeners) {
        struct listener *l = LIST_ITEM(node, struct listener, link);

        if (str_eq(str_from(l->proto), str_from(proto)) &&
            str_eq(str_from(l->name), name) && !is_bound(g, l)) {
            return l;
        }
    }
    return NULL;
}

static struct listener *
open_listener(const struct generation *g, struct list *listeners,
              const char *proto, struct str name, struct errmsg *err)
{
    struct listener *l = find_open(g, listeners, proto, name);
    const struct listen_options o = { .sockets = g->workers };
    struct addr_listen where;

    if (l != NULL) {
        return l;
    }
    if (addr_parse_listen(name, &where, err) == -1) {
        return NULL;
    }
    /* Strings of a configuration have a NUL behind them. */
    l = listener_open(&where, name.ptr, proto, &o, err);
    if (l != NULL) {
        list_append(listeners, &l->link);
    }
    return l;
}

/* Binds all addresses of one server. */
static int
bind_server(struct generation *g, struct list *listeners, const char *proto,
            size_t server, const struct conf_groups *listen, struct errmsg *err)
{
    for (size_t i = 0; i < listen->count; i++) {
        const struct listen_settings *s = settings_listen(listen, i);
        struct listener *l =
            open_listener(g, listeners, proto, s->address, err);

        if (l == NULL) {
            return -1;
        }
        g->bindings[g->binding_count++] =
            (struct binding){ .listener = l, .settings = s, .server = server };
    }
    return 0;
}

static size_t
count_addresses(const struct settings *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->rtmp.servers.count; i++) {
        n += settings_rtmp_server(&s->rtmp, i)->listen.count;
    }
    for (size_t i = 0; i < s->http.servers.count; i++) {
        n += settings_http_server(&s->http, i)->listen.count;
    }
    return n;
}

static int
bind_all(struct generation *g, struct list *listeners, struct errmsg *err)
{
    const struct settings *s = g->settings;

    g->bindings = mem_zero((count_addresses(s) + 1) * sizeof(*g->bindings));
    for (size_t i = 0; i < s->rtmp.servers.count; i++) {
        const struct rtmp_server_settings *r =
            settings_rtmp_server(&s->rtmp, i);

        if (bind_server(g, listeners, "rtmp", i, &r->listen, err) == -1) {
            return -1;
        }
    }
    for (size_t i = 0; i < s->http.servers.count; i++) {
        const struct http_server_settings *h =
            settings_http_server(&s->http, i);

        if (bind_server(g, listeners, "http", i, &h->listen, err) == -1) {
            return -1;
        }
    }
    return 0;
}

/* Closes the listeners behind last: the newest. */
static void
close_behind(struct list *listeners, const struct list *last)
{
    while (listeners->prev != last && !list_empty(listeners)) {
        struct listener *l = LIST_ITEM(listeners->prev, struct listener, link);

        list_remove(&l->link);
        listener_close(&l);
    }
}

int
generation_open(struct generation *g, struct list *listeners,
                struct errmsg *err)
{
    const struct list *last = listeners->prev;

    int why;

    if (open_logs(g, err) == 0 && bind_all(g, listeners, err) == 0) {
        metrics_learn(g);
        return 0;
    }
    why = errno;
    close_behind(listeners, last);
    mem_free(&g->bindings);
    mem_free(&g->access_logs);
    mem_free(&g->rtmp_logs);
    g->binding_count = 0;
    errno = why;
    return -1;
}

void
generation_close_others(const struct generation *keep, struct list *listeners)
{
    LIST_EACH (node, listeners) {
        struct listener *l = LIST_ITEM(node, struct listener, link);

        if (keep == NULL || !is_bound(keep, l)) {
            list_remove(&l->link);
            listener_close(&l);
        }
    }
}

void
generation_announce(const struct generation *g)
{
    char text[ADDR_TEXT];

    for (size_t i = 0; i < g->binding_count; i++) {
        const struct listener *l = g->bindings[i].listener;

        if (l->addr.family == AF_UNIX) {
            log_notice("listening on %s unix:%s", l->proto, l->path);
        } else {
            log_notice("listening on %s %s", l->proto,
                       addr_text(&l->addr, text));
        }
    }
}

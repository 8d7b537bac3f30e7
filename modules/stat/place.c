/*
 * Listeners and what stands behind them, as JSON.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "place.h"

#include <stdio.h>

#include "app/generation.h"
#include "app/module.h"
#include "base/pool.h"
#include "net/access.h"

#define LOCAL_MAX (ADDR_TEXT + 16)

static struct {
    const struct generation *generation; /* borrowed */
    char local[LOCAL_MAX];
} place;

static const struct http_location_settings *
location(const struct http_server_settings *s, size_t i)
{
    const struct http_location_settings *all = s->locations.items;

    return i < s->locations.count ? &all[i] : NULL;
}

static const char *
module_name(const struct conf_extra *layer)
{
    const struct module *m = layer->what;

    return m != NULL ? m->name : "";
}

/* ---- where this machine sees the statistics ---- */

static bool
has_module(const struct http_location_settings *l, const char *name)
{
    const struct conf_extra *layer;

    for (size_t i = 0; (layer = settings_http_layer(l, i)) != NULL; i++) {
        if (str_eq(str_from(module_name(layer)), str_from(name))) {
            return true;
        }
    }
    return false;
}

/* Whether clients on this machine may ask. */
static bool
lets_in(const struct http_location_settings *l)
{
    struct addr here = { .family = AF_INET, .ip = { 127, 0, 0, 1 } };
    struct pool *pool = pool_new(0);
    bool yes = l->auth.count == 0 &&
               access_allows(
                   access_parse(pool, l->access.items, l->access.count), &here);

    pool_free(&pool);
    return yes;
}

static bool
shows(const struct http_server_settings *s)
{
    const struct http_location_settings *l;
    bool stat = false, page = false;

    for (size_t i = 0; (l = location(s, i)) != NULL; i++) {
        page |= has_module(l, "static");
        stat |= str_eq(l->path, STR("/stat")) && has_module(l, "stat") &&
                lets_in(l);
    }
    return stat && page;
}

/* Whether it is one of this machine alone; *to is where a page of it is. */
static bool
write_local(const struct binding *b, char *to)
{
    const char *scheme = b->tls != NULL ? "https" : "http";
    const struct addr *a = &b->listener->addr;
    bool alone = !b->listener->any && addr_is_loopback(a);
    char text[ADDR_TEXT];

    if (a->family == AF_UNIX || b->settings->proxy_protocol) {
        return false;
    }
    if (b->listener->any) {
        snprintf(to, LOCAL_MAX, "%s://127.0.0.1:%u/", scheme, a->port);
    } else if (alone) {
        snprintf(to, LOCAL_MAX, "%s://%s/", scheme, addr_text(a, text));
    }
    return alone;
}

/* A listener of this machine alone is taken before one of every address. */
static void
find_local(const struct generation *g)
{
    for (size_t i = 0; i < g->binding_count; i++) {
        const struct binding *b = &g->bindings[i];

        if (b->server.kind == SERVER_HTTP &&
            shows(settings_http_server(&g->settings->http, b->server.number)) &&
            write_local(b, place.local)) {
            return;
        }
    }
}

void
place_found(const struct generation *g)
{
    if (place.generation == NULL) {
        place.generation = g;
        find_local(g);
    }
}

struct str
place_local(void)
{
    return str_from(place.local);
}

/* ---- as JSON ---- */

static void
put_listener(struct json_out *o, const struct binding *b)
{
    const struct listener *l = b->listener;
    char text[sizeof("unix:") + sizeof(l->path) + ADDR_TEXT];

    if (l->addr.family == AF_UNIX) {
        snprintf(text, sizeof(text), "unix:%s", l->path);
    } else {
        addr_text(&l->addr, text);
    }
    json_open(o);
    json_put_str(o, "address", str_from(text));
    json_put_bool(o, "any", l->any);
    json_put_bool(o, "tls", b->tls != NULL);
    json_put_bool(o, "proxy_protocol", b->settings->proxy_protocol);
    json_close(o);
}

static void
put_listeners(struct json_out *o, enum server_kind kind, size_t number)
{
    const struct generation *g = place.generation;

    json_key(o, "listen");
    json_open_array(o);
    for (size_t i = 0; i < g->binding_count; i++) {
        const struct binding *b = &g->bindings[i];

        if (b->server.kind == kind && b->server.number == number) {
            put_listener(o, b);
        }
    }
    json_close(o);
}

static void
put_rtmp(struct json_out *o, size_t i)
{
    const struct conf_groups *apps =
        &settings_rtmp_server(&place.generation->settings->rtmp, i)
             ->applications;
    const struct rtmp_application_settings *all = apps->items;

    json_open(o);
    put_listeners(o, SERVER_RTMP, i);
    json_key(o, "applications");
    json_open_array(o);
    for (size_t k = 0; k < apps->count; k++) {
        json_open(o);
        json_put_str(o, "name", all[k].name);
        json_put_str(o, "publish", all[k].publish);
        json_close(o);
    }
    json_close(o);
    json_close(o);
}

static void
put_location(struct json_out *o, const struct http_location_settings *l)
{
    const struct conf_extra *layer;

    json_open(o);
    json_put_str(o, "path", l->path);
    json_key(o, "modules");
    json_open_array(o);
    for (size_t i = 0; (layer = settings_http_layer(l, i)) != NULL; i++) {
        json_str(o, str_from(module_name(layer)));
    }
    json_close(o);
    json_close(o);
}

static void
put_http(struct json_out *o, size_t i)
{
    const struct http_server_settings *s =
        settings_http_server(&place.generation->settings->http, i);
    const struct http_location_settings *l;

    json_open(o);
    put_listeners(o, SERVER_HTTP, i);
    json_key(o, "locations");
    json_open_array(o);
    for (size_t k = 0; (l = location(s, k)) != NULL; k++) {
        put_location(o, l);
    }
    json_close(o);
    json_close(o);
}

/* Whether that server has this very layer. */
static bool
is_of(const struct http_server_settings *s, const void *layer)
{
    const struct http_location_settings *l;
    const struct conf_extra *e;

    for (size_t i = 0; (l = location(s, i)) != NULL; i++) {
        for (size_t k = 0; (e = settings_http_layer(l, k)) != NULL; k++) {
            if (e->settings == layer) {
                return true;
            }
        }
    }
    return false;
}

static void
put_here(struct json_out *o, const void *layer)
{
    const struct http_block *http = &place.generation->settings->http;

    for (size_t i = 0; i < http->servers.count; i++) {
        if (is_of(settings_http_server(http, i), layer)) {
            json_put_int(o, "here", (int64_t)i);
            return;
        }
    }
    json_put_null(o, "here");
}

void
place_write(struct json_out *o, const void *layer)
{
    const struct settings *s = place.generation->settings;

    json_key(o, "rtmp");
    json_open_array(o);
    for (size_t i = 0; i < s->rtmp.servers.count; i++) {
        put_rtmp(o, i);
    }
    json_close(o);
    json_key(o, "http");
    json_open_array(o);
    for (size_t i = 0; i < s->http.servers.count; i++) {
        put_http(o, i);
    }
    json_close(o);
    put_here(o, layer);
}

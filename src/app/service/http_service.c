/*
 * From settings to what http_accept() wants.
 *
 * Everything lies in the worker's pool but the list of started layers, which
 * says what has to be drained and stopped.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/service/http_service.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/module.h"
#include "app/service/http_filters.h"
#include "app/settings/names.h"
#include "app/settings/routing.h"
#include "base/mem.h"
#include "http/access_log.h"
#include "http/locate.h"
#include "http/metrics.h"
#include "net/access.h"
#include "sio/front.h"

/* A layer whose module was started. */
struct started {
    struct list link;
    const struct module *module;
    void *state; /* the module's */
};

struct http_service {
    struct worker *worker; /* borrowed */
    struct http_server *servers;
    struct http_address *addresses; /* by the bindings of the generation */
    struct str own_name;            /* of this host */
    struct list started;            /* struct started, in the pool */
    /* Of the layers within the layer that is being started, the first one. */
    http_error_body *inner;
    bool has_fronts; /* a layer has an endpoint of Socket.IO */
};

/* ---- layers ---- */

/* Those that were started of a list. */
struct layers {
    struct http_layer *items;
    size_t count;
};

/* With room for n that each have a front. */
static struct layers
make_layers(struct http_service *s, size_t n)
{
    return (struct layers){
        .items =
            pool_zero(s->worker->pool, (2 * n + 1) * sizeof(struct http_layer)),
    };
}

static int
start_module(struct http_service *s, const struct module *m,
             const struct module_layer *layer, struct http_layer *out,
             struct errmsg *err)
{
    const struct http_route *routes = m->routes;
    struct started *started = pool_zero(s->worker->pool, sizeof(*started));

    s->inner = NULL;
    if (m->start != NULL &&
        m->start(layer, &started->state, &routes, err) == -1) {
        return errmsg_prefix(err, "module %s at \"%.*s\": ", m->name,
                             STR_ARGS(layer->location));
    }
    started->module = m;
    list_append(&s->started, &started->link);
    *out = (struct http_layer){
        .module = m->name,
        .place = http_module_place(m->name),
        .routes = routes,
        .select = m->select,
        .state = started->state,
        .error_body = m->error_body != NULL ? m->error_body : s->inner,
    };
    if (m->describe != NULL) {
        m->describe(started->state, out);
    }
    return 0;
}

/* Socket.IO, if the layer has an endpoint, in front of it. */
static void
start_front(struct http_service *s, const struct conf_extra *extra,
            struct layers *out)
{
    const struct module *m = extra->what;
    struct sio_endpoint e = { .name = STR_NONE, .variant = STR_NONE };

    if (m->sio != NULL &&
        m->sio->endpoint(s->worker->pool, extra->settings, &e)) {
        sio_front_layer(sio_front_new(s->worker->pool, m->name, m->sio, &e,
                                      s->worker->generation->number),
                        &out->items[out->count++]);
        s->has_fronts = true;
    }
}

static int
start_layer(struct http_service *s, const struct module_layer *where,
            const struct conf_extra *extra, struct layers *out,
            struct errmsg *err)
{
    struct module_layer *layer = pool_zero(s->worker->pool, sizeof(*layer));

    *layer = *where;
    layer->worker = s->worker;
    layer->settings = extra->settings;
    layer->service = s;
    start_front(s, extra, out);
    return start_module(s, extra->what, layer, &out->items[out->count++], err);
}

int
http_service_layers(const struct module_layer *within,
                    const struct conf_groups *list,
                    const struct http_layer **out, size_t *count,
                    struct errmsg *err)
{
    struct http_service *s = within->service;
    const struct http_layer_settings *from = list->items;
    struct layers to = make_layers(s, list->count);
    http_error_body *first = s->inner;

    for (size_t i = 0; i < list->count; i++) {
        if (start_layer(s, within, &from[i].module, &to, err) == -1) {
            return -1;
        }
        first = first != NULL ? first : to.items[to.count - 1].error_body;
    }
    s->inner = first;
    *out = to.items;
    *count = to.count;
    return 0;
}

/* ---- locations ---- */

static size_t
count_layers(const struct http_location_settings *l)
{
    size_t n = 0;

    while (settings_http_layer(l, n) != NULL) {
        n++;
    }
    return n;
}

/* A layer that is no module's. */
static int
start_return(struct http_service *s, const struct http_location_settings *l,
             const struct http_location *made, struct layers *out,
             struct errmsg *err)
{
    const struct http_return *answer;

    if (settings_make_return(s->worker->pool, l, made, &answer, err) == -1) {
        return -1;
    }
    if (answer != NULL) {
        out->items[out->count++] = (struct http_layer){
            .module = "return",
            .routes = http_return_routes,
            .state = (void *)(uintptr_t)answer,
            .open = true,
            .vary = STR_NONE,
            .lines = STR_NONE,
        };
    }
    return 0;
}

static int
start_location(struct http_service *s, size_t server, size_t order,
               struct http_location *out, struct errmsg *err)
{
    const struct http_server_settings *h =
        settings_http_server(&s->worker->generation->settings->http, server);
    const struct http_location_settings *l =
        (const struct http_location_settings *)h->locations.items + order;
    struct pool *pool = s->worker->pool;
    size_t n = count_layers(l);
    struct layers layers = make_layers(s, n);

    *out = (struct http_location){
        .order = order,
        .access = access_parse(pool, l->access.items, l->access.count),
        .client_max_body_size = l->client_max_body_size == BODY_INHERIT
                                    ? h->client_max_body_size
                                    : l->client_max_body_size,
        .auth = l->made_auth,
    };
    http_filters_set(pool, server, l, out);
    if (settings_make_location(pool, l, out, err) == -1 ||
        start_return(s, l, out, &layers, err) == -1) {
        return -1;
    }
    const struct module_layer where = { .location = l->path,
                                        .pattern = out->pattern };

    for (size_t i = 0; i < n; i++) {
        if (start_layer(s, &where, settings_http_layer(l, i), &layers, err) ==
            -1) {
            return -1;
        }
    }
    out->layers = layers.items;
    out->layer_count = layers.count;
    return 0;
}

/* ---- servers ---- */

/* The id of a session is a secret: it lets one take the session over. */
static void
set_mask(struct http_service *s, const struct http_server_settings *h,
         struct line_mask *out)
{
    size_t n = h->mask_args.count;
    struct str *names;

    out->names = h->mask_args.items;
    out->count = n;
    if (s->has_fronts) {
        names = pool_zero(s->worker->pool, (n + 1) * sizeof(*names));
        for (size_t i = 0; i < n; i++) {
            names[i] = h->mask_args.items[i];
        }
        names[n] = STR("sid");
        out->names = names;
        out->count = n + 1;
    }
}

static void
set_names(struct http_service *s, const struct http_server_settings *h,
          struct http_server *out)
{
    struct pool *pool = s->worker->pool;
    struct host_names *names;
    struct errmsg err;

    out->name = STR_NONE;
    out->known_as = settings_http_known_as(h, s->own_name);
    if (h->server_name.count > 0) {
        names = host_names_new(pool, h->server_name.count);
        for (size_t i = 0; i < h->server_name.count; i++) {
            host_names_add(names, h->server_name.items[i], 0, &err);
        }
        out->names = names;
        out->name = h->server_name.items[0];
    }
}

static int
start_server(struct http_service *s, size_t number, struct errmsg *err)
{
    const struct generation *g = s->worker->generation;
    const struct http_server_settings *h =
        settings_http_server(&g->settings->http, number);
    size_t n = h->locations.count;
    struct http_location *to = pool_zero(s->worker->pool, n * sizeof(*to));
    struct http_server *server = &s->servers[number];

    for (size_t i = 0; i < n; i++) {
        if (start_location(s, number, i, &to[i], err) == -1) {
            return -1;
        }
    }
    qsort(to, n, sizeof(*to), http_location_order);
    server->settings = h->http;
    server->settings.access_log = generation_access_log(g, SERVER_HTTP, number);
    server->trusted = access_parse_names(
        s->worker->pool, h->trusted_proxies.items, h->trusted_proxies.count);
    server->forwarded_header = h->forwarded_header;
    server->hosts = h->hosts.items;
    server->host_count = h->hosts.count;
    server->own_name = s->own_name;
    set_names(s, h, server);
    if (settings_make_rules(s->worker->pool, &h->rewrite, &h->add_headers, NULL,
                            &server->rules, err) == -1) {
        return -1;
    }
    server->settings.gzip_types = h->gzip_types.items;
    server->settings.gzip_type_count = h->gzip_types.count;
    set_mask(s, h, &server->settings.mask);
    server->settings.access_format =
        line_format_compile(s->worker->pool, h->access_log_format,
                            http_log_variables, http_log_presets, err);
    if (server->settings.access_format == NULL) {
        return -1;
    }
    server->threads = s->worker->threads;
    server->locations = to;
    server->location_count = n;
    return 0;
}

/* ---- addresses ---- */

static bool
asks_for_proof(const struct http_server *s)
{
    for (size_t i = 0; i < s->location_count; i++) {
        if (s->locations[i].auth != NULL) {
            return true;
        }
    }
    return false;
}

static struct http_address
make_address(struct http_service *s, const struct binding *b)
{
    struct pool *pool = s->worker->pool;
    size_t count;
    const struct http_at *all =
        settings_http_at(pool, &s->worker->generation->settings->http,
                         b->settings->address, &count);
    struct http_named *servers = pool_zero(pool, count * sizeof(*servers));

    for (size_t i = 0; i < count; i++) {
        const struct http_server *one = &s->servers[all[i].number];

        servers[i] = (struct http_named){
            .server = one,
            .tls = (uint16_t)settings_http_tls_place(all, count, i),
            .guarded = asks_for_proof(one),
        };
    }
    return (struct http_address){
        .servers = servers,
        .count = count,
        .names = settings_http_names(pool, all, count),
    };
}

static void
make_addresses(struct http_service *s)
{
    const struct generation *g = s->worker->generation;

    s->addresses = pool_zero(s->worker->pool, (g->binding_count + 1) *
                                                  sizeof(struct http_address));
    for (size_t i = 0; i < g->binding_count; i++) {
        if (g->bindings[i].server.kind == SERVER_HTTP) {
            s->addresses[i] = make_address(s, &g->bindings[i]);
        }
    }
}

static struct str
own_name(struct pool *pool)
{
    char name[HOST_NAME_MAX + 1] = "";

    return gethostname(name, sizeof(name) - 1) == 0
               ? pool_str(pool, str_from(name))
               : STR_NONE;
}

struct http_service *
http_service_start(struct worker *w, struct errmsg *err)
{
    size_t n = w->generation->settings->http.servers.count;
    struct http_service *s = pool_zero(w->pool, sizeof(*s));

    s->worker = w;
    s->own_name = own_name(w->pool);
    s->servers = pool_zero(w->pool, (n + 1) * sizeof(*s->servers));
    list_init(&s->started);
    for (size_t i = 0; i < n; i++) {
        if (start_server(s, i, err) == -1) {
            http_service_stop(&s);
            return NULL;
        }
    }
    make_addresses(s);
    return s;
}

const struct http_address *
http_service_address(const struct http_service *s, size_t binding)
{
    return &s->addresses[binding];
}

void
http_service_drain(struct http_service *s)
{
    LIST_EACH (node, &s->started) {
        const struct started *started = LIST_ITEM(node, struct started, link);

        if (started->module->drain != NULL) {
            started->module->drain(started->state);
        }
    }
    http_drain(s->worker->generation->settings->keepalive_min_timeout);
}

void
http_service_stop(struct http_service **s)
{
    if (*s == NULL) {
        return;
    }
    LIST_EACH (node, &(*s)->started) {
        const struct started *started = LIST_ITEM(node, struct started, link);

        if (started->module->stop != NULL) {
            started->module->stop(started->state);
        }
    }
    *s = NULL;
}

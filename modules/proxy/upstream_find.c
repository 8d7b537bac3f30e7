/*
 * From names and URLs to upstreams, and all of them in turn.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "upstream_settings.h"

#include "app/module.h"
#include "base/log.h"
#include "net/addr.h"
#include "net/url.h"
#include "servers.h"
#include "upstream.h"
#include "upstream_identity.h"

#define UNIX "unix:"

/* ---- addresses ---- */

static int
parse_path(struct pool *pool, struct str path, struct upstream_endpoint *out,
           struct errmsg *err)
{
    if (path.len == 0 || path.len > ADDR_PATH_MAX || path.ptr[0] != '/') {
        return errmsg_set(err,
                          "must name a socket as unix:/PATH, of %d bytes "
                          "at most",
                          ADDR_PATH_MAX);
    }
    out->path = pool_str(pool, path);
    return 0;
}

int
upstream_parse_address(struct pool *pool, struct str address,
                       struct upstream_endpoint *out, struct errmsg *err)
{
    struct url u;

    *out = (struct upstream_endpoint){ .host = STR_NONE, .path = STR_NONE };
    if (str_starts(address, STR(UNIX))) {
        return parse_path(pool, str_skip(address, sizeof(UNIX) - 1), out, err);
    }
    if (str_find(address, ':', 0) == address.len ||
        str_ends(address, STR("]")) ||
        url_parse(pool, pool_printf(pool, "http://%.*s", STR_ARGS(address)), &u,
                  err) == -1 ||
        u.has_user || u.has_query || u.path.len > 1 ||
        str_find(address, '/', 0) < address.len) {
        return errmsg_set(err, "must be HOST:PORT or unix:/PATH");
    }
    out->host = u.host;
    out->port = u.port;
    return 0;
}

bool
upstream_is_url(struct str name)
{
    return str_starts(name, STR("http://")) ||
           str_starts(name, STR("https://")) || str_starts(name, STR(UNIX));
}

/* ---- looking ---- */

const struct upstream_server_settings *
upstream_server_at(const struct upstream_settings *u, size_t i)
{
    const struct upstream_server_settings *servers = u->servers.items;

    return &servers[i];
}

const struct upstream_tls_settings *
upstream_tls_of(const struct upstream_settings *u)
{
    return u->tls.count > 0 ? u->tls.items : NULL;
}

const struct upstream_health_settings *
upstream_health_of(const struct upstream_settings *u)
{
    return u->health.count > 0 ? u->health.items : NULL;
}

/* ---- an upstream of a URL ---- */

static const struct upstream_settings *
make(struct pool *pool, struct str name, struct str address, bool tls)
{
    struct upstream_settings *u = pool_zero(pool, sizeof(*u));
    struct upstream_server_settings *s = pool_zero(pool, sizeof(*s));
    struct upstream_tls_settings *t = pool_zero(pool, sizeof(*t));

    *s = (struct upstream_server_settings){
        .address = address,
        .weight = UPSTREAM_WEIGHT,
        .max_fails = UPSTREAM_MAX_FAILS,
        .fail_timeout = UPSTREAM_FAIL_TIMEOUT * 1000,
    };
    *t = (struct upstream_tls_settings){ .ca = STR_NONE,
                                         .server_name = STR_NONE,
                                         .certificate = STR_NONE,
                                         .certificate_key = STR_NONE };
    *u = (struct upstream_settings){
        .name = pool_str(pool, name),
        .hash_key = STR_NONE,
        .servers = { s, 1 },
        .tls = { t, tls ? 1 : 0 },
        .keepalive = UPSTREAM_KEEPALIVE,
        .keepalive_timeout = UPSTREAM_KEEPALIVE_TIMEOUT * 1000,
        .keepalive_requests = UPSTREAM_KEEPALIVE_REQUESTS,
        .queue_timeout = UPSTREAM_QUEUE_TIMEOUT * 1000,
    };
    return u;
}

static const struct upstream_settings *
of_url(struct pool *pool, struct str name, struct errmsg *err)
{
    struct upstream_endpoint e;
    struct url u;

    if (str_starts(name, STR(UNIX))) {
        return upstream_parse_address(pool, name, &e, err) == -1
                   ? NULL
                   : make(pool, name, pool_str(pool, name), false);
    }
    if (url_parse(pool, name, &u, err) == -1) {
        return NULL;
    }
    if (u.has_user || u.has_query || u.path.len > 1) {
        errmsg_set(err, "the URL of a server ends behind the port");
        return NULL;
    }
    return make(pool, name,
                pool_printf(pool, u.six ? "[%.*s]:%u" : "%.*s:%u",
                            STR_ARGS(u.host), u.port),
                u.tls);
}

const struct upstream_settings *
upstream_find(const struct settings *s, struct pool *pool, struct str name,
              struct errmsg *err)
{
    const struct conf_groups *all = &upstream_root_of(s)->upstreams;
    const struct upstream_settings *items = all->items;
    const char *nearest = NULL;
    size_t best = 4;

    if (upstream_is_url(name)) {
        return of_url(pool, name, err);
    }
    for (size_t i = 0; i < all->count; i++) {
        size_t d = str_distance(name, items[i].name, 3);

        if (d == 0) {
            return &items[i];
        }
        if (d < best) {
            best = d;
            nearest = items[i].name.ptr;
        }
    }
    errmsg_set(err, "there is no upstream \"%.*s\"%s%s%s", STR_ARGS(name),
               nearest != NULL ? "; did you mean \"" : "",
               nearest != NULL ? nearest : "", nearest != NULL ? "\"?" : "");
    return NULL;
}

/* ---- all of them ---- */

extern const struct module proxy_module;

const struct upstream_root *
upstream_root_of(const struct settings *s)
{
    return settings_of_module(s, &proxy_module);
}

struct layer_walk {
    upstream_layer_visit *visit;
    void *arg;
};

static void
visit_layer(void *arg, const struct conf_extra *layer)
{
    const struct layer_walk *w = arg;
    struct conf_where where;

    if (layer->what == &proxy_module && layer->settings != NULL) {
        struct str name = proxy_layer_upstream(layer->settings, &where);

        w->visit(w->arg, name, &where);
    }
}

void
upstream_each_layer(const struct settings *s, upstream_layer_visit *visit,
                    void *arg)
{
    struct layer_walk w = { visit, arg };

    settings_each_layer(s, visit_layer, &w);
}

struct walk {
    const struct settings *s;
    struct pool *pool;
    upstream_visit *visit;
    void *arg;
    const struct upstream_settings **seen; /* in the pool */
    size_t count, room;
};

static bool
is_new(struct walk *w, struct str name)
{
    for (size_t i = 0; i < w->count; i++) {
        if (str_eq(w->seen[i]->name, name)) {
            return false;
        }
    }
    return true;
}

static void
note(struct walk *w, const struct upstream_settings *u)
{
    if (w->count == w->room) {
        const struct upstream_settings **more =
            pool_zero(w->pool, (2 * w->room + 16) * sizeof(*more));

        for (size_t i = 0; i < w->count; i++) {
            more[i] = w->seen[i];
        }
        w->seen = more;
        w->room = 2 * w->room + 16;
    }
    w->seen[w->count++] = u;
}

/* One of a URL stands where its first layer does. */
static const struct upstream_settings *
place(const struct walk *w, const struct upstream_settings *u,
      const struct conf_where *where)
{
    struct upstream_settings *own;

    if (!upstream_is_url(u->name)) {
        return u;
    }
    own = pool_alloc(w->pool, sizeof(*own));
    *own = *u;
    own->where = *where;
    return own;
}

static void
visit_upstream(void *arg, struct str name, const struct conf_where *where)
{
    struct walk *w = arg;
    const struct upstream_settings *u;
    struct errmsg err;

    u = is_new(w, name) ? upstream_find(w->s, w->pool, name, &err) : NULL;
    if (u != NULL) {
        u = place(w, u, where);
        note(w, u);
        w->visit(w->arg, u);
    }
}

void
upstream_each(const struct settings *s, struct pool *pool,
              upstream_visit *visit, void *arg)
{
    struct walk w = { .s = s, .pool = pool, .visit = visit, .arg = arg };

    upstream_each_layer(s, visit_upstream, &w);
}

/* ---- rights, places ---- */

void
upstream_add_rights(const struct upstream_settings *u, struct pool *pool,
                    struct rights *r)
{
    for (size_t i = 0; i < u->servers.count; i++) {
        struct upstream_endpoint e;
        struct errmsg err;

        if (upstream_parse_address(pool, upstream_server_at(u, i)->address, &e,
                                   &err) == -1) {
            continue; /* it was checked */
        }
        if (e.path.len > 0) {
            r->connect_local = true;
        } else {
            rights_connect(r, e.port);
        }
    }
}

struct asking {
    struct pool *pool;
    struct rights *rights;
    uint32_t generation;
};

static void
add_rights(void *arg, const struct upstream_settings *u)
{
    const struct asking *a = arg;

    upstream_add_rights(u, a->pool, a->rights);
}

void
upstream_may(const struct settings *s, struct rights *r)
{
    struct pool *pool = pool_new(4096);
    struct asking a = { .pool = pool, .rights = r };

    upstream_each(s, pool, add_rights, &a);
    pool_free(&pool);
}

/* Of a sole server no fail counts. */
static struct server_limits
limits_of(const struct upstream_settings *u, size_t i)
{
    const struct upstream_server_settings *s = upstream_server_at(u, i);
    const struct upstream_health_settings *health = upstream_health_of(u);
    bool counts = u->servers.count > 1 && s->max_fails > 0;

    return (struct server_limits){
        .shut = counts ? s->fail_timeout : 0,
        .check = health != NULL ? upstream_verdict_holds(health) : 0,
    };
}

static void
learn(void *arg, const struct upstream_settings *u)
{
    const struct asking *a = arg;

    for (size_t i = 0; i < u->servers.count; i++) {
        struct str address = upstream_server_at(u, i)->address;
        struct server_limits limits = limits_of(u, i);

        if (servers_learn(u->name, address, a->generation, &limits) == -1) {
            log_error("upstream \"%.*s\": there is no room for server "
                      "%.*s: all upstreams together have %d at most",
                      STR_ARGS(u->name), STR_ARGS(address), SERVERS_MAX);
        }
    }
}

void
upstream_learn(const struct settings *s, uint32_t generation)
{
    struct pool *pool = pool_new(4096);
    struct asking a = { .pool = pool, .generation = generation };

    upstream_each(s, pool, learn, &a);
    pool_free(&pool);
    upstream_identities_learn(s, generation);
}

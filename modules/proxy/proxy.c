/*
 * The table of the module, and the settings of its layers.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proxy.h"

#include "base/mem.h"
#include "health.h"
#include "link.h"
#include "proxy_metrics.h"
#include "proxy_verbs.h"
#include "servers.h"
#include "upstream.h"
#include "upstream_settings.h"

struct str
proxy_layer_upstream(const void *layer_settings, struct conf_where *where)
{
    const struct proxy_settings *s = layer_settings;

    *where = s->where;
    return s->upstream;
}

static int
check_fields(const struct proxy_settings *s, const struct regex *pattern,
             struct errmsg *err)
{
    struct pool *pool = pool_new(1024);
    struct errmsg why = { "" };
    int rc = proxy_fields_new(pool, s, pattern, &why) == NULL ? -1 : 0;

    pool_free(&pool);
    return rc == 0 ? 0
                   : errmsg_set(err, "%s:%d: %s", s->where.file, s->where.line,
                                why.text);
}

/* Settings that mean something only in some locations. */
static int
check_at(const void *settings, struct str location, const struct regex *pattern,
         struct errmsg *err)
{
    const struct proxy_settings *s = settings;

    (void)location;
    if (check_fields(s, pattern, err) == -1) {
        return -1;
    }
    if (s->uri.len > 0 && pattern != NULL) {
        return errmsg_set(err,
                          "%s:%d: uri stands for a path, and a pattern "
                          "is none",
                          s->where.file, s->where.line);
    }
    return 0;
}

static void
stop(void *state)
{
    struct proxy_layer *l = state;

    upstream_close(&l->upstream);
    pool_free(&l->pool);
    mem_free(&l);
}

static int
start(const struct module_layer *layer, void **state,
      const struct http_route **r, struct errmsg *err)
{
    struct conf_where where;
    struct upstream *u;
    struct proxy_layer *l;

    (void)r;
    u = upstream_open(layer->worker,
                      proxy_layer_upstream(layer->settings, &where), err);
    if (u == NULL) {
        return -1;
    }
    links_open(u);
    l = mem_zero(sizeof(*l));
    l->settings = layer->settings;
    l->upstream = u;
    l->pool = pool_new(1024);
    l->set = proxy_fields_new(l->pool, l->settings, layer->pattern, err);
    if (l->set == NULL) {
        stop(l);
        return -1;
    }
    *state = l;
    return 0;
}

static const struct http_route routes[] = {
    { .method = "*", .path = "/*", .handler = proxy_on_request },
    { .path = NULL },
};

const struct module proxy_module = {
    .name = "proxy",
    .about = "passes requests on to servers of your own",
    .keys = proxy_layer_keys,
    .settings_size = sizeof(struct proxy_settings),
    .root = { upstream_root_keys, sizeof(struct upstream_root) },
    .check_file = upstream_check_file,
    .warn = upstream_warn,
    .may = upstream_may,
    .check_at = check_at,
    .start = start,
    .stop = stop,
    .routes = routes,
    .roles = health_roles,
    .verbs = proxy_verbs,
    .metrics = proxy_metrics,
    .pools = upstream_pools,
    .share = servers_create,
    .learn = upstream_learn,
    .sweep = servers_sweep,
};

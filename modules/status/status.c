/*
 * What load balancers ask: GET /healthz is 200 as long as the process
 * answers at all, GET /readyz becomes 503 when it takes nothing new.  And
 * what Prometheus asks: GET /metrics (metrics.c).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "status.h"

#include "app/worker.h"

#define TEXT "text/plain; charset=utf-8"

struct status_settings {
    struct conf_strings metrics_access;
};

static const struct conf_key keys[] = {
    { .name = "metrics_access",
      .type = CONF_STRINGS,
      .offset = offsetof(struct status_settings, metrics_access),
      .preset = "allow loopback,deny all",
      .check = access_check_rule,
      .help = "Who may GET /metrics, as in access." },
    CONF_END,
};

static enum http_result
on_healthz(struct http_request *r, void *state)
{
    (void)state;
    http_set_header(r, "Cache-Control", STR("no-store"));
    return http_reply(r, 200, TEXT, STR("ok\n"));
}

static enum http_result
on_readyz(struct http_request *r, void *state)
{
    const struct status *s = state;

    http_set_header(r, "Cache-Control", STR("no-store"));
    if (s->draining) {
        return http_reply(r, 503, TEXT, STR("draining\n"));
    }
    return http_reply(r, 200, TEXT, STR("ready\n"));
}

static const struct http_route routes[] = {
    { .method = "GET", .path = "/healthz", .handler = on_healthz },
    { .method = "GET", .path = "/readyz", .handler = on_readyz },
    { .method = "GET", .path = "/metrics", .handler = status_metrics },
    { .path = NULL },
};

static int
start(const struct module_layer *layer, void **state,
      const struct http_route **r, struct errmsg *err)
{
    const struct status_settings *settings = layer->settings;
    struct pool *pool = layer->worker->pool;
    struct status *s = pool_zero(pool, sizeof(*s));

    (void)r;
    (void)err;
    s->metrics_access = access_parse(pool, settings->metrics_access.items,
                                     settings->metrics_access.count);
    *state = s;
    return 0;
}

static void
drain(void *state)
{
    struct status *s = state;

    s->draining = true;
}

const struct module status_module = {
    .name = "status",
    .about = "answers GET /healthz, /readyz and /metrics",
    .keys = keys,
    .settings_size = sizeof(struct status_settings),
    .start = start,
    .drain = drain,
    .routes = routes,
};

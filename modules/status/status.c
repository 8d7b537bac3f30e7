/*
 * What load balancers ask: GET /healthz is 200 as long as the process
 * answers at all, GET /readyz becomes 503 when it takes nothing new.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/module.h"
#include "base/mem.h"
#include "proc/slot.h"

#define TEXT "text/plain; charset=utf-8"

struct status {
    bool draining;
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
    { .path = NULL },
};

static int
start(const struct module_layer *layer, void **state,
      const struct http_route **r, struct errmsg *err)
{
    (void)layer;
    (void)r;
    (void)err;
    *state = mem_zero(sizeof(struct status));
    return 0;
}

/* Only when weir as a whole ends: that a reload replaced this worker is no
 * reason to send requests elsewhere. */
static void
drain(void *state)
{
    struct status *s = state;

    s->draining = atomic_load(&slot_at(0)->state) == SLOT_DRAINING;
}

static void
stop(void *state)
{
    mem_free(&state);
}

const struct module status_module = {
    .name = "status",
    .about = "answers GET /healthz and GET /readyz",
    .start = start,
    .drain = drain,
    .stop = stop,
    .routes = routes,
};

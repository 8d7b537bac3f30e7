/*
 * Servers of modules, one after the other as the settings list them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/service/module_service.h"

#include <assert.h>

#include "app/module.h"
#include "app/worker.h"

struct started {
    struct list link;
    const struct module *module;
    struct module_server server;
    void *state; /* the module's */
};

struct module_service {
    struct list started; /* struct started, in the pool */
};

static int
start(struct worker *w, struct module_service *s,
      const struct server_settings *settings, struct errmsg *err)
{
    const struct module *m = settings->module;
    struct started *one = pool_zero(w->pool, sizeof(*one));

    one->module = m;
    one->server.worker = w;
    one->server.settings = settings_of_module(w->generation->settings, m);
    one->server.number = settings->number;
    if (m->servers->start(&one->server, &one->state, err) == -1) {
        return errmsg_prefix(err, "module %s: ", m->name);
    }
    list_append(&s->started, &one->link);
    return 0;
}

int
module_service_start(struct worker *w, struct module_service **out,
                     struct errmsg *err)
{
    const struct settings *settings = w->generation->settings;
    struct module_service *s = pool_zero(w->pool, sizeof(*s));
    struct server_settings server;

    list_init(&s->started);
    for (size_t i = 0; settings_server(settings, i, &server); i++) {
        if (server.kind == SERVER_MODULE && start(w, s, &server, err) == -1) {
            module_service_stop(s);
            return -1;
        }
    }
    *out = s;
    return 0;
}

void
module_service_accept(struct module_service *s,
                      const struct server_settings *server,
                      const struct conn_socket *socket)
{
    LIST_EACH (node, &s->started) {
        const struct started *one = LIST_ITEM(node, struct started, link);

        if (one->module == server->module &&
            one->server.number == server->number) {
            one->module->servers->on_accept(one->state, socket);
            return;
        }
    }
    assert(false); /* each server of the settings was started */
}

size_t
module_service_connections(const struct module_service *s)
{
    size_t n = 0;

    LIST_EACH (node, &s->started) {
        const struct started *one = LIST_ITEM(node, struct started, link);

        n += one->module->servers->connections(one->state);
    }
    return n;
}

void
module_service_drain(struct module_service *s)
{
    LIST_EACH (node, &s->started) {
        const struct started *one = LIST_ITEM(node, struct started, link);

        if (one->module->servers->drain != NULL) {
            one->module->servers->drain(one->state);
        }
    }
}

void
module_service_finish(struct module_service *s, const char *reason)
{
    LIST_EACH (node, &s->started) {
        const struct started *one = LIST_ITEM(node, struct started, link);

        if (one->module->servers->finish != NULL) {
            one->module->servers->finish(one->state, reason);
        }
    }
}

void
module_service_stop(struct module_service *s)
{
    LIST_EACH (node, &s->started) {
        const struct started *one = LIST_ITEM(node, struct started, link);

        one->module->servers->stop(one->state);
    }
}

/*
 * The channel's role.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/channel_role.h"

#include "app/settings/settings.h"
#include "base/mem.h"
#include "sio/channel.h"

struct channel_role {
    struct channel *channel;        /* owned */
    struct channel_module *modules; /* owned: those that have endpoints */
};

static void
found(void *arg, const struct module *m, const struct sio_endpoint *e)
{
    bool *wanted = arg;

    (void)m;
    (void)e;
    *wanted = true;
}

bool
channel_role_wanted(const struct settings *s)
{
    bool wanted = false;

    settings_each_endpoint(s, found, &wanted);
    return wanted;
}

static void
add(void *arg, const struct module *m, const struct sio_endpoint *e)
{
    channel_describe(arg, m->name, e);
}

static void
describe(const struct settings *s, struct buf *out)
{
    settings_each_endpoint(s, add, out);
}

static void
configure(void *state, struct str description)
{
    const struct channel_role *r = state;

    channel_configure(r->channel, description);
}

static struct channel_module *
list_modules(void)
{
    struct channel_module *list;
    size_t n = 0;

    while (modules[n] != NULL) {
        n++;
    }
    list = mem_zero((n + 1) * sizeof(*list));
    n = 0;
    for (size_t i = 0; modules[i] != NULL; i++) {
        if (modules[i]->sio != NULL) {
            list[n].name = modules[i]->name;
            list[n++].module = modules[i]->sio;
        }
    }
    return list;
}

static int
start(const struct role_process *p, void **state, struct errmsg *err)
{
    const struct settings *s = p->settings;
    struct channel_role *r = mem_zero(sizeof(*r));

    r->modules = list_modules();
    (void)err;
    r->channel = channel_start(p->loop, p->node, &s->channel, r->modules);
    configure(r, p->description);
    *state = r;
    return 0;
}

static void
drain(void *state)
{
    const struct channel_role *r = state;

    channel_drain(r->channel);
}

static void
stop(void *state)
{
    struct channel_role *r = state;

    channel_stop(&r->channel);
    mem_free(&r->modules);
    mem_free(&r);
}

const struct role channel_roles[] = {
    { .name = CHANNEL_NAME,
      .count = 1,
      .first = true, /* or the first clients would be told to come later */
      .wanted = channel_role_wanted,
      .start = start,
      .drain = drain,
      .stop = stop,
      .describe = describe,
      .configure = configure },
    { .name = NULL },
};

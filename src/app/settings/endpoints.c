/*
 * Endpoints of Socket.IO: which layers have one, and whether layers that name
 * the same one agree.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/settings/rows.h"

#include "app/module.h"
#include "base/mem.h"

#define DESCRIPTION_MAX ((size_t)64 * 1024) /* bytes, of one */

/* An endpoint that was met, as the channel is told of it. */
struct met {
    struct met *next;
    const struct module *module;
    struct sio_endpoint endpoint;
    struct buf description;
};

struct walk {
    struct met *met;   /* owned; the last one first */
    struct pool *pool; /* owned: names */
    void (*each)(void *arg, const struct module *m,
                 const struct sio_endpoint *e);
    /* Two layers disagree about one of m. */
    void (*differs)(void *arg, const struct module *m,
                    const struct sio_endpoint *e);
    void *arg;
};

static struct met *
find(const struct walk *w, const struct module *m, struct str name)
{
    for (struct met *o = w->met; o != NULL; o = o->next) {
        if (o->module == m && str_eq(o->endpoint.name, name)) {
            return o;
        }
    }
    return NULL;
}

static void
describe(struct buf *b, const struct module *m, const struct sio_endpoint *e)
{
    buf_init(b, DESCRIPTION_MAX);
    channel_describe(b, m->name, e);
}

static void
meet(struct walk *w, const struct module *m, const struct sio_endpoint *e)
{
    struct met *o = mem_zero(sizeof(*o));

    o->next = w->met;
    o->module = m;
    o->endpoint = *e;
    describe(&o->description, m, e);
    w->met = o;
    if (w->each != NULL) {
        w->each(w->arg, m, e);
    }
}

static void
meet_again(struct walk *w, const struct met *o, const struct sio_endpoint *e)
{
    struct buf b;

    describe(&b, o->module, e);
    if (!str_eq(buf_str(&b), buf_str(&o->description)) && w->differs != NULL) {
        w->differs(w->arg, o->module, e);
    }
    buf_clear(&b);
}

static void
look_at_layer(void *arg, const struct conf_extra *layer)
{
    const struct module *m = layer->what;
    struct walk *w = arg;
    struct sio_endpoint e = { .name = STR_NONE, .variant = STR_NONE };
    struct met *o;

    if (m == NULL || m->sio == NULL ||
        !m->sio->endpoint(w->pool, layer->settings, &e)) {
        return;
    }
    o = find(w, m, e.name);
    if (o == NULL) {
        meet(w, m, &e);
    } else {
        meet_again(w, o, &e);
    }
}

static void
walk(const struct settings *s, struct walk *w)
{
    w->pool = pool_new(256);
    settings_each_layer(s, look_at_layer, w);
    while (w->met != NULL) {
        struct met *o = w->met;

        w->met = o->next;
        buf_clear(&o->description);
        mem_free(&o);
    }
    pool_free(&w->pool);
}

void
settings_each_endpoint(const struct settings *s,
                       void (*each)(void *arg, const struct module *m,
                                    const struct sio_endpoint *e),
                       void *arg)
{
    struct walk w = { .each = each, .arg = arg };

    walk(s, &w);
}

/* ---- mistakes ---- */

struct check {
    const struct settings *settings;
    FILE *out;
};

static void
tell(void *arg, const struct module *m, const struct sio_endpoint *e)
{
    const struct check *c = arg;

    fprintf(c->out,
            "%s:%d: two layers with module %s share the endpoint \"%.*s\" of "
            "Socket.IO and have different settings for it\n",
            c->settings->where.file, c->settings->where.line, m->name,
            STR_ARGS(e->name));
}

void
settings_check_endpoints(const struct settings *s, FILE *out)
{
    struct check c = { .settings = s, .out = out };
    struct walk w = { .differs = tell, .arg = &c };

    walk(s, &w);
}

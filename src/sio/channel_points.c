/*
 * The endpoints of the channel, as the master describes them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/pack.h"
#include "sio/channel_impl.h"

#define POINTS_MAX 4096 /* endpoints of a description */

struct sio_point *
channel_find_point(const struct channel *c, struct str module, struct str name)
{
    LIST_EACH (node, &c->points) {
        struct sio_point *p = LIST_ITEM(node, struct sio_point, link);

        if (str_eq(str_from(p->module), module) &&
            str_eq(p->endpoint.name, name)) {
            return p;
        }
    }
    return NULL;
}

/* ---- descriptions ---- */

void
channel_describe(struct buf *to, const char *module,
                 const struct sio_endpoint *e)
{
    const struct sio_settings *s = e->settings;
    struct pack out = { .to = to };

    pack_text(&out, str_from(module));
    pack_text(&out, e->name);
    pack_text(&out, e->variant);
    pack_int(&out, s->ping_interval);
    pack_int(&out, s->ping_timeout);
    pack_int(&out, s->upgrade_timeout);
    pack_int(&out, s->connect_timeout);
    pack_int(&out, s->max_payload);
    pack_int(&out, s->max_queue);
    pack_u8(&out, sio_allows(s, STR("polling")));
    pack_u8(&out, sio_allows(s, STR("websocket")));
    pack_text(&out, s->cookie);
    pack_u8(&out, s->deflate);
    pack_int(&out, s->recovery);
}

/* An endpoint as a description has it. */
struct described {
    struct str module, name, variant;
    struct sio_settings settings; /* without transports */
    bool polling, websocket;
};

static void
read_description(struct unpack *in, struct described *d)
{
    struct sio_settings *s = &d->settings;

    memset(d, 0, sizeof(*d));
    d->module = unpack_text(in);
    d->name = unpack_text(in);
    d->variant = unpack_text(in);
    s->ping_interval = unpack_int(in);
    s->ping_timeout = unpack_int(in);
    s->upgrade_timeout = unpack_int(in);
    s->connect_timeout = unpack_int(in);
    s->max_payload = unpack_int(in);
    s->max_queue = unpack_int(in);
    d->polling = unpack_u8(in) != 0;
    d->websocket = unpack_u8(in) != 0;
    s->cookie = unpack_text(in);
    s->deflate = unpack_u8(in) != 0;
    s->recovery = unpack_int(in);
}

static const struct channel_module *
find_module(const struct channel *c, struct str name)
{
    for (const struct channel_module *m = c->modules; m->name != NULL; m++) {
        if (str_eq(str_from(m->name), name)) {
            return m;
        }
    }
    return NULL;
}

static void
set_transports(struct sio_point *p, const struct described *d)
{
    struct conf_strings *to = &p->settings.transports;

    to->items = pool_zero(p->pool, 2 * sizeof(*to->items));
    to->count = 0;
    if (d->polling) {
        to->items[to->count++] = STR("polling");
    }
    if (d->websocket) {
        to->items[to->count++] = STR("websocket");
    }
}

/* New settings; the texts of the old ones go. */
static void
set_point(struct sio_point *p, const struct described *d)
{
    struct pool *before = p->pool;

    p->pool = pool_new(256);
    p->endpoint = (struct sio_endpoint){
        .name = pool_str(p->pool, d->name),
        .variant = pool_str(p->pool, d->variant),
        .settings = &p->settings,
    };
    p->settings = d->settings;
    p->settings.cookie = pool_str(p->pool, d->settings.cookie);
    set_transports(p, d);
    p->engine_settings = (struct engine_settings){
        .ping_interval = d->settings.ping_interval,
        .ping_timeout = d->settings.ping_timeout,
        .upgrade_timeout = d->settings.upgrade_timeout,
        .max_payload = (size_t)d->settings.max_payload,
        .max_queue = (size_t)d->settings.max_queue,
        .polling = d->polling,
        .websocket = d->websocket,
        .deflate = d->settings.deflate,
    };
    pool_free(&before);
}

static struct sio_point *
add_point(struct channel *c, const struct described *d)
{
    const struct channel_module *m = find_module(c, d->module);
    struct sio_point *p;

    if (m == NULL) {
        return NULL;
    }
    p = mem_zero(sizeof(*p));
    p->loop = c->loop;
    p->engine = c->engine;
    p->module = m->name;
    p->what = m->module;
    list_append(&c->points, &p->link);
    set_point(p, d);
    sio_halls_start(p);
    return p;
}

void
channel_free_point(struct sio_point *p)
{
    sio_halls_stop(p);
    list_remove(&p->link);
    pool_free(&p->pool);
    mem_free(&p);
}

static void
end_point(struct channel *c, struct sio_point *p)
{
    engine_end_all(c->engine, p, SESSION_ENDPOINT_GONE);
    channel_free_point(p);
}

/* Of each that is described.  False: the description makes no sense. */
static bool
set_points(struct channel *c, struct str description)
{
    struct unpack in = { .rest = description };

    for (size_t i = 0; i < POINTS_MAX && in.rest.len > 0 && !in.bad; i++) {
        struct described d;
        struct sio_point *p;

        read_description(&in, &d);
        p = in.bad ? NULL : channel_find_point(c, d.module, d.name);
        if (p != NULL) {
            set_point(p, &d);
        } else if (!in.bad) {
            p = add_point(c, &d);
        }
        if (p != NULL) {
            p->described = true;
        }
    }
    return unpack_ends(&in);
}

/* Points that stay can be found all the time: a module may emit to them from
 * one that begins or ends. */
void
channel_configure(struct channel *c, struct str description)
{
    LIST_EACH (node, &c->points) {
        LIST_ITEM(node, struct sio_point, link)->described = false;
    }
    if (!set_points(c, description)) {
        log_alert("the master's description of endpoints makes no sense");
    }
    LIST_EACH (node, &c->points) {
        struct sio_point *p = LIST_ITEM(node, struct sio_point, link);

        if (!p->described) {
            end_point(c, p);
        }
    }
}

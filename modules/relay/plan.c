/*
 * Numbers are eight bytes as they lie in memory (both ends are one program),
 * texts are a number and so many bytes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "plan.h"

#include "settings.h"

#include <string.h>

/* ---- writing ---- */

static void
put_int(struct buf *out, int64_t n)
{
    buf_add(out, &n, sizeof(n));
}

static void
put_str(struct buf *out, struct str s)
{
    put_int(out, (int64_t)s.len);
    buf_add_str(out, s);
}

static void
put_task(struct buf *out, enum relay_kind kind, struct str app, struct str name,
         struct str url)
{
    put_int(out, kind);
    put_str(out, app);
    put_str(out, name);
    put_str(out, url);
}

static void
put_tasks(struct buf *out, const struct rtmp_application_settings *a)
{
    const struct relay_application *r = relay_application_of(a);
    const struct push_settings *push = r->push.items;
    const struct pull_settings *pull = r->pull.items;

    put_int(out, (int64_t)(r->push.count + r->pull.count));
    for (size_t i = 0; i < r->push.count; i++) {
        put_task(out, RELAY_PUSH, a->name, push[i].name, push[i].url);
    }
    for (size_t i = 0; i < r->pull.count; i++) {
        put_task(out, RELAY_PULL, a->name, pull[i].name, pull[i].url);
    }
}

static void
put_apps(struct buf *out, const struct settings *s,
         const struct rtmp_server_settings *r)
{
    const struct rtmp_application_settings *a = r->applications.items;

    put_int(out, (int64_t)r->applications.count);
    for (size_t i = 0; i < r->applications.count; i++) {
        put_str(out, a[i].name);
        put_int(out, settings_hold(s, &a[i]));
        put_int(out, settings_gather(s, &a[i]));
        put_int(out, r->chunk_size);
        put_int(out, a[i].gop_cache);
        put_tasks(out, &a[i]);
    }
}

void
plan_write(const struct settings *s, struct buf *out)
{
    const struct relays_settings *relays = relays_of(s);

    put_int(out, relays->max);
    put_int(out, relays->connect_timeout);
    put_int(out, relays->idle_timeout);
    put_int(out, relays->tls_verify);
    put_int(out, plan_wants_store(s));
    put_int(out, (int64_t)s->egress.count);
    for (size_t i = 0; i < s->egress.count; i++) {
        put_str(out, s->egress.items[i]);
    }
    put_int(out, (int64_t)s->rtmp.servers.count);
    for (size_t i = 0; i < s->rtmp.servers.count; i++) {
        put_apps(out, s, settings_rtmp_server(&s->rtmp, i));
    }
}

/* ---- reading ---- */

struct reader {
    struct str left;
    struct pool *pool;
    bool bad;
};

static int64_t
get_int(struct reader *r)
{
    int64_t n = 0;

    if (r->left.len < sizeof(n)) {
        r->bad = true;
        return 0;
    }
    memcpy(&n, r->left.ptr, sizeof(n));
    r->left = str_skip(r->left, sizeof(n));
    return n;
}

static struct str
get_str(struct reader *r)
{
    int64_t len = get_int(r);
    struct str s;

    if (len < 0 || (uint64_t)len > r->left.len) {
        r->bad = true;
        return STR_NONE;
    }
    s = pool_str(r->pool, str_first(r->left, (size_t)len));
    r->left = str_skip(r->left, (size_t)len);
    return s;
}

/* A number of things, each of which takes at least a number's bytes. */
static size_t
get_count(struct reader *r)
{
    int64_t n = get_int(r);

    if (n < 0 || (uint64_t)n > r->left.len / sizeof(n)) {
        r->bad = true;
        return 0;
    }
    return (size_t)n;
}

static void *
more(struct pool *pool, const void *items, size_t size, size_t count,
     size_t added)
{
    char *all = pool_zero(pool, (count + added + 1) * size);

    if (count > 0) {
        memcpy(all, items, count * size);
    }
    return all;
}

static void
get_tasks(struct reader *r, struct plan *p)
{
    size_t count = get_count(r);

    p->tasks = more(r->pool, p->tasks, sizeof(*p->tasks), p->task_count, count);
    for (size_t i = 0; i < count && !r->bad; i++) {
        struct plan_task *t = &p->tasks[p->task_count++];

        t->kind = get_int(r) == RELAY_PULL ? RELAY_PULL : RELAY_PUSH;
        t->app = get_str(r);
        t->name = get_str(r);
        t->url = get_str(r);
    }
}

static void
get_apps(struct reader *r, struct plan *p)
{
    size_t count = get_count(r);

    p->apps = more(r->pool, p->apps, sizeof(*p->apps), p->app_count, count);
    for (size_t i = 0; i < count && !r->bad; i++) {
        struct plan_app *a = &p->apps[p->app_count++];

        a->name = get_str(r);
        a->hold = get_int(r);
        a->gather = get_int(r);
        a->chunk_size = (uint32_t)get_int(r);
        a->gop_cache = get_int(r) != 0;
        get_tasks(r, p);
    }
}

int
plan_read(struct str bytes, struct pool *pool, struct plan *out)
{
    struct reader r = { bytes, pool, false };
    struct str *rules;
    size_t count;

    memset(out, 0, sizeof(*out));
    out->max = get_int(&r);
    out->connect_timeout = get_int(&r);
    out->idle_timeout = get_int(&r);
    out->tls_verify = get_int(&r) != 0;
    out->store = get_int(&r) != 0;
    count = get_count(&r);
    rules = pool_zero(pool, (count + 1) * sizeof(*rules));
    for (size_t i = 0; i < count; i++) {
        struct errmsg why;

        rules[i] = get_str(&r);
        r.bad = r.bad || egress_check_rule(rules[i], &why) == -1;
    }
    if (r.bad) {
        return -1;
    }
    out->egress = egress_parse(pool, rules, count);
    count = get_count(&r);
    for (size_t i = 0; i < count && !r.bad; i++) {
        get_apps(&r, out);
    }
    return r.bad || r.left.len > 0 ? -1 : 0;
}

const struct plan_app *
plan_app(const struct plan *p, struct str name)
{
    for (size_t i = 0; i < p->app_count; i++) {
        if (str_eq(p->apps[i].name, name)) {
            return &p->apps[i];
        }
    }
    return NULL;
}

bool
plan_has(const struct plan *p, const struct plan_task *t)
{
    for (size_t i = 0; i < p->task_count; i++) {
        const struct plan_task *o = &p->tasks[i];

        if (o->kind == t->kind && str_eq(o->app, t->app) &&
            (o->name.len == 0 || str_eq(o->name, t->name)) &&
            str_eq(o->url, t->url)) {
            return true;
        }
    }
    return false;
}

/* ---- wanting ---- */

static void
look_at_layer(void *arg, const struct conf_extra *l)
{
    bool *wanted = arg;

    *wanted = *wanted || str_eq(l->name, STR("relay"));
}

bool
plan_wants_store(const struct settings *s)
{
    bool wanted = false;

    settings_each_layer(s, look_at_layer, &wanted);
    return wanted;
}

bool
plan_wants_relayer(const struct settings *s)
{
    for (size_t i = 0; i < s->rtmp.servers.count; i++) {
        const struct rtmp_server_settings *r =
            settings_rtmp_server(&s->rtmp, i);
        const struct rtmp_application_settings *a = r->applications.items;

        for (size_t k = 0; k < r->applications.count; k++) {
            const struct relay_application *relays =
                relay_application_of(&a[k]);

            if (relays->push.count + relays->pull.count > 0) {
                return true;
            }
        }
    }
    return plan_wants_store(s);
}

/*
 * Writing and reading the plan.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "role_config.h"

#include "settings.h"

#include <string.h>

#include "base/pack.h"

/* ---- writing ---- */

static void
put_task(struct pack *out, enum relay_kind kind, struct str app,
         struct str name, struct str url)
{
    pack_int(out, kind);
    pack_text(out, app);
    pack_text(out, name);
    pack_text(out, url);
}

static void
put_tasks(struct pack *out, const struct rtmp_application_settings *a)
{
    const struct relay_application *r = relay_application_of(a);
    const struct push_settings *push = r->push.items;
    const struct pull_settings *pull = r->pull.items;

    pack_int(out, (int64_t)(r->push.count + r->pull.count));
    for (size_t i = 0; i < r->push.count; i++) {
        put_task(out, RELAY_PUSH, a->name, push[i].name, push[i].url);
    }
    for (size_t i = 0; i < r->pull.count; i++) {
        put_task(out, RELAY_PULL, a->name, pull[i].name, pull[i].url);
    }
}

static void
put_cuts(struct pack *out, struct live_cut_rules rules)
{
    pack_int(out, rules.segment);
    pack_int(out, rules.max_segment);
    pack_int(out, rules.part);
    pack_int(out, rules.strict_keys);
    pack_int(out, rules.ladder.count);
    for (uint32_t i = 0; i < rules.ladder.count; i++) {
        pack_text(out, str_from(rules.ladder.suffixes[i]));
    }
}

static void
put_apps(struct pack *out, const struct settings *s,
         const struct rtmp_server_settings *r)
{
    const struct rtmp_application_settings *a = r->applications.items;

    pack_int(out, (int64_t)r->applications.count);
    for (size_t i = 0; i < r->applications.count; i++) {
        pack_text(out, a[i].name);
        pack_int(out, settings_hold(s, &a[i]));
        pack_int(out, settings_gather(s, &a[i]));
        pack_int(out, r->chunk_size);
        pack_int(out, a[i].gop_cache);
        put_cuts(out, settings_cuts(s, &a[i]));
        put_tasks(out, &a[i]);
    }
}

void
plan_write(const struct settings *s, struct buf *to)
{
    const struct relays_settings *relays = relays_of(s);
    struct pack p = { .to = to }, *out = &p;

    pack_int(out, relays->max);
    pack_int(out, relays->connect_timeout);
    pack_int(out, relays->idle_timeout);
    pack_int(out, relays->tls_verify);
    pack_int(out, plan_wants_store(s));
    pack_int(out, (int64_t)s->egress.count);
    for (size_t i = 0; i < s->egress.count; i++) {
        pack_text(out, s->egress.items[i]);
    }
    pack_int(out, (int64_t)s->rtmp.servers.count);
    for (size_t i = 0; i < s->rtmp.servers.count; i++) {
        put_apps(out, s, settings_rtmp_server(&s->rtmp, i));
    }
}

/* ---- reading ---- */

/* The least bytes of each: its numbers and texts. */
enum {
    RULE_BYTES = PACK_TEXT,
    SERVER_BYTES = sizeof(int64_t),
    APP_BYTES = PACK_TEXT + 10 * sizeof(int64_t),
    TASK_BYTES = sizeof(int64_t) + 3 * PACK_TEXT,
};

struct reader {
    struct unpack in;
    struct pool *pool;
};

static struct str
get_str(struct reader *r)
{
    return pool_str(r->pool, unpack_text(&r->in));
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

static int
get_names(struct reader *r, struct plan_task *t)
{
    struct errmsg why;

    if (t->kind == RELAY_PULL) {
        t->of = (struct push_names){ .text = t->name };
        return 0;
    }
    return push_names_read(r->pool, t->name, &t->of, &why);
}

static void
get_tasks(struct reader *r, struct plan *p)
{
    size_t count = unpack_count(&r->in, TASK_BYTES);

    p->tasks = more(r->pool, p->tasks, sizeof(*p->tasks), p->task_count, count);
    for (size_t i = 0; i < count && !r->in.bad; i++) {
        struct plan_task *t = &p->tasks[p->task_count++];

        t->kind = unpack_int(&r->in) == RELAY_PULL ? RELAY_PULL : RELAY_PUSH;
        t->app = get_str(r);
        t->name = get_str(r);
        t->url = get_str(r);
        r->in.bad = r->in.bad || get_names(r, t) == -1;
    }
}

static struct live_ladder
get_ladder(struct reader *r)
{
    struct live_ladder l = { .count = 0 };
    size_t count = unpack_count(&r->in, PACK_TEXT);

    for (size_t i = 0; i < count && !r->in.bad; i++) {
        struct str suffix = unpack_text(&r->in);

        if (l.count < LIVE_LADDER_MAX) {
            str_copy(l.suffixes[l.count++], LIVE_SUFFIX_MAX, suffix);
        }
    }
    return l;
}

static struct live_cut_rules
get_cuts(struct reader *r)
{
    struct live_cut_rules rules;

    rules.segment = (uint32_t)unpack_int(&r->in);
    rules.max_segment = (uint32_t)unpack_int(&r->in);
    rules.part = (uint32_t)unpack_int(&r->in);
    rules.strict_keys = unpack_int(&r->in) != 0;
    rules.ladder = get_ladder(r);
    return rules;
}

static void
get_apps(struct reader *r, struct plan *p)
{
    size_t count = unpack_count(&r->in, APP_BYTES);

    p->apps = more(r->pool, p->apps, sizeof(*p->apps), p->app_count, count);
    for (size_t i = 0; i < count && !r->in.bad; i++) {
        struct plan_app *a = &p->apps[p->app_count++];

        a->name = get_str(r);
        a->hold = unpack_int(&r->in);
        a->gather = unpack_int(&r->in);
        a->chunk_size = (uint32_t)unpack_int(&r->in);
        a->gop_cache = unpack_int(&r->in) != 0;
        a->cuts = get_cuts(r);
        get_tasks(r, p);
    }
}

int
plan_read(struct str bytes, struct pool *pool, struct plan *out)
{
    struct reader r = { .in = { .rest = bytes }, .pool = pool };
    struct str *rules;
    size_t count;

    memset(out, 0, sizeof(*out));
    out->max = unpack_int(&r.in);
    out->connect_timeout = unpack_int(&r.in);
    out->idle_timeout = unpack_int(&r.in);
    out->tls_verify = unpack_int(&r.in) != 0;
    out->store = unpack_int(&r.in) != 0;
    count = unpack_count(&r.in, RULE_BYTES);
    rules = pool_zero(pool, (count + 1) * sizeof(*rules));
    for (size_t i = 0; i < count; i++) {
        struct errmsg why;

        rules[i] = get_str(&r);
        r.in.bad = r.in.bad || egress_check_rule(rules[i], &why) == -1;
    }
    if (r.in.bad) {
        return -1;
    }
    out->egress = egress_parse(pool, rules, count);
    count = unpack_count(&r.in, SERVER_BYTES);
    for (size_t i = 0; i < count && !r.in.bad; i++) {
        get_apps(&r, out);
    }
    return unpack_ends(&r.in) ? 0 : -1;
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
            str_eq(o->url, t->url) && push_names_have(&o->of, t->name)) {
            return true;
        }
    }
    return false;
}

bool
plan_has_named_push(const struct plan *p, struct str app, struct str name,
                    struct str url)
{
    for (size_t i = 0; i < p->task_count; i++) {
        const struct plan_task *o = &p->tasks[i];

        if (o->kind == RELAY_PUSH && !o->of.many && str_eq(o->app, app) &&
            str_eq(o->name, name) && str_eq(o->url, url)) {
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

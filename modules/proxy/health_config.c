/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "health_config.h"

#include <string.h>

#include "base/pack.h"

/* ---- writing ---- */

static void
put_texts(struct pack *out, const struct conf_strings *texts)
{
    pack_int(out, (int64_t)texts->count);
    for (size_t i = 0; i < texts->count; i++) {
        pack_text(out, texts->items[i]);
    }
}

static void
put_upstream(struct pack *out, const struct upstream_settings *u)
{
    static const struct upstream_tls_settings none = {
        { "", 0 }, { "", 0 }, false, { "", 0 }, { "", 0 },
    };
    const struct upstream_health_settings *h = upstream_health_of(u);
    const struct upstream_tls_settings *t = upstream_tls_of(u);

    pack_int(out, t != NULL);
    t = t != NULL ? t : &none;
    pack_text(out, t->ca);
    pack_text(out, t->server_name);
    pack_int(out, t->insecure);
    pack_text(out, t->certificate);
    pack_text(out, t->certificate_key);
    pack_text(out, u->name);
    pack_text(out, h->path);
    pack_text(out, h->host);
    pack_int(out, h->interval);
    pack_int(out, h->timeout);
    pack_int(out, h->rise);
    pack_int(out, h->fall);
    put_texts(out, &h->status);
    pack_int(out, (int64_t)u->servers.count);
    for (size_t i = 0; i < u->servers.count; i++) {
        pack_text(out, upstream_server_at(u, i)->address);
    }
}

static size_t
count_checked(const struct upstream_root *root)
{
    const struct upstream_settings *u = root->upstreams.items;
    size_t count = 0;

    for (size_t i = 0; i < root->upstreams.count; i++) {
        count += u[i].health.count;
    }
    return count;
}

bool
health_wanted(const struct settings *s)
{
    return count_checked(upstream_root_of(s)) > 0;
}

void
health_write(const struct settings *s, struct buf *to)
{
    const struct upstream_root *root = upstream_root_of(s);
    const struct upstream_settings *u = root->upstreams.items;
    struct pack p = { .to = to };

    put_texts(&p, &s->egress);
    pack_int(&p, (int64_t)count_checked(root));
    for (size_t i = 0; i < root->upstreams.count; i++) {
        if (u[i].health.count > 0) {
            put_upstream(&p, &u[i]);
        }
    }
}

/* ---- reading ---- */

struct reader {
    struct unpack in;
    struct pool *pool;
};

static struct str
get_text(struct reader *r)
{
    return pool_str(r->pool, unpack_text(&r->in));
}

static struct conf_strings
get_texts(struct reader *r)
{
    size_t count = unpack_count(&r->in, PACK_TEXT);
    struct conf_strings texts = {
        .items = pool_zero(r->pool, (count + 1) * sizeof(*texts.items)),
        .count = count,
    };

    for (size_t i = 0; i < count; i++) {
        texts.items[i] = get_text(r);
    }
    return texts;
}

static void
get_upstream(struct reader *r, struct health_upstream *u)
{
    struct conf_strings servers;

    u->tls = unpack_int(&r->in) != 0;
    u->secured.ca = get_text(r);
    u->secured.server_name = get_text(r);
    u->secured.insecure = unpack_int(&r->in) != 0;
    u->secured.certificate = get_text(r);
    u->secured.certificate_key = get_text(r);
    u->name = get_text(r);
    u->how.path = get_text(r);
    u->how.host = get_text(r);
    u->how.interval = unpack_int(&r->in);
    u->how.timeout = unpack_int(&r->in);
    u->how.rise = unpack_int(&r->in);
    u->how.fall = unpack_int(&r->in);
    u->how.status = get_texts(r);
    servers = get_texts(r);
    u->servers = servers.items;
    u->count = servers.count;
    r->in.bad |= u->how.interval <= 0 || u->how.timeout <= 0;
}

/* The least bytes of an upstream: its numbers, counts and texts. */
enum { UPSTREAM_BYTES = 8 * sizeof(int64_t) + 7 * PACK_TEXT };

int
health_read_plan(struct str bytes, struct pool *pool, struct health_plan *plan)
{
    struct reader r = { .in = { .rest = bytes }, .pool = pool };
    struct conf_strings rules = get_texts(&r);
    struct errmsg why;

    memset(plan, 0, sizeof(*plan));
    for (size_t i = 0; i < rules.count; i++) {
        r.in.bad = r.in.bad || egress_check_rule(rules.items[i], &why) == -1;
    }
    if (r.in.bad) {
        return -1;
    }
    plan->egress = egress_parse(pool, rules.items, rules.count);
    plan->count = unpack_count(&r.in, UPSTREAM_BYTES);
    plan->upstreams =
        pool_zero(pool, (plan->count + 1) * sizeof(*plan->upstreams));
    for (size_t i = 0; i < plan->count && !r.in.bad; i++) {
        get_upstream(&r, &plan->upstreams[i]);
    }
    return unpack_ends(&r.in) ? 0 : -1;
}

/* ---- rights ---- */

/* The texts of rights are the settings'; addresses have none. */
void
health_may(const void *root, struct rights *r)
{
    const struct upstream_root *all = root;
    const struct upstream_settings *u = all->upstreams.items;
    struct pool *pool = pool_new(4096);

    for (size_t i = 0; i < all->upstreams.count; i++) {
        if (u[i].health.count > 0) {
            upstream_add_rights(&u[i], pool, r);
        }
    }
    pool_free(&pool);
}

static bool
has_port(const struct rights *r, uint16_t port)
{
    for (size_t i = 0; i < r->ports.count; i++) {
        if (r->ports.items[i] == port) {
            return true;
        }
    }
    return false;
}

/* Whether what has been given up is needed now. */
static bool
needs_more(const struct rights *had, const struct rights *needs)
{
    for (size_t i = 0; i < needs->ports.count; i++) {
        if (!has_port(had, needs->ports.items[i])) {
            return true;
        }
    }
    return needs->connect_local && !had->connect_local;
}

/* Whether a role with the settings a can do the TLS of b.  A file of CAs, or of
 * a certificate, may have others in it than those that the role has read. */
static bool
can_do_tls(const struct upstream_root *a, const struct upstream_root *b)
{
    const struct upstream_settings *u = b->upstreams.items,
                                   *had = a->upstreams.items;

    for (size_t i = 0; i < b->upstreams.count; i++) {
        const struct upstream_tls_settings *t = upstream_tls_of(&u[i]);
        bool found = t == NULL || u[i].health.count == 0;

        if (!found && (!t->insecure || t->certificate.len > 0)) {
            return false;
        }
        for (size_t k = 0; !found && k < a->upstreams.count; k++) {
            const struct upstream_tls_settings *o = upstream_tls_of(&had[k]);

            found = o != NULL && had[k].health.count > 0 &&
                    str_eq(o->ca, t->ca) && o->insecure &&
                    o->certificate.len == 0;
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

bool
health_changed(const struct settings *before, const struct settings *now)
{
    const struct upstream_root *a = upstream_root_of(before),
                               *b = upstream_root_of(now);
    struct rights had = { .fork = false }, needs = { .fork = false };
    bool changed;

    health_may(a, &had);
    health_may(b, &needs);
    changed = needs_more(&had, &needs) || !can_do_tls(a, b);
    rights_clear(&had);
    rights_clear(&needs);
    return changed;
}

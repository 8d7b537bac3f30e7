/*
 * The role.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "health.h"

#include "base/log.h"
#include "base/mem.h"
#include "servers.h"
#include "upstream_identity.h"

/* ---- TLS ---- */

static struct tls_of *
find_client(struct prober *r, const struct upstream_tls_settings *t)
{
    LIST_EACH (node, &r->clients) {
        struct tls_of *c = LIST_ITEM(node, struct tls_of, link);

        if (str_eq(c->ca, t->ca) && c->insecure == t->insecure &&
            str_eq(c->certificate, t->certificate) &&
            str_eq(c->certificate_key, t->certificate_key)) {
            return c;
        }
    }
    return NULL;
}

static struct str
copy(struct str text)
{
    return str_of(mem_dup(text.ptr, text.len), text.len);
}

static void
drop(struct str text)
{
    char *at = (char *)(uintptr_t)text.ptr;

    mem_free(&at);
}

static int
make_client(struct prober *r, const struct upstream_tls_settings *t,
            struct errmsg *err)
{
    struct tls_of *c = mem_zero(sizeof(*c));

    c->ca = copy(t->ca);
    c->certificate = copy(t->certificate);
    c->certificate_key = copy(t->certificate_key);
    c->insecure = t->insecure;
    list_append(&r->clients, &c->link);

    struct tls_client_options o = { .ca = c->ca, .insecure = c->insecure };

    if (upstream_identity(t, &o.identity, err) == -1) {
        return -1;
    }
    c->client = tls_client_new(&o, err);
    return c->client == NULL ? -1 : 0;
}

/* Before the sandbox: it reads files. */
static int
make_clients(struct prober *r, struct errmsg *err)
{
    for (size_t i = 0; i < r->plan.count; i++) {
        const struct health_upstream *u = &r->plan.upstreams[i];

        if (u->tls && find_client(r, &u->secured) == NULL &&
            make_client(r, &u->secured, err) == -1) {
            return -1;
        }
    }
    return 0;
}

static void
free_clients(struct prober *r)
{
    LIST_EACH (node, &r->clients) {
        struct tls_of *c = LIST_ITEM(node, struct tls_of, link);

        list_remove(&c->link);
        tls_client_free(&c->client);
        drop(c->ca);
        drop(c->certificate);
        drop(c->certificate_key);
        mem_free(&c);
    }
}

/* ---- the plan ---- */

static struct probe *
find_probe(const struct list *probes, struct str upstream, struct str address)
{
    LIST_EACH (node, probes) {
        struct probe *p = LIST_ITEM(node, struct probe, link);

        if (str_eq(p->upstream->name, upstream) &&
            str_eq(p->address, address)) {
            return p;
        }
    }
    return NULL;
}

/* A server that is known keeps what was counted; its check begins anew. */
static void
add_probe(struct prober *r, const struct health_upstream *u, struct str address,
          const struct list *old)
{
    struct tls_of *c = u->tls ? find_client(r, &u->secured) : NULL;
    const struct probe *before = find_probe(old, u->name, address);
    struct probe *p;
    struct errmsg err;
    int place = servers_find(u->name, address);

    if (place == -1 || (u->tls && c == NULL)) {
        return; /* no layer has it */
    }
    p = mem_zero(sizeof(*p));
    p->prober = r;
    p->upstream = u;
    p->address = address;
    p->tls = c != NULL ? c->client : NULL;
    p->place = place;
    p->incarnation = servers_incarnation(place);
    if (before != NULL && before->incarnation == p->incarnation) {
        p->good = before->good;
        p->failed = before->failed;
    }
    list_append(&r->probes, &p->link);
    if (upstream_parse_address(r->pool, address, &p->at, &err) == 0) {
        probe_start(p);
    }
}

static void
free_probes(struct list *probes)
{
    LIST_EACH (node, probes) {
        probe_free(LIST_ITEM(node, struct probe, link));
    }
}

static void
move_probes(struct list *from, struct list *to)
{
    LIST_EACH (node, from) {
        list_remove(node);
        list_append(to, node);
    }
}

static void
start_probes(struct prober *r, const struct list *old)
{
    for (size_t i = 0; i < r->plan.count; i++) {
        const struct health_upstream *u = &r->plan.upstreams[i];

        for (size_t k = 0; k < u->count; k++) {
            add_probe(r, u, u->servers[k], old);
        }
    }
}

static void
configure(void *state, struct str description)
{
    struct prober *r = state;
    struct pool *pool = pool_new(4096), *before = r->pool;
    struct health_plan plan;
    struct list old;

    if (health_read_plan(description, pool, &plan) == -1) {
        log_alert("prober: the master's description of weir.conf makes no "
                  "sense");
        pool_free(&pool);
        return;
    }
    list_init(&old);
    move_probes(&r->probes, &old);
    r->pool = pool;
    r->plan = plan;
    if (!r->draining) {
        start_probes(r, &old);
    }
    free_probes(&old);
    pool_free(&before);
}

/* ---- life ---- */

static int
start(const struct role_process *p, void **state, struct errmsg *err)
{
    static const struct resolver_options usual = { .servers = NULL };
    struct prober *r = mem_zero(sizeof(*r));
    struct list none;

    *state = r;
    r->loop = p->loop;
    r->pool = pool_new(4096);
    list_init(&r->probes);
    list_init(&r->clients);
    list_init(&none);
    r->resolver = resolver_new(r->loop, &usual, err);
    if (r->resolver == NULL) {
        return -1;
    }
    if (health_read_plan(p->description, r->pool, &r->plan) == -1) {
        return errmsg_set(err, "the upstreams of weir.conf are too many");
    }
    if (make_clients(r, err) == -1) {
        return -1;
    }
    start_probes(r, &none);
    return 0;
}

static void
drain(void *state)
{
    struct prober *r = state;

    r->draining = true;
    free_probes(&r->probes);
}

static void
stop(void *state)
{
    struct prober *r = state;

    free_probes(&r->probes);
    loop_turn(r->loop, 0);
    resolver_free(&r->resolver);
    free_clients(r);
    pool_free(&r->pool);
    mem_free(&r);
}

const struct role health_roles[] = {
    { .name = "prober",
      .count = 1,
      .wanted = health_wanted,
      .start = start,
      .may = health_may,
      .drain = drain,
      .stop = stop,
      .changed = health_changed,
      .describe = health_write,
      .configure = configure },
    { .name = NULL },
};

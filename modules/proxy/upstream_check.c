/*
 * Mistakes in the upstreams of a file, and doubts about them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "upstream_settings.h"

#include "base/log.h"
#include "net/addr.h"
#include "net/egress.h"
#include "servers.h"
#include "upstream.h"

struct check {
    const struct settings *s;
    struct pool *pool;
    const struct egress *egress;
    FILE *out;
    size_t servers; /* of the upstreams so far */
};

/* The rules judge an address that the file has; a name when it is resolved. */
static int
check_egress(const struct check *c, struct str address, struct errmsg *err)
{
    struct upstream_endpoint e;
    struct addr a;

    if (upstream_parse_address(c->pool, address, &e, err) == -1) {
        return -1;
    }
    if (str_eq(e.host, STR("localhost"))) {
        e.host = STR("127.0.0.1");
    }
    return e.host.len > 0 && addr_parse_ip(e.host, &a) == 0
               ? egress_check(c->egress, &a, err)
               : 0;
}

static void
report(const struct check *c, const struct conf_where *where,
       const struct errmsg *err)
{
    fprintf(c->out, "%s:%d: %s\n", where->file, where->line, err->text);
}

static void
check_servers(const struct check *c, const struct upstream_settings *u)
{
    for (size_t i = 0; i < u->servers.count; i++) {
        const struct upstream_server_settings *s = upstream_server_at(u, i);
        struct errmsg err;

        if (check_egress(c, s->address, &err) == -1) {
            errmsg_prefix(&err, "upstream \"%.*s\": %.*s: ", STR_ARGS(u->name),
                          STR_ARGS(s->address));
            report(c, &s->where, &err);
        }
    }
}

static void
check_layer(void *arg, struct str name, const struct conf_where *where)
{
    const struct check *c = arg;
    struct errmsg err;
    const struct upstream_settings *u =
        upstream_find(c->s, c->pool, name, &err);

    if (u == NULL ||
        (upstream_is_url(name) &&
         check_egress(c, upstream_server_at(u, 0)->address, &err) == -1)) {
        errmsg_prefix(&err, "upstream: ");
        report(c, where, &err);
    }
}

/* The table of servers (servers.h) has to have room for all: the first upstream
 * without is told. */
static void
check_room(void *arg, const struct upstream_settings *u)
{
    struct check *c = arg;
    bool had = c->servers <= SERVERS_CONF_MAX;
    struct errmsg err;

    c->servers += u->servers.count;
    if (had && c->servers > SERVERS_CONF_MAX) {
        errmsg_set(&err,
                   "with those of \"%.*s\" the upstreams of all "
                   "layers have more than %d servers",
                   STR_ARGS(u->name), SERVERS_CONF_MAX);
        report(c, &u->where, &err);
    }
}

void
upstream_check_file(const struct settings *s, FILE *out)
{
    const struct conf_groups *all = &upstream_root_of(s)->upstreams;
    const struct upstream_settings *u = all->items;
    struct pool *pool = pool_new(4096);
    struct check c = {
        .s = s,
        .pool = pool,
        .egress = egress_parse(pool, s->egress.items, s->egress.count),
        .out = out,
    };

    for (size_t i = 0; i < all->count; i++) {
        check_servers(&c, &u[i]);
    }
    upstream_each_layer(s, check_layer, &c);
    upstream_each(s, pool, check_room, &c);
    pool_free(&pool);
}

/* ---- warnings ---- */

struct use {
    const struct upstream_settings *u;
    bool used;
};

static void
see_use(void *arg, const struct upstream_settings *u)
{
    struct use *use = arg;

    use->used |= u == use->u;
}

void
upstream_warn(const struct settings *s)
{
    const struct conf_groups *all = &upstream_root_of(s)->upstreams;
    const struct upstream_settings *u = all->items;
    struct pool *pool = pool_new(4096);

    for (size_t i = 0; i < all->count; i++) {
        struct use use = { &u[i], false };

        upstream_each(s, pool, see_use, &use);
        if (!use.used) {
            log_warn("%s:%d: no layer has upstream \"%.*s\"", u[i].where.file,
                     u[i].where.line, STR_ARGS(u[i].name));
        }
    }
    pool_free(&pool);
}

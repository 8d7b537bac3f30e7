/*
 * Servers by name: which of them share an address, and whether they can.
 *
 * Settings of the address itself (its socket) stand at one of its
 * servers, or at several alike.  A tls group stands at one for all of them, or
 * at each that has a certificate of its own.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/settings/names.h"

#include <assert.h>

#include "app/settings/rows.h"
#include "base/mem.h"

/* ---- who is there ---- */

static const struct listen_settings *
listens_at(const struct http_server_settings *s, struct str address)
{
    for (size_t i = 0; i < s->listen.count; i++) {
        const struct listen_settings *l = settings_listen(&s->listen, i);

        if (settings_same_address(l->address, address)) {
            return l;
        }
    }
    return NULL;
}

bool
settings_http_joins(const struct http_block *b, size_t number,
                    struct str address)
{
    for (size_t i = 0; i < number; i++) {
        if (listens_at(settings_http_server(b, i), address) != NULL) {
            return true;
        }
    }
    return false;
}

/* The default comes to the front. */
static void
put_first(struct http_at *all, size_t i)
{
    struct http_at first = all[i];

    for (; i > 0; i--) {
        all[i] = all[i - 1];
    }
    all[0] = first;
}

struct http_at *
settings_http_at(struct pool *pool, const struct http_block *b,
                 struct str address, size_t *count)
{
    size_t most = b->servers.count + 1, chosen = 0;
    struct http_at *all = pool_zero(pool, most * sizeof(*all));

    *count = 0;
    for (size_t i = 0; i < b->servers.count; i++) {
        const struct http_server_settings *s = settings_http_server(b, i);
        const struct listen_settings *l = listens_at(s, address);

        /* Port 0 is another port each time: only the very same text is meant,
         * which is the same memory. */
        for (size_t k = 0; l == NULL && k < s->listen.count; k++) {
            const struct listen_settings *own = settings_listen(&s->listen, k);

            l = own->address.ptr == address.ptr ? own : NULL;
        }
        if (l != NULL) {
            chosen = l->is_default ? *count : chosen;
            all[(*count)++] = (struct http_at){ i, s, l };
        }
    }
    assert(*count > 0);
    put_first(all, chosen);
    return all;
}

/* ---- the socket ---- */

static bool
same_socket(const struct listen_settings *a, const struct listen_settings *b)
{
    return a->proxy_protocol == b->proxy_protocol && a->backlog == b->backlog &&
           a->so_keepalive == b->so_keepalive && a->ipv6only == b->ipv6only &&
           a->rcvbuf == b->rcvbuf && a->sndbuf == b->sndbuf &&
           a->deferred == b->deferred && a->freebind == b->freebind;
}

/* Nothing but the defaults of the rows. */
static bool
says_nothing(const struct listen_settings *l)
{
    const struct listen_settings plain = { .backlog = LISTEN_BACKLOG,
                                           .so_keepalive = true };

    return same_socket(l, &plain);
}

const struct http_at *
settings_http_socket(const struct http_at *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!says_nothing(all[i].listen)) {
            return &all[i];
        }
    }
    return &all[0];
}

/* ---- names ---- */

const struct host_names *
settings_http_names(struct pool *pool, const struct http_at *all, size_t count)
{
    struct host_names *names = NULL;
    struct errmsg err;
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        n += all[i].server->server_name.count;
    }
    names = count > 1 ? host_names_new(pool, n) : NULL;
    /* Places are not in the order of the file, which patterns are tried in. */
    for (size_t number = 0, left = names != NULL ? count : 0; left > 0;
         number++) {
        for (size_t i = 0; i < count; i++) {
            const struct conf_strings *own = &all[i].server->server_name;

            for (size_t k = 0; all[i].number == number && k < own->count; k++) {
                host_names_add(names, own->items[k], i, &err);
            }
            left -= all[i].number == number;
        }
    }
    return names;
}

struct str
settings_http_known_as(const struct http_server_settings *h,
                       struct str otherwise)
{
    for (size_t i = 0; i < h->server_name.count; i++) {
        struct str name = h->server_name.items[i];

        if (str_find(name, '*', 0) == name.len && name.ptr[0] != '~' &&
            name.ptr[0] != '.') {
            return name;
        }
    }
    return otherwise;
}

/* ---- TLS ---- */

size_t
settings_http_tls_place(const struct http_at *all, size_t count, size_t i)
{
    if (all[i].listen->tls.count > 0) {
        return i;
    }
    for (i = 0; i < count && all[i].listen->tls.count == 0; i++) {
    }
    return i;
}

struct chooser {
    const struct host_names *names;
    struct tls_context **by_place;
};

static const struct tls_context *
choose(const void *arg, struct str name, uint16_t *place)
{
    const struct chooser *c = arg;
    struct host_found found = { .value = 0 };

    host_names_find(c->names, name, &found);
    *place = (uint16_t)found.value;
    return c->by_place[found.value];
}

/* Makes the contexts of all groups.  -1: some are left to be freed. */
static int
make_contexts(const struct http_at *all, size_t count,
              struct tls_context **made, struct errmsg *err)
{
    for (size_t i = 0; i < count; i++) {
        if (settings_tls(all[i].listen, true, &made[i], err) == -1) {
            return -1;
        }
    }
    return 0;
}

int
settings_http_tls(struct pool *pool, const struct http_at *all, size_t count,
                  struct tls_context **out, struct errmsg *err)
{
    size_t first = settings_http_tls_place(all, count, 0), n = 0;
    size_t size = (count + 1) * sizeof(struct tls_context *);
    struct tls_context **made = pool_zero(pool, size);
    struct tls_context **others = pool_zero(pool, size);
    struct chooser *c = pool_zero(pool, sizeof(*c));

    *out = NULL;
    if (count == 1 || first == count) {
        return settings_tls(all[0].listen, true, out, err);
    }
    if (make_contexts(all, count, made, err) == -1) {
        for (size_t i = 0; i < count; i++) {
            tls_context_free(&made[i]);
        }
        return -1;
    }
    c->names = settings_http_names(pool, all, count);
    c->by_place = pool_zero(pool, size);
    for (size_t i = 0; i < count; i++) {
        c->by_place[i] = made[settings_http_tls_place(all, count, i)];
        if (i != first && made[i] != NULL) {
            others[n++] = made[i];
        }
    }
    *out = made[first];
    tls_context_share(*out, &(struct tls_share){ choose, c, others, n });
    return 0;
}

/* ---- checks ---- */

static int
check_same_name(const struct http_server_settings *before,
                const struct http_server_settings *s, struct errmsg *err)
{
    for (size_t i = 0; i < s->server_name.count; i++) {
        for (size_t k = 0; k < before->server_name.count; k++) {
            struct str name = s->server_name.items[i];

            if (host_name_same(before->server_name.items[k], name)) {
                return errmsg_set(err,
                                  "server_name \"%.*s\" is taken by the server "
                                  "in line %d at the same address",
                                  STR_ARGS(name), before->where.line);
            }
        }
    }
    return 0;
}

/* TLS goes by these before it knows a name. */
static int
check_times(const struct listen_settings *there,
            const struct listen_settings *here, struct errmsg *err)
{
    const struct tls_settings *a = there->tls.items, *b = here->tls.items;

    if (there->tls.count == 0 || here->tls.count == 0 ||
        (a->session_timeout == b->session_timeout &&
         a->handshake_timeout == b->handshake_timeout)) {
        return 0;
    }
    return errmsg_set(err,
                      "listen \"%.*s\": tls.%s is another one than in line %d, "
                      "and counts for all servers at an address: let both say "
                      "the same",
                      STR_ARGS(here->address),
                      a->session_timeout != b->session_timeout
                          ? "session_timeout"
                          : "handshake_timeout",
                      a->where.line);
}

/* Both listen there. */
static int
check_shared(const struct http_server_settings *before,
             const struct listen_settings *there,
             const struct http_server_settings *s,
             const struct listen_settings *here, struct errmsg *err)
{
    struct str a = here->address;

    if (there->is_default && here->is_default) {
        return errmsg_set(err,
                          "listen \"%.*s\": the server in line %d is the "
                          "default there already",
                          STR_ARGS(a), before->where.line);
    }
    if ((s->server_name.count == 0 && !here->is_default) ||
        (before->server_name.count == 0 && here->is_default)) {
        return errmsg_set(err,
                          "listen \"%.*s\" is taken by the server in line %d; "
                          "servers at one address need a server_name, all but "
                          "the default",
                          STR_ARGS(a), before->where.line);
    }
    if (!says_nothing(there) && !says_nothing(here) &&
        !same_socket(there, here)) {
        return errmsg_set(err,
                          "listen \"%.*s\" has other settings than in line %d: "
                          "let one of them say it, or both the same",
                          STR_ARGS(a), there->where.line);
    }
    return check_times(there, here, err) == -1
               ? -1
               : check_same_name(before, s, err);
}

int
settings_check_names(const struct conf_groups *all, size_t i,
                     struct errmsg *err)
{
    const struct http_server_settings *s = all->items;

    for (size_t k = 0; k < i; k++) {
        for (size_t n = 0; n < s[i].listen.count; n++) {
            const struct listen_settings *l = settings_listen(&s[i].listen, n);
            const struct listen_settings *there = listens_at(&s[k], l->address);

            if (there != NULL &&
                check_shared(&s[k], there, &s[i], l, err) == -1) {
                return -1;
            }
        }
    }
    return 0;
}

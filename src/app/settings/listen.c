/*
 * Addresses of a server: their rows and checks.
 *
 * Port 0 takes a free port, so it is never the same address twice.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/settings/rows.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "conf/rows.h"
#include "net/addr.h"
#include "net/listen.h"

#define BUFFER_MAX ((int64_t)1 << 30)

static const char *const ip6only_words[] = { "auto", "on", "off", NULL };

static int
check_address(struct str value, struct errmsg *err)
{
    struct addr_listen ignored;

    return addr_parse_listen(value, &ignored, err);
}

/* ---- what a socket takes ---- */

/* The file that a path names; by its text where its folder is not there. */
static void
file_of(struct str path, char real[static PATH_MAX])
{
    char folder[PATH_MAX], *slash;
    size_t len = path.len;

    str_copy(folder, sizeof(folder), path);
    slash = strrchr(folder, '/');
    if (slash == NULL) {
        str_copy(folder, sizeof(folder), STR("."));
    } else {
        slash[slash == folder] = '\0';
    }
    if (realpath(folder, real) == NULL) {
        str_copy(real, PATH_MAX, path);
        return;
    }
    while (len > 0 && path.ptr[len - 1] != '/') {
        len--;
    }
    str_append(real, PATH_MAX, strlen(real), STR("/"));
    str_append(real, PATH_MAX, strlen(real), str_skip(path, len));
}

static bool
same_file(struct str a, struct str b)
{
    char x[PATH_MAX], y[PATH_MAX];

    file_of(a, x);
    file_of(b, y);
    return strcmp(x, y) == 0;
}

bool
settings_same_address(struct str a, struct str b)
{
    struct addr_listen x, y;
    struct errmsg ignored;

    if (addr_parse_listen(a, &x, &ignored) == -1 ||
        addr_parse_listen(b, &y, &ignored) == -1 || x.any != y.any) {
        return false;
    }
    if (x.any) {
        return x.addr.port != 0 && x.addr.port == y.addr.port;
    }
    if (x.addr.family != y.addr.family) {
        return false;
    }
    if (x.addr.family == AF_UNIX) {
        return same_file(x.path, y.path);
    }
    return x.addr.port != 0 && addr_eq(&x.addr, &y.addr);
}

/* Whether it takes connections of that family to any address. */
static bool
takes_all(const struct addr_listen *where, int ip6only, int family)
{
    bool both = where->any ? ip6only != IP6ONLY_ON : ip6only == IP6ONLY_OFF;

    if (where->any ||
        (where->addr.family == AF_INET6 && addr_is_any(&where->addr))) {
        return family == AF_INET6 || both;
    }
    return where->addr.family == family && addr_is_any(&where->addr);
}

/* ... or to some. */
static bool
takes_some(const struct addr_listen *where, int ip6only, int family)
{
    return takes_all(where, ip6only, family) || where->addr.family == family;
}

static bool
overlap_for(const struct addr_listen *x, int x_only,
            const struct addr_listen *y, int y_only, int family)
{
    return takes_some(x, x_only, family) && takes_some(y, y_only, family) &&
           (takes_all(x, x_only, family) || takes_all(y, y_only, family));
}

/* Whether a connection may come to either: to one address, or to an address
 * and to all of them. */
static bool
overlap(const struct listen_settings *a, const struct listen_settings *b)
{
    struct addr_listen x, y;
    struct errmsg ignored;

    if (settings_same_address(a->address, b->address)) {
        return true;
    }
    if (addr_parse_listen(a->address, &x, &ignored) == -1 ||
        addr_parse_listen(b->address, &y, &ignored) == -1 ||
        x.addr.family == AF_UNIX || y.addr.family == AF_UNIX ||
        x.addr.port == 0 || x.addr.port != y.addr.port) {
        return false;
    }
    return overlap_for(&x, a->ipv6only, &y, b->ipv6only, AF_INET) ||
           overlap_for(&x, a->ipv6only, &y, b->ipv6only, AF_INET6);
}

struct meeting {
    const struct listen_settings *there, *here;
};

/* The first of b that takes what one of a takes, too; a and b may be the same
 * list.  may_share: they may be the very same address. */
static bool
meet(const struct conf_groups *a, const struct conf_groups *b, bool may_share,
     struct meeting *found)
{
    for (size_t i = 0; i < a->count; i++) {
        const struct listen_settings *there = settings_listen(a, i);

        for (size_t k = a == b ? i + 1 : 0; k < b->count; k++) {
            const struct listen_settings *here = settings_listen(b, k);
            bool same = settings_same_address(there->address, here->address);

            if (overlap(there, here) && !(same && may_share)) {
                *found = (struct meeting){ there, here };
                return true;
            }
        }
    }
    return false;
}

const struct listen_settings *
settings_listen(const struct conf_groups *listen, size_t i)
{
    return (const struct listen_settings *)listen->items + i;
}

const struct conf_key settings_listen_keys[] = {
    ROW_WHERE(listen_settings),
    ROW(listen_settings, address, CONF_STRING, .check = check_address,
        .help = "\"PORT\", \"ADDRESS:PORT\" or \"unix:PATH\"; port 0 takes "
                "a free one."),
    ROW(listen_settings, proxy_protocol, CONF_BOOL, .preset = "false",
        .help = "Every connection begins with a PROXY protocol header, "
                "version 1 or 2, from one of trusted_proxies."),
    ROW(listen_settings, backlog, CONF_INT, .min = 1, .max = 65535,
        .preset = "4096",
        .help = "Connections that may wait to be accepted, of each worker; "
                "the system caps it (net.core.somaxconn)."),
    ROW(listen_settings, so_keepalive, CONF_BOOL, .preset = "true",
        .help = "TCP keep-alive: a silent peer is probed after 60 s, then "
                "every 15 s, and is dead after four; balancers that forget "
                "idle connections see quiet players as alive."),
    ROW(listen_settings, ipv6only, CONF_ENUM, .preset = "auto",
        .words = ip6only_words, .change = CONF_RESTART,
        .help = "Whether an IPv6 address takes IPv6 alone; \"auto\": "
                "\"[ADDRESS]:PORT\" does, \"PORT\" takes IPv4 as well."),
    ROW(listen_settings, rcvbuf, CONF_SIZE, .min = 0, .max = BUFFER_MAX,
        .preset = "0",
        .help = "Receive buffer of a connection (SO_RCVBUF); 0: the "
                "system's, which grows as needed."),
    ROW(listen_settings, sndbuf, CONF_SIZE, .min = 0, .max = BUFFER_MAX,
        .preset = "0",
        .help = "Send buffer of a connection (SO_SNDBUF); 0: the system's, "
                "which grows as needed."),
    ROW(listen_settings, deferred, CONF_BOOL, .preset = "false",
        .help = "A connection is accepted with its first byte "
                "(TCP_DEFER_ACCEPT); not with checks that only connect."),
    ROW(listen_settings, freebind, CONF_BOOL, .preset = "false",
        .help = "The address may be one that this host does not have yet "
                "(IP_FREEBIND): at boot, or with keepalived."),
    ROW_AS("default", listen_settings, is_default, CONF_BOOL, .preset = "false",
           .help = "HTTP: the server takes requests that name none of the "
                   "servers at this address; without it the first in the file "
                   "does."),
    ROW(listen_settings, tls, CONF_GROUPS, .max = 1, .preset = "",
        .keys = settings_tls_keys, .size = sizeof(struct tls_settings),
        .check_group = settings_check_tls,
        .help = "TLS on this address: one group in braces."),
    CONF_END,
};

static int
refuse_overlap(const struct meeting *m, struct errmsg *err)
{
    return errmsg_set(err,
                      "listen \"%.*s\" and listen \"%.*s\" in line %d of %s "
                      "take the same connections: one of them has to have "
                      "another port or address",
                      STR_ARGS(m->here->address), STR_ARGS(m->there->address),
                      m->there->where.line, m->there->where.file);
}

int
settings_check_listens(const struct conf_groups *listen, struct errmsg *err)
{
    struct meeting m;

    if (!meet(listen, listen, false, &m)) {
        return 0;
    }
    return settings_same_address(m.there->address, m.here->address)
               ? errmsg_set(err, "listen \"%.*s\" stands twice",
                            STR_ARGS(m.here->address))
               : refuse_overlap(&m, err);
}

int
settings_check_proxies(const struct conf_groups *listen,
                       const struct conf_strings *trusted, struct errmsg *err)
{
    for (size_t i = 0; i < listen->count; i++) {
        const struct listen_settings *l = settings_listen(listen, i);

        if (l->proxy_protocol && trusted->count == 0) {
            return errmsg_set(err,
                              "proxy_protocol of listen \"%.*s\" needs "
                              "trusted_proxies",
                              STR_ARGS(l->address));
        }
    }
    return 0;
}

int
settings_check_apart(const struct conf_groups *before, int line,
                     const struct conf_groups *listen, bool may_share,
                     struct errmsg *err)
{
    struct meeting m;

    if (!meet(before, listen, may_share, &m)) {
        return 0;
    }
    return settings_same_address(m.there->address, m.here->address)
               ? errmsg_set(err,
                            "listen \"%.*s\" is taken by the server in line "
                            "%d",
                            STR_ARGS(m.here->address), line)
               : refuse_overlap(&m, err);
}

int
settings_check_format(struct str value, const struct line_variable *variables,
                      const struct line_preset *presets, struct errmsg *err)
{
    struct pool *pool = pool_new(1024);
    int rc = line_format_compile(pool, value, variables, presets, err) == NULL
                 ? -1
                 : 0;

    pool_free(&pool);
    return rc;
}

int
settings_check_arg(struct str value, struct errmsg *err)
{
    for (size_t i = 0; i < value.len; i++) {
        char c = value.ptr[i];

        if (c <= ' ' || c == '=' || c == '&' || c == ';' || c == '#') {
            return errmsg_set(err, "\"%.*s\" cannot be the name of an argument",
                              STR_ARGS(value));
        }
    }
    return value.len > 0 ? 0 : errmsg_set(err, "must not be empty");
}

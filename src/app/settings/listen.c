/*
 * Addresses of a server: their rows and checks.
 *
 * Port 0 takes a free port, so it is never the same address twice.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/settings/rows.h"

#include "conf/rows.h"
#include "net/addr.h"

#define BUFFER_MAX ((int64_t)1 << 30)

static const char *const ip6only_words[] = { "auto", "on", "off", NULL };

static int
check_address(struct str value, struct errmsg *err)
{
    struct addr_listen ignored;

    return addr_parse_listen(value, &ignored, err);
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
        return str_eq(x.path, y.path);
    }
    return x.addr.port != 0 && addr_eq(&x.addr, &y.addr);
}

/* The first address of b that is in a too; a and b may be the same list. */
static const struct str *
shared_address(const struct conf_groups *a, const struct conf_groups *b)
{
    for (size_t i = 0; i < a->count; i++) {
        struct str address = settings_listen(a, i)->address;

        for (size_t k = a == b ? i + 1 : 0; k < b->count; k++) {
            if (settings_same_address(address,
                                      settings_listen(b, k)->address)) {
                return &settings_listen(b, k)->address;
            }
        }
    }
    return NULL;
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

int
settings_check_listens(const struct conf_groups *listen, struct errmsg *err)
{
    const struct str *twice = shared_address(listen, listen);

    if (twice != NULL) {
        return errmsg_set(err, "listen \"%.*s\" stands twice",
                          STR_ARGS(*twice));
    }
    return 0;
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
                     const struct conf_groups *listen, struct errmsg *err)
{
    const struct str *both = shared_address(before, listen);

    if (both != NULL) {
        return errmsg_set(err,
                          "listen \"%.*s\" is taken by the server in line "
                          "%d",
                          STR_ARGS(*both), line);
    }
    return 0;
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

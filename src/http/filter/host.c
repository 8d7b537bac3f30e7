/*
 * The names of a server, for locations that allow clients by nearby addresses.
 *
 * A page of any site can let its own name point to this machine or a
 * neighbour's, and the browser then takes weir's answers for that page's own
 * (DNS rebinding).  Neither the client's address nor Origin shows this; Host
 * does, because it has that page's name.  So where rules allow clients by
 * address, and the peer's address is one of a browser near us, the name must be
 * ours.
 *
 * The filter passes trusted proxies, which choose their clients; unix sockets,
 * which no page reaches; and HTTP/1.0 without Host, which no browser speaks.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/filter/host.h"

#include <string.h>

#include "http/filter/filter.h"
#include "net/host_names.h"

#define SHOWN 100 /* bytes of a name in messages */

/* ---- names ---- */

static bool
is_name(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];

        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
            !(c >= '0' && c <= '9') && c != '-' && c != '_' && c != '.') {
            return false;
        }
    }
    return s.len > 0 && s.ptr[0] != '.' && !str_ends(s, STR("."));
}

int
http_host_check(struct str pattern, struct errmsg *err)
{
    struct str name = pattern;

    if (str_starts(pattern, STR("*."))) {
        name = str_skip(pattern, 2);
    }
    if (is_name(name)) {
        return 0;
    }
    return errmsg_set(err,
                      "\"%.*s\" must be a name without a port, "
                      "\"media.example.org\", or \"*.example.org\" for all "
                      "names below one",
                      STR_ARGS(pattern));
}

/* "*.example.org" fits "a.example.org" and "b.a.example.org". */
static bool
fits(struct str pattern, struct str name)
{
    struct str tail = str_skip(pattern, 1);

    if (!str_starts(pattern, STR("*."))) {
        return str_eq_nocase(pattern, name);
    }
    return name.len > tail.len &&
           str_eq_nocase(str_skip(name, name.len - tail.len), tail);
}

bool
http_host_fits(const struct http_server *s, struct str host)
{
    struct str name = host_of_authority(host);
    struct host_found found;
    struct addr ignored;

    if (s->names != NULL &&
        host_names_find(s->names, name, &found) == HOST_FOUND) {
        return true;
    }
    if (addr_parse_ip(name, &ignored) == 0 || fits(STR("localhost"), name) ||
        fits(STR("*.localhost"), name) ||
        (s->own_name.len > 0 && fits(s->own_name, name))) {
        return true;
    }
    for (size_t i = 0; i < s->host_count; i++) {
        if (fits(s->hosts[i], name)) {
            return true;
        }
    }
    return false;
}

/* ---- who asks ---- */

/* From where a browser beside us would come. */
static bool
is_near(const struct addr *a)
{
    return (a->family == AF_INET || a->family == AF_INET6) &&
           (addr_is_loopback(a) || addr_is_private(a) || addr_is_linklocal(a));
}

static bool
is_known(const struct exchange *x)
{
    const struct http_server *s = x->c->server;

    return !is_near(&x->via) || access_names(s->trusted, &x->via) ||
           x->head.host.len == 0 || http_host_fits(s, x->head.host);
}

static const char *
message(const struct exchange *x)
{
    struct str name = str_first(host_of_authority(x->head.host), SHOWN);

    return pool_printf(
               x->pub.pool,
               "\"%.*s\" is no name of this server, so that a page of another "
               "site could stand behind it: if it is one, add it to hosts of "
               "the http server in weir.conf, hosts = [ \"%.*s\" ]; a proxy in "
               "front belongs into its trusted_proxies",
               STR_ARGS(name), STR_ARGS(name))
        .ptr;
}

bool
http_check_host(struct http_request *r)
{
    struct exchange *x = exchange_of(r);

    return is_known(x) || http_filter_answer(x, REFUSE_MISDIRECTED, message(x));
}

enum filter_result
http_host_filter(struct exchange *x)
{
    const struct http_location *l = x->pub.location;

    if ((access_allows_all(l->access) && l->auth == NULL &&
         !x->c->at_loopback) ||
        is_known(x)) {
        return FILTER_PASS;
    }
    return http_filter_reject(x, REFUSE_MISDIRECTED, message(x));
}

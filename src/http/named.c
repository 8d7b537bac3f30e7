/*
 * Several servers at one address: which of them a request is for.
 *
 * Host says it.  A handshake was for a name, too (SNI), and its proof
 * holds for that name alone: a request on its connection may be for another
 * server only if this has the same rules of TLS and asks for no proof of its
 * own.  A client that gets 421 comes again, with a handshake for that name
 * (RFC 9110, 15.5.20).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/exchange.h"
#include "net/host_names.h"

static bool
may_reach(const struct http_connection *c, size_t place)
{
    const struct http_named *there = &c->address->servers[place];
    const struct http_named *here = &c->address->servers[c->place];

    return place == c->place || c->conn->tls == NULL ||
           (there->tls == here->tls && !there->guarded);
}

enum http_refusal
http_choose_server(struct exchange *x)
{
    struct http_connection *c = x->c;
    struct str host = host_of_authority(x->head.host);
    struct host_found found = { .value = 0 };

    if (host.len == 0) { /* then the handshake alone says it */
        found.value = c->place;
    } else if (host_names_find(c->address->names, host, &found) == HOST_LIMIT) {
        return REFUSE_PATTERN;
    }
    if (!may_reach(c, found.value)) {
        return REFUSE_OTHER_NAME;
    }
    c->server = c->address->servers[found.value].server;
    return REFUSE_NONE;
}

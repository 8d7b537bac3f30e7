/*
 * From accept to the protocol.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/child/accept.h"

#include "app/child/admission.h"
#include "app/worker.h"
#include "base/log.h"
#include "net/exceptions.h"
#include "net/proxy_accept.h"
#include "net/tls.h"

struct door
accept_door(struct worker *w, const struct binding *b)
{
    const struct conf_strings *trusted = b->server.trusted_proxies;
    const struct conf_strings *access = b->server.access;

    return (struct door){
        .worker = w,
        .binding = b,
        .trusted = access_parse_names(w->pool, trusted->items, trusted->count),
        .access = access == NULL
                      ? NULL
                      : access_parse(w->pool, access->items, access->count),
        .at_loopback = addr_is_loopback(&b->listener->addr),
    };
}

/* The protocol's bytes are next. */
static void
serve(void *arg, const struct conn_socket *socket)
{
    const struct door *d = arg;

    services_accept(d->worker->services, &d->binding->server, socket);
}

static void
say_accepted(const struct door *d, const struct conn_socket *s)
{
    struct debug_mark mark = { 0 };
    char text[ADDR_TEXT], local[ADDR_TEXT];

    log_limited_if(debug_wanted(&mark, &s->peer, STR_NONE), LOG_DEBUG,
                   "%s %s: connection accepted at %s", d->binding->server.proto,
                   addr_text(&s->peer, text), addr_text(&s->local, local));
}

/* The client's own bytes are next, its address is known. */
static void
enter(void *arg, const struct conn_socket *socket)
{
    struct door *d = arg;
    const char *proto = d->binding->server.proto;
    struct conn_socket in = *socket;

    in.at_loopback = d->at_loopback;
    if (d->access != NULL && !access_allows(d->access, &in.peer)) {
        admission_deny(&in, proto);
        return;
    }
    if (!access_names(d->trusted, &in.peer) && !admission_allow(&in, proto)) {
        return;
    }
    say_accepted(d, &in);
    if (d->binding->tls != NULL) {
        tls_accept(d->worker->loop, d->binding->tls, &in, serve, d);
    } else {
        serve(d, &in);
    }
}

void
accept_connection(struct door *d, const struct conn_socket *socket)
{
    if (d->binding->settings->proxy_protocol) {
        proxy_read(d->worker->loop, socket, d->trusted, enter, d);
    } else {
        enter(d, socket);
    }
}

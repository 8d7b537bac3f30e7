/*
 * From accept to the protocol.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/child/accept.h"

#include "app/child/admission.h"
#include "app/service/rtmp_service.h"
#include "base/log.h"
#include "net/exceptions.h"
#include "net/proxyread.h"
#include "net/tls.h"
#include "proc/refused.h"

struct door
accept_door(const struct binding *b)
{
    return (struct door){
        .binding = b,
        .rtmp = str_eq(str_from(b->proto), STR("rtmp")),
        .at_loopback = addr_is_loopback(&b->listener->addr),
    };
}

/* The protocol's bytes are next. */
static void
serve(void *arg, const struct conn_socket *socket)
{
    const struct door *d = arg;
    size_t server = d->binding->server;

    if (d->rtmp) {
        rtmp_service_accept(server, socket);
    } else {
        http_accept(d->loop, http_service_server(d->http, server), socket);
    }
}

static const struct access_list *
trusted(const struct door *d)
{
    size_t server = d->binding->server;

    return d->rtmp ? rtmp_service_trusted(server)
                   : http_service_server(d->http, server)->trusted;
}

static void
say_accepted(const struct door *d, const struct conn_socket *s)
{
    struct debug_mark mark = { 0 };
    char text[ADDR_TEXT], local[ADDR_TEXT];

    log_limited_if(debug_wanted(&mark, &s->peer, STR_NONE), LOG_DEBUG,
                   "%s %s: connection accepted at %s", d->binding->proto,
                   addr_text(&s->peer, text), addr_text(&s->local, local));
}

/* The client's own bytes are next, its address is known. */
static void
enter(void *arg, const struct conn_socket *socket)
{
    struct door *d = arg;
    struct conn_socket in = *socket;

    in.at_loopback = d->at_loopback;
    if (!access_names(trusted(d), &in.peer) &&
        !admission_allow(&in, d->binding->proto)) {
        return;
    }
    say_accepted(d, &in);
    if (d->binding->tls != NULL) {
        tls_accept(d->loop, d->binding->tls, &in, serve, d);
    } else {
        serve(d, &in);
    }
}

void
accept_connection(struct door *d, const struct conn_socket *socket)
{
    if (d->binding->settings->proxy_protocol) {
        proxy_read(d->loop, socket, trusted(d), enter, d);
    } else {
        enter(d, socket);
    }
}

/*
 * The way of a connection from accept to the protocol that answers it: PROXY
 * protocol header, then HTTP or RTMP.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_CHILD_ACCEPT_H
#define APP_CHILD_ACCEPT_H

#include "app/generation.h"
#include "app/service/http_service.h"
#include "net/conn.h"

struct door { /* of a listener; outlives the connections that wait at it */
    const struct binding *binding;
    bool rtmp;                 /* else HTTP */
    bool at_loopback;          /* it is bound to a loopback address */
    struct loop *loop;         /* set by the worker, ... */
    struct http_service *http; /* ... borrowed */
};

struct door accept_door(const struct binding *b);
/* Takes over an accepted socket. */
void accept_connection(struct door *d, const struct conn_socket *socket);

#endif

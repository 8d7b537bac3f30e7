/*
 * The way of a connection from accept to the server that answers it: PROXY
 * protocol header, access rules, limits, TLS.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_CHILD_ACCEPT_H
#define APP_CHILD_ACCEPT_H

#include "app/generation.h"
#include "app/service/services.h"
#include "net/access.h"
#include "net/conn.h"

struct door { /* of a listener; outlives the connections that wait at it */
    struct worker *worker;             /* borrowed */
    const struct binding *binding;     /* the same */
    const struct access_list *trusted; /* in the worker's pool */
    const struct access_list *access;  /* the same; NULL: the server judges */
    bool at_loopback;                  /* what it is bound to */
};

struct door accept_door(struct worker *w, const struct binding *b);
/* Takes over an accepted socket. */
void accept_connection(struct door *d, const struct conn_socket *socket);

#endif

/*
 * Reads the PROXY protocol header of accepted sockets, then hands them on
 * with the client as their peer.
 *
 * It takes no byte behind the header from the socket.  A header has 3 s to
 * come, in as many pieces as it likes; at most PROXY_WAITING_MAX sockets of the
 * process wait for theirs.
 *
 * A socket that is not handed on is closed, and counted.  A peer that sends
 * nothing and goes is a health check: it is not counted, and logged at level
 * debug only.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_PROXY_ACCEPT_H
#define NET_PROXY_ACCEPT_H

#include "net/access.h"
#include "net/conn.h"

#define PROXY_WAIT_MS 3000
#define PROXY_WAITING_MAX 4096

enum proxy_refusal {
    PROXY_UNTRUSTED, /* the peer is not in the list */
    PROXY_WRONG,     /* no header, or a malformed one */
    PROXY_CUT,       /* ended within it */
    PROXY_SLOW,      /* not whole in time */
    PROXY_CROWDED,   /* too many wait */
    PROXY_REFUSALS
};

/* Takes over the socket, by the contract of accept_handler (net/listen.h). */
typedef void proxy_handler(void *arg, const struct conn_socket *socket);

/* Takes over s->fd, which is non-blocking; handler may be called before this
 * returns.  trusted lives on until then. */
void proxy_read(struct loop *l, const struct conn_socket *s,
                const struct access_list *trusted, proxy_handler *handler,
                void *arg);
size_t proxy_waiting(void); /* sockets that wait for their header */
void proxy_stop(void);      /* closes them */

const char *proxy_refusal_name(enum proxy_refusal why); /* "untrusted" */

#endif

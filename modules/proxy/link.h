/*
 * Links: connections to servers of upstreams, in use or kept for the next
 * request.
 *
 * A link is used by one exchange at a time.  An idle one watches its socket: it
 * is closed when the server ends it or sends anything, when it has been idle
 * for too long, and when its server's epoch has grown.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_PROXY_LINK_H
#define MODULES_PROXY_LINK_H

#include "upstream.h"

struct link {
    struct conn *conn; /* owned */
    struct upstream_server *server;
    int64_t requests; /* begun, in all */
    /* The rest is link.c's. */
    struct list list; /* idle ones of the server, the newest first */
    struct timer timer;
    struct loop *loop;
    const struct conn_handlers *user; /* NULL: idle */
    void *arg;
    uint32_t epoch;
    uint64_t acked; /* bytes the peer had when this request began */
    int fd;
};

/* In a layer's start(): idle links of u end with it. */
void links_open(struct upstream *u);

/* An idle one, for its next request; NULL: there is none.  once: the request
 * must not be done twice, so that link_is_untouched() is to know. */
struct link *link_take(struct upstream_server *server, bool once,
                       const struct conn_handlers *user, void *arg);
/* Owns socket, also when it returns NULL: the system has no room. */
struct link *link_new(struct loop *l, struct upstream_server *server,
                      const struct conn_socket *socket, size_t buffer);
/* The handlers of the connection; on_close is called once, and the link is gone
 * then. */
void link_use(struct link *l, const struct conn_handlers *user, void *arg);
/* Gives it back.  False: it cannot be kept, and was closed. */
bool link_keep(struct link *l);
/* Its user is not told. */
void link_close(struct link *l, const char *reason);
/* Nothing more is sent; its end comes to its user in a later turn. */
void link_cut(struct link *l);

/* Whether the server's system has acknowledged no byte of this request; false
 * where that is not known. */
bool link_is_untouched(const struct link *l);

#endif

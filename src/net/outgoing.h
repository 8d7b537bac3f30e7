/*
 * Outgoing connections: from a host and a port to a socket that is ready for
 * conn_new(), after its TLS handshake where one is wanted.
 *
 * The name is resolved (unless the caller knows its addresses), the egress
 * rules judge each address, and those that are
 * allowed are tried in order: the next one begins when the last has failed, or
 * has not answered within OUTGOING_HEAD_START_MS (RFC 8305).  The first to
 * connect wins, the others are closed.  A TLS handshake is made with the winner
 * alone.
 *
 * One timer bounds all of it.  An attempt ends by its handler or by
 * outgoing_cancel(); nothing of it is left then.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_OUTGOING_H
#define NET_OUTGOING_H

#include "net/conn.h"
#include "net/egress.h"
#include "net/resolve.h"
#include "net/tls_client.h"

#define OUTGOING_HEAD_START_MS 250

struct outgoing_target {
    struct str host; /* a name or an address, without brackets; copied */
    uint16_t port;
    /* Of a socket that has a path, which stands for host and port, and which
     * the egress rules do not judge; copied.  Empty: host and port. */
    struct str path;
    /* The addresses of host, if the caller knows them; copied.  NULL: it is
     * looked up. */
    const struct resolved *known;
    /* The name that the certificate must be for and that is sent to the peer;
     * copied.  Empty: host. */
    struct str tls_name;
    struct resolver *resolver;    /* borrowed, as the rest, while it lasts */
    const struct egress *egress;  /* never NULL */
    const struct tls_client *tls; /* NULL: plain */
    int64_t timeout_ms;           /* for all of it */
};

/* The step that failed. */
enum outgoing_cause {
    OUTGOING_NAME,      /* the name has no address, or cannot be resolved */
    OUTGOING_EGRESS,    /* no address of it is allowed */
    OUTGOING_CONNECT,   /* no address of it can be connected to */
    OUTGOING_TLS,       /* the handshake */
    OUTGOING_TIMED_OUT, /* the time was over before any of it */
    OUTGOING_CAUSES
};

/* Of several addresses, the failure that says most: a refusal before silence,
 * silence before a missing route. */
struct outgoing_failure {
    enum outgoing_cause cause;
    struct errmsg why;   /* "connect to 192.0.2.1:1935: Connection refused" */
    struct addr refused; /* OUTGOING_EGRESS: an address that is not allowed */
};

struct outgoing; /* an attempt */

/* The attempt is over and forgotten.  socket is the handler's from now on
 * (conn_new() or conn_socket_close()); NULL when it failed, and failure says
 * how. */
typedef void outgoing_handler(void *arg, const struct conn_socket *socket,
                              const struct outgoing_failure *failure);

/* handler is called from the loop, never from here. */
struct outgoing *outgoing_start(struct loop *l, const struct outgoing_target *t,
                                outgoing_handler *handler, void *arg);
/* handler is not called.  NULL inside is fine. */
void outgoing_cancel(struct outgoing **o);

#endif

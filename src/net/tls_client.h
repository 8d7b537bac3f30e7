/*
 * TLS 1.2 and 1.3, client side: from a connected socket to one that is ready
 * for conn_new().
 *
 * A struct tls_client is whom we believe: the CAs of the system, or of one
 * file.  It is made before the process enters its sandbox, because it reads
 * them then and nothing later.  The certificate of whom we talk to must be
 * signed by one of them and be for the host that was asked for (RFC 6125: the
 * names in subjectAltName; an address for a host given as address).
 *
 * A handshake has no timer of its own: who begins it has one for all of the
 * connecting (net/outgoing.h).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_TLS_CLIENT_H
#define NET_TLS_CLIENT_H

#include "net/conn.h"

struct tls_client;

struct tls_client_options {
    struct str ca; /* PEM file, NUL terminated; empty: the system's CAs */
    bool insecure; /* takes every certificate, so anybody's; for tests and for
                      those who said so in so many words */
    bool ktls;     /* the kernel encrypts where it can */
};

/* NULL with err: which file, and what is wrong with it. */
struct tls_client *tls_client_new(const struct tls_client_options *o,
                                  struct errmsg *err);
/* Handshakes under way and connections go on. */
void tls_client_free(struct tls_client **t); /* NULL inside is fine */

struct tls_handshake; /* one that is under way */

/* The handshake is over and forgotten.  socket: the handler's from now on, with
 * its tls set; NULL: why says what went wrong ("certificate verify failed:
 * self-signed certificate"; short lived), and the descriptor is closed. */
typedef void tls_client_handler(void *arg, const struct conn_socket *socket,
                                const char *why);

/* Takes over s->fd, which is connected and does not block.  host is a name or
 * an address without brackets; a name is told to the peer as well (SNI).
 * handler is called from the loop, never from here.  NULL with errno, and
 * s->fd closed, when the system has no room for it or host is no host. */
struct tls_handshake *tls_client_begin(struct loop *l,
                                       const struct tls_client *t,
                                       const struct conn_socket *s,
                                       struct str host,
                                       tls_client_handler *handler, void *arg);
/* Closes the socket; handler is not called. */
void tls_client_cancel(struct tls_handshake **h); /* NULL inside is fine */

#endif

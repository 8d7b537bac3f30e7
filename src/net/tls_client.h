/*
 * TLS 1.2 and 1.3, client side: from a connected socket to one that is ready
 * for conn_new().
 *
 * A struct tls_client has the CAs that we trust: those of the system, or of one
 * file.  It reads them when it is made, before the process enters its sandbox.
 * One of them must have signed the server's certificate, which must be for the
 * host that the caller named (RFC 6125: the names in subjectAltName; an address
 * for a host given as address).
 *
 * A handshake has no timer of its own: the caller has one for the whole attempt
 * (net/outgoing.h).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_TLS_CLIENT_H
#define NET_TLS_CLIENT_H

#include "net/conn.h"

struct tls_client;

/* A certificate of ours, for servers that ask for one. */
struct tls_identity;
struct tls_pair; /* net/tls.h */

/* NULL with err: which file, and what is wrong with it. */
struct tls_identity *tls_identity_read(const struct tls_pair *pair,
                                       struct errmsg *err);
void tls_identity_free(struct tls_identity **i); /* NULL inside is fine */

struct tls_client_options {
    struct str ca; /* PEM file, NUL terminated; empty: the system's CAs */
    bool insecure; /* takes every certificate, so anybody's; for tests and where
                      an operator demands it by name */
    bool ktls;     /* the kernel encrypts where it can */
    const struct tls_identity *identity; /* NULL: we have none; borrowed during
                                            the call */
};

/* NULL with err: which file, and what is wrong with it. */
struct tls_client *tls_client_new(const struct tls_client_options *o,
                                  struct errmsg *err);
/* Handshakes under way and connections go on. */
void tls_client_free(struct tls_client **t); /* NULL inside is fine */

struct tls_handshake; /* one that is under way */

/* The handshake is over and freed.  The handler owns socket, which has its tls
 * set.  NULL: the handshake failed and the descriptor is closed; why has the
 * reason ("certificate verify failed: self-signed certificate"; short
 * lived). */
typedef void tls_client_handler(void *arg, const struct conn_socket *socket,
                                const char *why);

/* Takes over s->fd, which is connected and does not block.  host is a name or
 * an address without brackets; a name is sent to the peer as well (SNI).
 * handler is called from the loop, never from here.  NULL with errno, and s->fd
 * closed, when the system has no room for it or host is no host. */
struct tls_handshake *tls_client_begin(struct loop *l,
                                       const struct tls_client *t,
                                       const struct conn_socket *s,
                                       struct str host,
                                       tls_client_handler *handler, void *arg);
/* Closes the socket; handler is not called. */
void tls_client_cancel(struct tls_handshake **h); /* NULL inside is fine */

#endif

/*
 * TLS 1.2 and 1.3, server side, by OpenSSL 3.
 *
 * A struct tls_context has all that a listener needs: certificates with their
 * keys and the rules of the handshake.  The master makes it before it forks,
 * while it may read the keys; workers inherit and only read it.  It lives as
 * long as its generation.
 *
 * tls_accept() takes a fresh socket, waits for the handshake without blocking
 * and hands the socket on with its struct tls: conn_new() does the rest, and
 * nothing above net knows the difference.  A socket that sends nothing costs
 * a small struct: OpenSSL's state is made when its first byte is there.
 *
 * Renegotiation and compression are off; resumption is by tickets, whose keys
 * all workers share (net/tls_ticket.h).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_TLS_H
#define NET_TLS_H

#include "net/conn.h"

#define TLS_CERTIFICATES_MAX 64

/* ---- contexts ---- */

struct tls_context;

enum tls_version { TLS_1_2, TLS_1_3 };

enum tls_client_rule {
    TLS_VERIFY_ON,       /* clients must have a certificate */
    TLS_VERIFY_OPTIONAL, /* they may have one, which must be good then */
    TLS_VERIFY_ANY,      /* the same of anybody's: TLS_CLIENT_VERIFY tells */
};

struct tls_pair {
    struct str certificate; /* PEM file: the server's, then its chain */
    struct str key;         /* PEM file, without a passphrase */
};

/* All texts are NUL terminated as well. */
struct tls_options {
    struct tls_pair pairs[TLS_CERTIFICATES_MAX];
    size_t pair_count; /* the first is for clients that name none of ours */
    enum tls_version min_version, max_version;
    struct str ciphers;      /* of TLS 1.2, OpenSSL's notation */
    struct str ciphersuites; /* of TLS 1.3 */
    struct str groups;       /* for the key exchange */
    struct str client_ca;    /* PEM file: whose certificates clients have;
                                empty: none is asked for */
    enum tls_client_rule client_verify;
    int client_depth;      /* CAs between a client's certificate and one of
                              client_ca */
    struct str client_crl; /* PEM file: what the CAs have revoked; or empty */
    bool session_tickets;
    bool ktls; /* the kernel encrypts where it can */
    bool http; /* agrees on "http/1.1" (ALPN), and hands on clients that do not
                  speak TLS */
    int64_t session_timeout;   /* ms a ticket is good for */
    int64_t handshake_timeout; /* ms from accept to the end */
};

/* NULL with err: which file, and what is wrong with it. */
struct tls_context *tls_context_new(const struct tls_options *o,
                                    struct errmsg *err);
void tls_context_free(struct tls_context **t); /* NULL inside is fine */
/* When the first of its certificates expires, seconds since 1970. */
int64_t tls_expires(const struct tls_context *t);
/* Logs faults with which it works all the same: of dates, of the order of the
 * chain, of the rights to read the key. */
void tls_context_warn(const struct tls_context *t);

/* Names at one address that each have rules of their own. */
struct tls_share {
    /* By whose rules a handshake goes on for the name that the client asks for
     * (SNI; empty: it names none).  *place: for struct conn_socket. */
    const struct tls_context *(*choose)(const void *arg, struct str name,
                                        uint16_t *place);
    const void *arg;
    struct tls_context **others; /* all but the address's own: owned from now
                                    on by that */
    size_t count;
};
/* Handshakes begin by the rules of t, and go on by those that choose() says,
 * before anything is agreed on.  All that s points to outlives t. */
void tls_context_share(struct tls_context *t, const struct tls_share *s);

/* Whether the kernel encrypts: 0, or the errno that says why not.  It is asked
 * once. */
int tls_kernel_support(void);

/* ---- connections ---- */

/* The socket is the handler's from now on, with socket->tls set.  A server of
 * HTTP also gets a socket whose client did not begin with TLS, with
 * socket->not_tls set and nothing read from it. */
typedef void tls_accept_handler(void *arg, const struct conn_socket *socket);

/* Takes over s->fd.  A handshake that fails, or takes too long, is logged and
 * counted, and the socket closed; handler is not called then. */
void tls_accept(struct loop *l, const struct tls_context *t,
                const struct conn_socket *s, tls_accept_handler *handler,
                void *arg);
size_t tls_handshakes(void);   /* under way in this process */
void tls_accept_stop(void);    /* closes them */
void tls_free(struct tls **t); /* of a socket that no conn was made of */

/* Questions to a connection behind its handshake; the answers are written as
 * nginx writes them. */
enum tls_told {
    TLS_PROTOCOL,       /* "TLSv1.3" */
    TLS_CIPHER,         /* "TLS_AES_128_GCM_SHA256" */
    TLS_SERVER_NAME,    /* that the client has named (SNI) */
    TLS_SESSION_REUSED, /* "r" or "." */
    TLS_CLIENT_VERIFY,  /* "SUCCESS", "FAILED:why", "NONE": no certificate */
    /* Of the client's certificate. */
    TLS_CLIENT_S_DN, /* "CN=a,O=b" (RFC 2253) */
    TLS_CLIENT_I_DN,
    TLS_CLIENT_SERIAL,      /* hex */
    TLS_CLIENT_FINGERPRINT, /* SHA-1, hex */
    TLS_CLIENT_V_START,     /* "Jan  1 00:00:00 2026 GMT" */
    TLS_CLIENT_V_END,
    TLS_CLIENT_V_REMAIN,     /* days */
    TLS_CLIENT_ESCAPED_CERT, /* PEM, percent-encoded */
};
/* In pool; empty: there is no such thing. */
struct str tls_tell(const struct tls *t, enum tls_told what, struct pool *pool);

#endif

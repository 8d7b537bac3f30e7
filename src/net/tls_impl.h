/*
 * Shared by the tls_*.c files.
 *
 *   tls_context.c    the rules of handshakes
 *   tls_share.c      several names with rules of their own
 *   tls_handshake.c  what both sides do
 *   tls_accept.c     from an accepted socket on
 *   tls_conn.c       conn_ops
 *   tls_tell.c       what may be asked about a connection
 *   tls_error.c      complaints in words
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_TLS_IMPL_H
#define NET_TLS_IMPL_H

#include "base/pool.h"
#include "net/tls.h"
#include "net/tls_name.h"

#include <openssl/ssl.h>

/* The most plaintext of a record (RFC 8446, 5.1). */
#define TLS_RECORD 16384

struct tls_certificate {
    SSL_CTX *ssl; /* owned */
    struct tls_names names;
    int kind;                    /* of its key: EVP_PKEY_RSA, ... */
    const char *path, *key_path; /* in the pool */
    unsigned key_mode;           /* permission bits of the key's file */
    int64_t from, until;         /* seconds since 1970, of the whole chain */
    bool disordered;             /* one of the chain did not issue the one
                                    before it */
};

struct tls_context {
    struct pool *pool; /* owned; all that follows is in it */
    struct tls_certificate *each;
    struct tls_names *names; /* of each, for tls_choose() */
    size_t count;
    const char *groups; /* for SSL that are moved here */
    int64_t handshake_timeout;
    bool http;
    struct tls_share share; /* choose NULL: there is none */
};

/* A connection behind its handshake. */
struct tls {
    SSL *ssl;           /* owned */
    struct conn *conn;  /* borrowed; NULL before conn_new() */
    uint8_t *held;      /* owned: a record that the socket did not take whole */
    size_t held_len;    /* bytes of it, as the caller gave them */
    struct later again; /* reads bytes that OpenSSL has already */
    bool more;          /* there may be some */
    size_t allowance;   /* bytes that it may still take off the socket now */
    bool used_up;       /* it wanted more than that */
    bool broken;        /* an error: nothing can be sent any more */
    bool kernel;        /* the kernel encrypts what is sent */
};

/* tls_conn.c */
struct tls *tls_new(SSL *ssl); /* owns ssl */

/* tls_context.c */
/* Sets up OpenSSL as both sides of a connection need it. */
void tls_set_behaviour(SSL_CTX *ssl, bool ktls);

/* tls_handshake.c */
/* A step of a handshake: TLS_SHAKEN, TLS_SHAKING (io waits for the socket) or,
 * when it failed, the r of tls_failure(). */
enum { TLS_SHAKEN = 1, TLS_SHAKING = 2 };
int tls_shake(SSL *ssl, struct loop *l, struct io *io);

/* tls_error.c: the failure of OpenSSL's last call. */
/* The oldest error in OpenSSL's queue, which is the cause, as static text;
 * empties the queue. */
const char *tls_complaint(void);
/* Why a call on ssl that returned r (errno as it was left) failed; NULL: the
 * peer went. */
const char *tls_failure(SSL *ssl, int r);

#endif

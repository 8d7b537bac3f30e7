/*
 * Handshakes that we begin, and whom we believe.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/tls_client.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/tls_certificate.h"

#define HOST_MAX 256 /* bytes of a name, with its NUL */

struct tls_client {
    SSL_CTX *ssl; /* owned */
    bool insecure;
};

struct tls_identity {
    struct pool *pool; /* owned */
    struct tls_certificate certificate;
};

struct tls_handshake {
    struct io io;
    struct later destroy;
    struct loop *loop;         /* borrowed */
    struct conn_socket socket; /* fd is owned until it is handed on */
    SSL *ssl;                  /* owned until then */
    bool insecure;
    tls_client_handler *handler;
    void *arg;
};

/* ---- whom we believe ---- */

/* Where systems keep the CAs that all programs believe, in one file each: a
 * folder would be read while somebody waits, out of a sandbox. */
static const char *
system_file(void)
{
    static const char *const files[] = {
        "/etc/ssl/certs/ca-certificates.crt", /* Debian, Arch, Alpine */
        "/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora */
        "/etc/ssl/ca-bundle.pem",             /* SUSE */
        "/etc/ssl/cert.pem",
    };
    const char *path = getenv(X509_get_default_cert_file_env());

    if (path != NULL) {
        return path;
    }
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (access(files[i], R_OK) == 0) {
            return files[i];
        }
    }
    return X509_get_default_cert_file();
}

static int
believe(SSL_CTX *ssl, const struct tls_client_options *o, struct errmsg *err)
{
    const char *path = o->ca.len > 0 ? o->ca.ptr : system_file();
    const char *what = o->ca.len > 0
                           ? "the file of CAs"
                           : "the system's CAs (package ca-certificates)";

    if (o->insecure) {
        SSL_CTX_set_verify(ssl, SSL_VERIFY_NONE, NULL);
        return 0;
    }
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, NULL);
    if (tls_file_check(path, what, NULL, err) == -1) {
        return -1;
    }
    ERR_clear_error();
    if (SSL_CTX_load_verify_file(ssl, path) != 1) {
        return tls_file_refuse(path, what, PEM_CERTIFICATE, err);
    }
    return 0;
}

/* ---- who we are ---- */

struct tls_identity *
tls_identity_read(const struct tls_pair *pair, struct errmsg *err)
{
    struct tls_identity *i = mem_zero(sizeof(*i));

    i->pool = pool_new(1024);
    i->certificate.ssl = SSL_CTX_new(TLS_client_method());
    if (i->certificate.ssl == NULL) {
        errmsg_set(err, "OpenSSL: %s", tls_complaint());
        tls_identity_free(&i);
    } else if (tls_certificate_read(i->pool, pair, &i->certificate, err) ==
               -1) {
        tls_identity_free(&i);
    }
    return i;
}

void
tls_identity_free(struct tls_identity **i)
{
    if (*i != NULL) {
        SSL_CTX_free((*i)->certificate.ssl);
        pool_free(&(*i)->pool);
        mem_free(i);
    }
}

static int
use_identity(SSL_CTX *ssl, const struct tls_identity *i, struct errmsg *err)
{
    SSL_CTX *from = i->certificate.ssl;
    STACK_OF(X509) *chain = NULL;

    SSL_CTX_get0_chain_certs(from, &chain);
    if (SSL_CTX_use_cert_and_key(ssl, SSL_CTX_get0_certificate(from),
                                 SSL_CTX_get0_privatekey(from), chain,
                                 1) != 1) {
        return errmsg_set(err, "certificate %s: %s", i->certificate.path,
                          tls_complaint());
    }
    return 0;
}

/* ---- clients ---- */

struct tls_client *
tls_client_new(const struct tls_client_options *o, struct errmsg *err)
{
    struct tls_client *t = mem_zero(sizeof(*t));

    t->insecure = o->insecure;
    t->ssl = SSL_CTX_new(TLS_client_method());
    if (t->ssl == NULL ||
        SSL_CTX_set_min_proto_version(t->ssl, TLS1_2_VERSION) != 1) {
        errmsg_set(err, "OpenSSL: %s", tls_complaint());
        tls_client_free(&t);
        return NULL;
    }
    tls_set_behaviour(t->ssl, o->ktls);
    SSL_CTX_set_session_cache_mode(t->ssl, SSL_SESS_CACHE_OFF);
    if (believe(t->ssl, o, err) == -1 ||
        (o->identity != NULL && use_identity(t->ssl, o->identity, err) == -1)) {
        tls_client_free(&t);
    }
    return t;
}

void
tls_client_free(struct tls_client **t)
{
    if (*t != NULL) {
        SSL_CTX_free((*t)->ssl);
        mem_free(t);
    }
}

/* ---- handshakes ---- */

static void
destroy(struct later *later)
{
    struct tls_handshake *h = LIST_ITEM(later, struct tls_handshake, destroy);

    SSL_free(h->ssl);
    mem_free(&h);
}

static void
leave(struct tls_handshake *h)
{
    io_stop(h->loop, &h->io);
    loop_later(h->loop, &h->destroy);
}

static void
failed(struct tls_handshake *h, int r)
{
    char text[160];
    const char *why = tls_failure(h->ssl, r);
    long verdict = SSL_get_verify_result(h->ssl);

    if (!h->insecure && verdict != X509_V_OK) {
        snprintf(text, sizeof(text), "certificate verify failed: %s",
                 X509_verify_cert_error_string(verdict));
        why = text;
    }
    leave(h);
    conn_socket_close(&h->socket);
    h->handler(h->arg, NULL,
               why != NULL ? why : "the peer closed the connection");
}

static void
done(struct tls_handshake *h)
{
    struct conn_socket socket = h->socket;

    socket.tls = tls_new(h->ssl);
    h->ssl = NULL;
    leave(h);
    h->handler(h->arg, &socket, NULL);
}

static void
on_ready(struct io *io, unsigned ready)
{
    struct tls_handshake *h = LIST_ITEM(io, struct tls_handshake, io);

    (void)ready;

    int r = tls_shake(h->ssl, h->loop, &h->io);

    if (r == TLS_SHAKEN) {
        done(h);
    } else if (r != TLS_SHAKING) {
        failed(h, r);
    }
}

/* Whose certificate it has to be. */
static bool
set_host(SSL *ssl, struct str host)
{
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
    char name[HOST_MAX];
    struct addr a;

    if (host.len > 1 && host.ptr[host.len - 1] == '.') {
        host.len--;
    }
    if (host.len == 0 || host.len >= sizeof(name)) {
        return false;
    }
    str_copy(name, sizeof(name), host);
    if (addr_parse_ip(host, &a) == 0) {
        size_t len = a.family == AF_INET ? 4 : 16;

        return X509_VERIFY_PARAM_set1_ip(param, a.ip, len) == 1;
    }
    X509_VERIFY_PARAM_set_hostflags(param,
                                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                        X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    return X509_VERIFY_PARAM_set1_host(param, name, 0) == 1 &&
           SSL_set_tlsext_host_name(ssl, name) == 1;
}

static SSL *
new_ssl(const struct tls_client *t, int fd, struct str host)
{
    SSL *ssl = SSL_new(t->ssl);

    if (ssl == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    if (SSL_set_fd(ssl, fd) != 1 || !set_host(ssl, host)) {
        ERR_clear_error();
        SSL_free(ssl);
        errno = EINVAL;
        return NULL;
    }
    SSL_set_connect_state(ssl);
    return ssl;
}

static void
close_keeping_errno(const struct conn_socket *s)
{
    int why = errno;

    conn_socket_close(s);
    errno = why;
}

struct tls_handshake *
tls_client_begin(struct loop *l, const struct tls_client *t,
                 const struct conn_socket *s, struct str host,
                 tls_client_handler *handler, void *arg)
{
    SSL *ssl = new_ssl(t, s->fd, host);

    if (ssl == NULL) {
        close_keeping_errno(s);
        return NULL;
    }
    struct tls_handshake *h = mem_zero(sizeof(*h));

    io_init(&h->io);
    later_init(&h->destroy, destroy);
    h->loop = l;
    h->socket = *s;
    h->ssl = ssl;
    h->insecure = t->insecure;
    h->handler = handler;
    h->arg = arg;
    if (io_start(l, &h->io, s->fd, IO_WRITE, on_ready) == -1) {
        close_keeping_errno(s);
        SSL_free(ssl);
        mem_free(&h);
        return NULL;
    }
    return h;
}

void
tls_client_cancel(struct tls_handshake **h)
{
    if (*h != NULL) {
        leave(*h);
        conn_socket_close(&(*h)->socket);
        *h = NULL;
    }
}

/*
 * Making a context: the rules of the handshake, and what is asked while one
 * is under way.  Certificates are read by tls_certificate.c.
 *
 * There is one SSL_CTX a certificate, all with the same rules; a connection
 * begins with the first and is moved when the client has named another.  It is
 * given those for the same name that have a key of another kind besides, and
 * OpenSSL takes one that the client understands.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "net/sha256.h"
#include "net/tls_certificate.h"
#include "net/tls_ticket.h"

#define WARN_DAYS 14
#define DAY_S 86400

/* ---- tickets ---- */

static bool
init_mac(EVP_MAC_CTX *mac, const struct tls_ticket_key *key)
{
    char digest[] = "SHA256";
    uint8_t secret[sizeof(key->mac)];
    OSSL_PARAM params[3];

    memcpy(secret, key->mac, sizeof(secret));
    params[0] = OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, secret,
                                                  sizeof(secret));
    params[1] = OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest,
                                                 sizeof(digest) - 1);
    params[2] = OSSL_PARAM_construct_end();

    int done = EVP_MAC_CTX_set_params(mac, params);

    OPENSSL_cleanse(secret, sizeof(secret));
    return done == 1;
}

/* As SSL_CTX_set_tlsext_ticket_key_evp_cb(3) wants it: -1 error, 0 no ticket,
 * 1 done, 2 opened, and to be sealed anew. */
static int
on_ticket(SSL *ssl, unsigned char *name, unsigned char *iv,
          EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac, int seal)
{
    const struct tls_ticket_key *key;
    bool old = false;

    key = seal ? tls_ticket_newest() : tls_ticket_find(name, &old);
    if (key == NULL) {
        return 0;
    }
    if (seal) {
        memcpy(name, key->name, sizeof(key->name));
        if (RAND_bytes(iv, EVP_MAX_IV_LENGTH) != 1) {
            return -1;
        }
    }
    if (EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), NULL, key->cipher, iv,
                          seal) != 1 ||
        !init_mac(mac, key)) {
        return -1;
    }
    /* A client of TLS 1.3 shows a ticket once (RFC 8446, C.4). */
    return old || (!seal && SSL_version(ssl) == TLS1_3_VERSION) ? 2 : 1;
}

static void
set_tickets(SSL_CTX *ssl, const struct tls_options *o)
{
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_timeout(ssl, (long)(o->session_timeout / 1000));
    /* Tickets of a shared address are sealed by the context with which the
     * handshake began, whatever that has for itself. */
    SSL_CTX_set_tlsext_ticket_key_evp_cb(ssl, on_ticket);
    if (!o->session_tickets) {
        SSL_CTX_set_options(ssl, SSL_OP_NO_TICKET);
        SSL_CTX_set_num_tickets(ssl, 0);
    }
}

/* ---- what is asked while a handshake is under way ---- */

/* Whether an earlier one beside the chosen has a key of that kind. */
static bool
has_kind(const struct tls_context *t, size_t chosen, size_t before,
         struct str host)
{
    int kind = t->each[before].kind;

    for (size_t i = 0; i < before; i++) {
        if (t->each[i].kind == kind &&
            tls_names_agree(&t->names[chosen], &t->names[i], host)) {
            return true;
        }
    }
    return t->each[chosen].kind == kind;
}

/* A client that asks for no name of ours is shown the first certificate, or
 * one beside it that has its first name. */
static bool
add_others(SSL *ssl, const struct tls_context *t, size_t chosen,
           struct str host)
{
    const struct tls_names *names = &t->names[chosen];

    if (!tls_names_agree(names, names, host)) {
        host = names->count > 0 ? names->all[0] : STR_NONE;
    }
    for (size_t i = 0; i < t->count; i++) {
        SSL_CTX *from = t->each[i].ssl;
        STACK_OF(X509) *chain = NULL;

        if (!tls_names_agree(names, &t->names[i], host) ||
            has_kind(t, chosen, i, host)) {
            continue;
        }
        SSL_CTX_get0_chain_certs(from, &chain);
        if (SSL_use_cert_and_key(ssl, SSL_CTX_get0_certificate(from),
                                 SSL_CTX_get0_privatekey(from), chain,
                                 1) != 1) {
            return false;
        }
    }
    return true;
}

static int
on_server_name(SSL *ssl, int *alert, void *arg)
{
    const struct tls_context *t = arg;
    const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    struct str host = name != NULL ? str_from(name) : STR_NONE;
    size_t which = tls_choose(t->names, t->count, host);

    if (which > 0) {
        SSL_set_SSL_CTX(ssl, t->each[which].ssl);
    }
    if (t->count > 1 && !add_others(ssl, t, which, host)) {
        *alert = SSL_AD_INTERNAL_ERROR;
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    return name != NULL ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

/* One of the protocols that the client offers, each behind its length. */
static int
on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len,
        const unsigned char *in, unsigned in_len, void *arg)
{
    const struct str wanted = STR("http/1.1");

    (void)ssl;
    (void)arg;
    for (unsigned at = 0; at < in_len; at += 1u + in[at]) {
        if (at + 1u + in[at] <= in_len &&
            str_eq(str_of(in + at + 1, in[at]), wanted)) {
            *out = in + at + 1;
            *out_len = in[at];
            return SSL_TLSEXT_ERR_OK;
        }
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL; /* RFC 7301, 3.2 */
}

/* ---- rules ---- */

static int
version_of(enum tls_version v)
{
    return v == TLS_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION;
}

void
tls_set_behaviour(SSL_CTX *ssl, bool ktls)
{
    SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    /* Without its module OpenSSL would ask for it on each connection. */
    if (ktls && tls_kernel_support() != ENOENT) {
        SSL_CTX_set_options(ssl, SSL_OP_ENABLE_KTLS);
    }
    /* We keep bytes that the socket did not take elsewhere; an idle connection
     * keeps no buffers. */
    SSL_CTX_set_mode(ssl, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(ssl, 1);
}

static int
set_rules(SSL_CTX *ssl, const struct tls_options *o, struct errmsg *err)
{
    ERR_clear_error();
    if (SSL_CTX_set_min_proto_version(ssl, version_of(o->min_version)) != 1 ||
        SSL_CTX_set_max_proto_version(ssl, version_of(o->max_version)) != 1) {
        return errmsg_set(err, "this OpenSSL does not speak the versions");
    }
    if (SSL_CTX_set_cipher_list(ssl, o->ciphers.ptr) != 1) {
        return errmsg_set(err, "ciphers \"%s\": %s", o->ciphers.ptr,
                          tls_complaint());
    }
    if (SSL_CTX_set_ciphersuites(ssl, o->ciphersuites.ptr) != 1) {
        return errmsg_set(err, "ciphersuites \"%s\": %s", o->ciphersuites.ptr,
                          tls_complaint());
    }
    if (SSL_CTX_set1_groups_list(ssl, (char *)(uintptr_t)o->groups.ptr) != 1) {
        return errmsg_set(err, "groups \"%s\": %s", o->groups.ptr,
                          tls_complaint());
    }
    return 0;
}

/* Whose word a certificate needs. */
static int
load_client_ca(SSL_CTX *ssl, const char *path, struct errmsg *err)
{
    if (tls_file_check(path, "client_ca", NULL, err) == -1) {
        return -1;
    }
    ERR_clear_error();

    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(path);

    if (names == NULL || SSL_CTX_load_verify_file(ssl, path) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        return tls_file_refuse(path, "client_ca", PEM_CERTIFICATE, err);
    }
    SSL_CTX_set_client_CA_list(ssl, names);
    return 0;
}

static int
load_crl(SSL_CTX *ssl, const char *path, struct errmsg *err)
{
    X509_STORE *store = SSL_CTX_get_cert_store(ssl);
    X509_LOOKUP *files = X509_STORE_add_lookup(store, X509_LOOKUP_file());

    if (tls_file_check(path, "client_crl", NULL, err) == -1) {
        return -1;
    }
    ERR_clear_error();
    if (files == NULL ||
        X509_load_crl_file(files, path, X509_FILETYPE_PEM) < 1) {
        return tls_file_refuse(path, "client_crl", PEM_REVOKED, err);
    }
    X509_STORE_set_flags(store,
                         X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
    return 0;
}

/* A certificate that none of our CAs has issued may come in; others that are
 * wrong may not. */
static int
on_stranger(int good, X509_STORE_CTX *chain)
{
    switch (X509_STORE_CTX_get_error(chain)) {
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        return 1;
    default:
        return good;
    }
}

static int
set_clients(SSL_CTX *ssl, const struct tls_options *o, struct errmsg *err)
{
    bool any = o->client_verify == TLS_VERIFY_ANY;

    if (o->client_ca.len == 0 && !any) {
        return 0;
    }
    if (o->client_ca.len > 0 &&
        load_client_ca(ssl, o->client_ca.ptr, err) == -1) {
        return -1;
    }
    if (o->client_crl.len > 0 && load_crl(ssl, o->client_crl.ptr, err) == -1) {
        return -1;
    }
    SSL_CTX_set_verify_depth(ssl, o->client_depth);
    SSL_CTX_set_verify(ssl,
                       o->client_verify == TLS_VERIFY_ON
                           ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT
                           : SSL_VERIFY_PEER,
                       any ? on_stranger : NULL);
    return 0;
}

/* The digest of a certificate or of a list of revoked ones. */
static bool
digest_of(const X509_OBJECT *o, uint8_t *digest, unsigned *len)
{
    X509 *x = X509_OBJECT_get0_X509(o);
    X509_CRL *crl = X509_OBJECT_get0_X509_CRL((X509_OBJECT *)(uintptr_t)o);

    return (x != NULL && X509_digest(x, EVP_sha256(), digest, len) == 1) ||
           (crl != NULL &&
            X509_CRL_digest(crl, EVP_sha256(), digest, len) == 1);
}

/* A ticket is good where it could have been given: a listener that wants
 * certificates of some CAs takes none that was given elsewhere, or by other
 * rules. */
static void
set_session_context(SSL_CTX *ssl, const struct tls_options *o)
{
    STACK_OF(X509_OBJECT) *trusted =
        X509_STORE_get0_objects(SSL_CTX_get_cert_store(ssl));
    uint8_t id[DIGEST_SHA256] = { 0 };

    id[0] = (uint8_t)o->client_verify;
    id[1] = (uint8_t)o->client_depth;
    for (int i = 0; i < sk_X509_OBJECT_num(trusted); i++) {
        uint8_t digest[EVP_MAX_MD_SIZE];
        unsigned len = 0;

        if (digest_of(sk_X509_OBJECT_value(trusted, i), digest, &len)) {
            digest_hmac_sha256(id, sizeof(id), digest, len, id);
        }
    }
    SSL_CTX_set_session_id_context(ssl, id, sizeof(id));
}

/* ---- contexts ---- */

static int
fill_certificate(struct tls_context *t, const struct tls_options *o, size_t i,
                 struct errmsg *err)
{
    struct tls_certificate *c = &t->each[i];

    c->ssl = SSL_CTX_new(TLS_server_method());
    if (c->ssl == NULL) {
        return errmsg_set(err, "OpenSSL: %s", tls_complaint());
    }
    tls_set_behaviour(c->ssl, o->ktls);
    set_tickets(c->ssl, o);
    if (set_rules(c->ssl, o, err) == -1 ||
        tls_certificate_read(t->pool, &o->pairs[i], c, err) == -1 ||
        set_clients(c->ssl, o, err) == -1) {
        return -1;
    }
    set_session_context(c->ssl, o);
    SSL_CTX_set_tlsext_servername_callback(c->ssl, on_server_name);
    SSL_CTX_set_tlsext_servername_arg(c->ssl, t);
    if (o->http) {
        SSL_CTX_set_alpn_select_cb(c->ssl, on_alpn, NULL);
    }
    t->names[i] = c->names;
    return 0;
}

struct tls_context *
tls_context_new(const struct tls_options *o, struct errmsg *err)
{
    struct pool *pool = pool_new(4096);
    struct tls_context *t = pool_zero(pool, sizeof(*t));

    assert(o->pair_count > 0 && o->pair_count <= TLS_CERTIFICATES_MAX);
    t->pool = pool;
    t->count = o->pair_count;
    t->each = pool_zero(pool, t->count * sizeof(*t->each));
    t->names = pool_zero(pool, t->count * sizeof(*t->names));
    t->handshake_timeout = o->handshake_timeout;
    t->http = o->http;
    t->groups = pool_cstr(pool, o->groups);
    for (size_t i = 0; i < t->count; i++) {
        if (fill_certificate(t, o, i, err) == -1) {
            tls_context_free(&t);
            return NULL;
        }
    }
    return t;
}

void
tls_context_free(struct tls_context **t)
{
    if (*t == NULL) {
        return;
    }
    for (size_t i = 0; i < (*t)->count; i++) {
        SSL_CTX_free((*t)->each[i].ssl);
    }
    for (size_t i = 0; i < (*t)->share.count; i++) {
        tls_context_free(&(*t)->share.others[i]);
    }
    struct pool *pool = (*t)->pool;

    *t = NULL;
    pool_free(&pool);
}

int64_t
tls_expires(const struct tls_context *t)
{
    int64_t first = t->each[0].until;

    for (size_t i = 1; i < t->count; i++) {
        first = t->each[i].until < first ? t->each[i].until : first;
    }
    for (size_t i = 0; i < t->share.count; i++) {
        int64_t other = tls_expires(t->share.others[i]);

        first = other < first ? other : first;
    }
    return first;
}

static void
warn_of_dates(const struct tls_certificate *c, int64_t now)
{
    int64_t days = (c->until - now) / DAY_S;

    if (c->from > now) {
        log_warn("certificate %s: it is not valid yet", c->path);
    }
    if (c->until <= now) {
        log_warn("certificate %s: it has expired %lld days ago", c->path,
                 (long long)-days);
    } else if (days < WARN_DAYS) {
        log_warn("certificate %s: it expires in %lld days", c->path,
                 (long long)days);
    }
}

/* Whether an earlier one with a key of the same kind has that name. */
static bool
is_taken(const struct tls_context *t, size_t which, struct str name)
{
    for (size_t i = 0; i < which; i++) {
        for (size_t k = 0;
             t->each[i].kind == t->each[which].kind && k < t->names[i].count;
             k++) {
            if (str_eq_nocase(t->names[i].all[k], name)) {
                return true;
            }
        }
    }
    return false;
}

static void
warn_of_use(const struct tls_context *t, size_t which)
{
    const struct tls_names *names = &t->names[which];
    size_t taken = 0;

    while (taken < names->count && is_taken(t, which, names->all[taken])) {
        taken++;
    }
    if (which > 0 && taken == names->count) {
        log_warn("certificate %s is never shown: %s", t->each[which].path,
                 names->count == 0
                     ? "it has no name"
                     : "those in front of it have all its names, with a key "
                       "of the same kind");
    }
}

void
tls_context_warn(const struct tls_context *t)
{
    int64_t now = time(NULL);

    for (size_t i = 0; i < t->count; i++) {
        const struct tls_certificate *c = &t->each[i];

        warn_of_dates(c, now);
        warn_of_use(t, i);
        if (c->disordered) {
            log_warn("certificate %s: the chain is not in order, each issued "
                     "by the next: not every client will find its way",
                     c->path);
        }
        if ((c->key_mode & 040) != 0) {
            log_warn("certificate_key %s: its group may read it (mode %04o)",
                     c->key_path, c->key_mode);
        }
    }
    for (size_t i = 0; i < t->share.count; i++) {
        tls_context_warn(t->share.others[i]);
    }
}

static int
ask_kernel(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int why = 0;

    if (fd == -1) {
        return errno;
    }
    /* A kernel that can says only that there is no connection. */
    if (setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", 3) == -1 &&
        errno != ENOTCONN) {
        why = errno;
    }
    close(fd);
    return why;
}

int
tls_kernel_support(void)
{
    static int known = -1; /* of the master: a child may not ask */

    if (known == -1) {
        known = ask_kernel();
    }
    return known;
}

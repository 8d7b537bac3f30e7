/*
 * Answers about a connection's TLS and its client's certificate.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#include "net/tls_impl.h"

/* The text in bio, which is freed. */
static struct str
take(BIO *bio, bool good, struct pool *pool)
{
    char *data = NULL;
    long n = bio != NULL ? BIO_get_mem_data(bio, &data) : 0;
    struct str out =
        good && n > 0 ? pool_str(pool, str_of(data, (size_t)n)) : STR_NONE;

    BIO_free(bio);
    ERR_clear_error();
    return out;
}

static struct str
name_of(const X509_NAME *name, struct pool *pool)
{
    BIO *bio = BIO_new(BIO_s_mem());

    return take(bio,
                bio != NULL &&
                    X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253) >= 0,
                pool);
}

static struct str
serial_of(X509 *x, struct pool *pool)
{
    BIO *bio = BIO_new(BIO_s_mem());

    return take(bio,
                bio != NULL &&
                    i2a_ASN1_INTEGER(bio, X509_get0_serialNumber(x)) > 0,
                pool);
}

static struct str
time_of(const ASN1_TIME *t, struct pool *pool)
{
    BIO *bio = BIO_new(BIO_s_mem());

    return take(bio, bio != NULL && ASN1_TIME_print(bio, t) == 1, pool);
}

static struct str
days_left(X509 *x, struct pool *pool)
{
    int days = 0, seconds = 0;

    if (ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(x)) != 1) {
        ERR_clear_error();
        return STR_NONE;
    }
    return pool_printf(pool, "%d", days < 0 || seconds < 0 ? 0 : days);
}

static struct str
fingerprint_of(X509 *x, struct pool *pool)
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    char text[2 * EVP_MAX_MD_SIZE + 1];
    unsigned n = 0;

    if (X509_digest(x, EVP_sha1(), digest, &n) != 1) {
        ERR_clear_error();
        return STR_NONE;
    }
    for (unsigned i = 0; i < n; i++) {
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    }
    return pool_str(pool, str_of(text, 2 * (size_t)n));
}

static bool
stands_for_itself(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || (c != '\0' && strchr("-._~", c) != NULL);
}

static struct str
escape(struct str s, struct pool *pool)
{
    char *to = pool_alloc(pool, 3 * s.len + 1);
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++) {
        if (stands_for_itself(s.ptr[i])) {
            to[n++] = s.ptr[i];
        } else {
            snprintf(to + n, 4, "%%%02X", (unsigned char)s.ptr[i]);
            n += 3;
        }
    }
    return str_of(to, n);
}

static struct str
escaped_cert(X509 *x, struct pool *pool)
{
    BIO *bio = BIO_new(BIO_s_mem());
    bool good = bio != NULL && PEM_write_bio_X509(bio, x) == 1;

    return escape(take(bio, good, pool), pool);
}

static struct str
verdict_of(SSL *ssl, const X509 *x, struct pool *pool)
{
    long verdict = SSL_get_verify_result(ssl);

    if (x == NULL) {
        return STR("NONE");
    }
    return verdict == X509_V_OK
               ? STR("SUCCESS")
               : pool_printf(pool, "FAILED:%s",
                             X509_verify_cert_error_string(verdict));
}

static struct str
tell_certificate(X509 *x, enum tls_told what, struct pool *pool)
{
    switch (what) {
    case TLS_CLIENT_S_DN:
        return name_of(X509_get_subject_name(x), pool);
    case TLS_CLIENT_I_DN:
        return name_of(X509_get_issuer_name(x), pool);
    case TLS_CLIENT_SERIAL:
        return serial_of(x, pool);
    case TLS_CLIENT_FINGERPRINT:
        return fingerprint_of(x, pool);
    case TLS_CLIENT_V_START:
        return time_of(X509_get0_notBefore(x), pool);
    case TLS_CLIENT_V_END:
        return time_of(X509_get0_notAfter(x), pool);
    case TLS_CLIENT_V_REMAIN:
        return days_left(x, pool);
    case TLS_CLIENT_ESCAPED_CERT:
        return escaped_cert(x, pool);
    case TLS_PROTOCOL:
    case TLS_CIPHER:
    case TLS_SERVER_NAME:
    case TLS_SESSION_REUSED:
    case TLS_CLIENT_VERIFY:
        break;
    }
    return STR_NONE;
}

static struct str
copy(struct pool *pool, const char *text)
{
    return text != NULL ? pool_str(pool, str_from(text)) : STR_NONE;
}

struct str
tls_tell(const struct tls *t, enum tls_told what, struct pool *pool)
{
    X509 *x = SSL_get0_peer_certificate(t->ssl);

    switch (what) {
    case TLS_PROTOCOL:
        return copy(pool, SSL_get_version(t->ssl));
    case TLS_CIPHER:
        return copy(pool, SSL_get_cipher_name(t->ssl));
    case TLS_SERVER_NAME:
        return copy(pool,
                    SSL_get_servername(t->ssl, TLSEXT_NAMETYPE_host_name));
    case TLS_SESSION_REUSED:
        return SSL_session_reused(t->ssl) == 1 ? STR("r") : STR(".");
    case TLS_CLIENT_VERIFY:
        return verdict_of(t->ssl, x, pool);
    case TLS_CLIENT_S_DN:
    case TLS_CLIENT_I_DN:
    case TLS_CLIENT_SERIAL:
    case TLS_CLIENT_FINGERPRINT:
    case TLS_CLIENT_V_START:
    case TLS_CLIENT_V_END:
    case TLS_CLIENT_V_REMAIN:
    case TLS_CLIENT_ESCAPED_CERT:
        break;
    }
    return x != NULL ? tell_certificate(x, what, pool) : STR_NONE;
}

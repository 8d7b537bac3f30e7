/*
 * Signatures by OpenSSL 3.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/signature.h"

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>

#include "base/mem.h"
#include "net/pem.h"
#include "net/sha256.h"

#define P256_NAME "prime256v1"
#define P256_BYTES 32

struct signature_key {
    enum signature_kind kind;
    EVP_PKEY *public;      /* owned; RS256, ES256 */
    unsigned char *secret; /* owned; HS256 */
    size_t secret_len;
};

/* ---- keys ---- */

static struct signature_key *
new_key(enum signature_kind kind, EVP_PKEY *public)
{
    struct signature_key *k = mem_zero(sizeof(*k));

    k->kind = kind;
    k->public = public;
    return k;
}

struct signature_key *
signature_secret(struct str secret, struct errmsg *err)
{
    struct signature_key *k;

    if (secret.len < SIGNATURE_SECRET_MIN || secret.len > INT_MAX) {
        errmsg_set(err, "the secret must have at least %d bytes, not %zu",
                   SIGNATURE_SECRET_MIN, secret.len);
        return NULL;
    }
    k = new_key(SIGNATURE_HS256, NULL);
    k->secret = (unsigned char *)mem_dup(secret.ptr, secret.len);
    k->secret_len = secret.len;
    return k;
}

static bool
is_p256(const EVP_PKEY *p)
{
    char group[64];

    return EVP_PKEY_is_a(p, "EC") &&
           EVP_PKEY_get_group_name(p, group, sizeof(group), NULL) == 1 &&
           strcmp(group, P256_NAME) == 0;
}

/* Owns p: a key, or NULL with err when it is not of the kind. */
static struct signature_key *
check_public(enum signature_kind kind, EVP_PKEY *p, struct errmsg *err)
{
    bool rsa = kind == SIGNATURE_RS256;

    ERR_clear_error();
    if (p == NULL) {
        errmsg_set(err, "not a public key");
    } else if (rsa && !EVP_PKEY_is_a(p, "RSA")) {
        errmsg_set(err, "not an RSA key");
    } else if (rsa && EVP_PKEY_get_bits(p) < SIGNATURE_RSA_MIN) {
        errmsg_set(err, "the RSA key must have at least %d bits, not %d",
                   SIGNATURE_RSA_MIN, EVP_PKEY_get_bits(p));
    } else if (!rsa && !is_p256(p)) {
        errmsg_set(err, "not an EC key on P-256");
    } else {
        return new_key(kind, p);
    }
    EVP_PKEY_free(p);
    return NULL;
}

/* The key of a certificate; NULL if there is none. */
static EVP_PKEY *
read_certificate(BIO *bio)
{
    X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    EVP_PKEY *p = cert != NULL ? X509_get_pubkey(cert) : NULL;

    X509_free(cert);
    return p;
}

struct signature_key *
signature_pem(enum signature_kind kind, struct str pem, struct errmsg *err)
{
    BIO *bio = BIO_new_mem_buf(pem.ptr, pem.len < INT_MAX ? (int)pem.len : 0);
    enum pem_kind instead = pem_instead(pem, PEM_PUBLIC_KEY);
    EVP_PKEY *p = NULL;

    if (bio != NULL) {
        p = PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL);
        if (p == NULL && BIO_reset(bio) == 1) {
            p = read_certificate(bio);
        }
    }
    BIO_free(bio);
    if (p == NULL && instead != PEM_KINDS && instead != PEM_CERTIFICATE) {
        ERR_clear_error();
        errmsg_set(err, "it holds a %s, not a %s", pem_name(instead),
                   pem_name(PEM_PUBLIC_KEY));
        return NULL;
    }
    return check_public(kind, p, err);
}

/* A public key of what was built; frees the builder. */
static EVP_PKEY *
make_public(const char *type, OSSL_PARAM_BLD *built)
{
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(built);
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    EVP_PKEY *p = NULL;

    if (params == NULL || ctx == NULL || EVP_PKEY_fromdata_init(ctx) != 1 ||
        EVP_PKEY_fromdata(ctx, &p, EVP_PKEY_PUBLIC_KEY, params) != 1) {
        p = NULL;
    }
    EVP_PKEY_CTX_free(ctx);
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(built);
    return p;
}

struct signature_key *
signature_rsa(struct str n, struct str e, struct errmsg *err)
{
    OSSL_PARAM_BLD *b = OSSL_PARAM_BLD_new();
    BIGNUM *modulus = BN_bin2bn((const unsigned char *)n.ptr, (int)n.len, NULL);
    BIGNUM *exponent =
        BN_bin2bn((const unsigned char *)e.ptr, (int)e.len, NULL);
    EVP_PKEY *p;

    OSSL_PARAM_BLD_push_BN(b, OSSL_PKEY_PARAM_RSA_N, modulus);
    OSSL_PARAM_BLD_push_BN(b, OSSL_PKEY_PARAM_RSA_E, exponent);
    p = make_public("RSA", b);
    BN_free(modulus);
    BN_free(exponent);
    return check_public(SIGNATURE_RS256, p, err);
}

struct signature_key *
signature_p256(struct str x, struct str y, struct errmsg *err)
{
    unsigned char point[1 + 2 * P256_BYTES] = { POINT_CONVERSION_UNCOMPRESSED };
    OSSL_PARAM_BLD *b;

    if (x.len != P256_BYTES || y.len != P256_BYTES) {
        errmsg_set(err, "the coordinates of a point on P-256 have %d bytes",
                   P256_BYTES);
        return NULL;
    }
    memcpy(point + 1, x.ptr, P256_BYTES);
    memcpy(point + 1 + P256_BYTES, y.ptr, P256_BYTES);
    b = OSSL_PARAM_BLD_new();
    OSSL_PARAM_BLD_push_utf8_string(b, OSSL_PKEY_PARAM_GROUP_NAME, P256_NAME,
                                    0);
    OSSL_PARAM_BLD_push_octet_string(b, OSSL_PKEY_PARAM_PUB_KEY, point,
                                     sizeof(point));
    return check_public(SIGNATURE_ES256, make_public("EC", b), err);
}

void
signature_free(struct signature_key **k)
{
    if (*k == NULL) {
        return;
    }
    EVP_PKEY_free((*k)->public);
    if ((*k)->secret != NULL) {
        explicit_bzero((*k)->secret, (*k)->secret_len);
        mem_free(&(*k)->secret);
    }
    mem_free(k);
}

enum signature_kind
signature_kind(const struct signature_key *k)
{
    return k->kind;
}

/* ---- checking ---- */

static bool
holds_secret(const struct signature_key *k, struct str data, struct str sig)
{
    uint8_t own[DIGEST_SHA256];

    digest_hmac_sha256(k->secret, k->secret_len, data.ptr, data.len, own);
    return sig.len == sizeof(own) && digest_equal(own, sig.ptr, sizeof(own));
}

static bool
holds_public(const struct signature_key *k, struct str data, struct str sig)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool holds =
        ctx != NULL &&
        EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, k->public) == 1 &&
        EVP_DigestVerify(ctx, (const unsigned char *)sig.ptr, sig.len,
                         (const unsigned char *)data.ptr, data.len) == 1;

    EVP_MD_CTX_free(ctx);
    ERR_clear_error();
    return holds;
}

/* JOSE has r and s side by side, OpenSSL wants them in DER. */
static bool
holds_p256(const struct signature_key *k, struct str data, struct str sig)
{
    const unsigned char *raw = (const unsigned char *)sig.ptr;
    unsigned char *der = NULL;
    ECDSA_SIG *pair;
    bool holds = false;
    int n;

    if (sig.len != 2 * P256_BYTES) {
        return false;
    }
    pair = ECDSA_SIG_new();
    ECDSA_SIG_set0(pair, BN_bin2bn(raw, P256_BYTES, NULL),
                   BN_bin2bn(raw + P256_BYTES, P256_BYTES, NULL));
    n = i2d_ECDSA_SIG(pair, &der);
    if (n > 0) {
        holds = holds_public(k, data, str_of(der, (size_t)n));
    }
    OPENSSL_free(der);
    ECDSA_SIG_free(pair);
    return holds;
}

bool
signature_holds(const struct signature_key *k, struct str data, struct str sig)
{
    switch (k->kind) {
    case SIGNATURE_HS256:
        return holds_secret(k, data, sig);
    case SIGNATURE_RS256:
        return holds_public(k, data, sig);
    case SIGNATURE_ES256:
        return holds_p256(k, data, sig);
    }
    return false;
}

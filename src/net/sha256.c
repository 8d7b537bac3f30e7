/*
 * Digests by OpenSSL.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/sha256.h"

#include <assert.h>
#include <limits.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/params.h>
#include <string.h>

#include "base/mem.h"

void
digest_sha256(const void *data, size_t len, uint8_t out[DIGEST_SHA256])
{
    unsigned made = 0;
    int done = EVP_Digest(data, len, out, &made, EVP_sha256(), NULL);

    assert(done == 1 && made == DIGEST_SHA256);
    (void)done;
}

/* ---- piece by piece ---- */

struct digest_sum {
    EVP_MD_CTX *context; /* owned */
};

struct digest_sum *
digest_begin_sha256(void)
{
    struct digest_sum *d = mem_zero(sizeof(*d));

    d->context = EVP_MD_CTX_new();
    assert(d->context != NULL &&
           EVP_DigestInit_ex(d->context, EVP_sha256(), NULL) == 1);
    return d;
}

void
digest_add(struct digest_sum *d, const void *data, size_t len)
{
    int done = EVP_DigestUpdate(d->context, data, len);

    assert(done == 1);
    (void)done;
}

void
digest_end(struct digest_sum *d, uint8_t out[DIGEST_SHA256])
{
    unsigned made = 0;
    int done = EVP_DigestFinal_ex(d->context, out, &made);

    assert(done == 1 && made == DIGEST_SHA256);
    (void)done;
}

void
digest_free(struct digest_sum **d)
{
    if (*d != NULL) {
        EVP_MD_CTX_free((*d)->context);
        mem_free(d);
    }
}

/* ---- all at once ---- */

void
digest_sha1(const void *data, size_t len, uint8_t out[DIGEST_SHA1])
{
    unsigned made = 0;
    int done = EVP_Digest(data, len, out, &made, EVP_sha1(), NULL);

    assert(done == 1 && made == DIGEST_SHA1);
    (void)done;
}

void
digest_hmac_sha256(const void *key, size_t key_len, const void *data,
                   size_t len, uint8_t out[DIGEST_SHA256])
{
    unsigned made = 0;

    assert(key_len <= INT_MAX);
    /* To HMAC() a NULL key means the one before. */
    const unsigned char *done = HMAC(EVP_sha256(), key != NULL ? key : "",
                                     (int)key_len, data, len, out, &made);

    assert(done != NULL && made == DIGEST_SHA256);
    (void)done;
}

/* ---- a key that signs many texts ---- */

struct digest_key {
    EVP_MAC_CTX *mac; /* fetched, and knows its digest */
    bool kept;        /* it keeps the key as well; see keeps_key() */
    size_t len;
    uint8_t key[];
};

/* key: NULL: that of the text before. */
static bool
sign(EVP_MAC_CTX *mac, const uint8_t *key, size_t key_len, const void *data,
     size_t len, uint8_t out[DIGEST_SHA256])
{
    size_t made = 0;

    return EVP_MAC_init(mac, key, key_len, NULL) == 1 &&
           EVP_MAC_update(mac, data, len) == 1 &&
           EVP_MAC_final(mac, out, &made, DIGEST_SHA256) == 1 &&
           made == DIGEST_SHA256;
}

/* Whether the key need not be given for each text, which spares two rounds of
 * the digest.  Without it OpenSSL 3.0.0 to 3.0.2 do not begin a new text. */
static bool
keeps_key(const struct digest_key *k)
{
    uint8_t first[DIGEST_SHA256], again[DIGEST_SHA256];
    bool kept = sign(k->mac, k->key, k->len, "", 0, first) &&
                sign(k->mac, NULL, 0, "", 0, again) &&
                digest_equal(first, again, sizeof(first));

    ERR_clear_error(); /* of a library that refused: TLS would find it */
    return kept;
}

struct digest_key *
digest_key_new(const void *key, size_t key_len)
{
    char name[] = "SHA256";
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name, 0),
        OSSL_PARAM_construct_end(),
    };
    struct digest_key *k = mem_alloc(sizeof(*k) + key_len);
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    int done;

    k->mac = EVP_MAC_CTX_new(hmac);
    EVP_MAC_free(hmac); /* the context holds it */
    done = EVP_MAC_CTX_set_params(k->mac, params);
    assert(done == 1);
    (void)done;
    k->len = key_len;
    memcpy(k->key, key, key_len);
    k->kept = keeps_key(k);
    return k;
}

void
digest_key_free(struct digest_key **k)
{
    if (*k != NULL) {
        EVP_MAC_CTX_free((*k)->mac);
        OPENSSL_cleanse((*k)->key, (*k)->len);
        mem_free(k);
    }
}

void
digest_key_sign(struct digest_key *k, const void *data, size_t len,
                uint8_t out[DIGEST_SHA256])
{
    bool done = k->kept ? sign(k->mac, NULL, 0, data, len, out)
                        : sign(k->mac, k->key, k->len, data, len, out);

    assert(done);
    (void)done;
}

/* ---- others ---- */

int
digest_md5(const void *data, size_t len, uint8_t out[DIGEST_MD5])
{
    return EVP_Digest(data, len, out, NULL, EVP_md5(), NULL) == 1 ? 0 : -1;
}

bool
digest_equal(const void *a, const void *b, size_t n)
{
    return CRYPTO_memcmp(a, b, n) == 0;
}

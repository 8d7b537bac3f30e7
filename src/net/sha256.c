/*
 * Digests by OpenSSL.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/sha256.h"

#include <assert.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

void
digest_sha256(const void *data, size_t len, uint8_t out[DIGEST_SHA256])
{
    unsigned made = 0;
    int done = EVP_Digest(data, len, out, &made, EVP_sha256(), NULL);

    assert(done == 1 && made == DIGEST_SHA256);
    (void)done;
}

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

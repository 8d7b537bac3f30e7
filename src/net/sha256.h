/*
 * Digests by OpenSSL, which only this folder includes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_SHA256_H
#define NET_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIGEST_SHA256 32 /* bytes */
#define DIGEST_MD5 16
#define DIGEST_SHA1 20

void digest_sha256(const void *data, size_t len, uint8_t out[DIGEST_SHA256]);
/* The same of data that comes piece by piece. */
struct digest_sum;
struct digest_sum *digest_begin_sha256(void);
void digest_add(struct digest_sum *d, const void *data, size_t len);
void digest_end(struct digest_sum *d, uint8_t out[DIGEST_SHA256]);
void digest_free(struct digest_sum **d);
void digest_hmac_sha256(const void *key, size_t key_len, const void *data,
                        size_t len, uint8_t out[DIGEST_SHA256]);

/* A key that signs many short texts, one after the other, for which OpenSSL
 * looks up the digest once. */
struct digest_key;
struct digest_key *digest_key_new(const void *key, size_t key_len);
void digest_key_free(struct digest_key **k);
/* As digest_hmac_sha256(). */
void digest_key_sign(struct digest_key *k, const void *data, size_t len,
                     uint8_t out[DIGEST_SHA256]);

/* Only for the handshake of WebSockets, which has no secret (RFC 6455 10.8). */
void digest_sha1(const void *data, size_t len, uint8_t out[DIGEST_SHA1]);
/* Only for logins of old protocols that demand it. 0; -1 where the system
 * forbids MD5. */
int digest_md5(const void *data, size_t len, uint8_t out[DIGEST_MD5]);
/* Takes the same time wherever a and b differ. */
bool digest_equal(const void *a, const void *b, size_t n);

#endif

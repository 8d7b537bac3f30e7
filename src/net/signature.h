/*
 * Checking signatures by OpenSSL: a key knows the one algorithm it is for,
 * so that no signer can choose a weaker one, or have a public key taken for a
 * shared secret.
 *
 * The master makes the keys; other processes inherit them and only read.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_SIGNATURE_H
#define NET_SIGNATURE_H

#include "base/errmsg.h"
#include "base/str.h"

#include <stdbool.h>

/* Names of RFC 7518, 3.1. */
enum signature_kind {
    SIGNATURE_HS256, /* HMAC with SHA-256 */
    SIGNATURE_RS256, /* RSASSA-PKCS1-v1_5 with SHA-256 */
    SIGNATURE_ES256, /* ECDSA on P-256 with SHA-256, r and s in 32 bytes each */
};

#define SIGNATURE_SECRET_MIN 32 /* bytes of a shared secret (RFC 7518, 3.2) */
#define SIGNATURE_RSA_MIN 2048  /* bits of a modulus (RFC 7518, 3.3) */

struct signature_key;

/* A shared secret; NULL with err when it is too short. */
struct signature_key *signature_secret(struct str secret, struct errmsg *err);
/* The public key in a PEM text ("PUBLIC KEY" or a certificate), which must be
 * of the kind: RSA, or a point on P-256.  NULL with err. */
struct signature_key *signature_pem(enum signature_kind kind, struct str pem,
                                    struct errmsg *err);
/* The same from the numbers of a JWK (RFC 7518, 6): bytes, big endian. */
struct signature_key *signature_rsa(struct str n, struct str e,
                                    struct errmsg *err);
struct signature_key *signature_p256(struct str x, struct str y,
                                     struct errmsg *err);
void signature_free(struct signature_key **k);

enum signature_kind signature_kind(const struct signature_key *k);
/* Whether sig is that key's signature of data. */
bool signature_holds(const struct signature_key *k, struct str data,
                     struct str sig);

#endif

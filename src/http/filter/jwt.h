/*
 * JSON Web Tokens (RFC 7519) signed as RFC 7515 says, checked the strict way
 * of RFC 8725: the algorithm is the key's, never the token's choice; the
 * signature is checked before anything of the payload is looked at; every
 * token ends at some time.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_FILTER_JWT_H
#define HTTP_FILTER_JWT_H

#include "base/pool.h"
#include "net/signature.h"

#define JWT_MAX 8192    /* bytes of a token; more is malformed */
#define JWT_KEYS_MAX 32 /* of one set of rules */

struct jwt_key {
    struct str id; /* "kid"; empty: it has none, and is tried for all */
    struct signature_key *key;
};

/* A claim that must be there: a string that equals value, an array that has
 * it, or ("scope") a list of words with it.  Empty value: any at all. */
struct jwt_claim {
    struct str name, value;
};

struct jwt_rules {
    struct jwt_key keys[JWT_KEYS_MAX];
    size_t key_count;
    struct str issuer;           /* "iss"; empty: any */
    const struct str *audiences; /* one of them is in "aud"; none: any */
    size_t audience_count;
    const struct jwt_claim *required;
    size_t required_count;
    int64_t leeway; /* seconds that clocks may differ */
};

enum jwt_result {
    JWT_GOOD,
    JWT_MALFORMED,
    JWT_ALGORITHM, /* no key for it ("none" among them) */
    JWT_SIGNATURE,
    JWT_EXPIRED,
    JWT_NO_EXPIRY,
    JWT_EARLY, /* "nbf" or "iat" lies ahead */
    JWT_ISSUER,
    JWT_AUDIENCE,
    JWT_CLAIMS, /* all of it is right but the claims that are required */
};

/* now: seconds since 1970.  *subject: "sub" of a good token, or empty. */
enum jwt_result jwt_check(struct pool *pool, const struct jwt_rules *rules,
                          struct str token, int64_t now, struct str *subject);
const char *jwt_result_text(enum jwt_result result);

#endif

/*
 * The keys and tokens of RFC 7515, appendix A, and tokens signed here.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TESTS_UNIT_HTTP_TOKENS_H
#define TESTS_UNIT_HTTP_TOKENS_H

#include <string.h>

#include "base/pool.h"
#include "net/sha256.h"

/* A.1, A.2, A.3: one key each, named after its kind. */
#define RFC_JWKS                                                              \
    "{\"keys\":["                                                             \
    "{\"kty\":\"oct\",\"kid\":\"hs\",\"k\":"                                  \
    "\"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hc" \
    "gUuTwjAzZr1Z9CAow\"},"                                                   \
    "{\"kty\":\"RSA\",\"e\":\"AQAB\",\"n\":"                                  \
    "\"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-" \
    "4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2j" \
    "Z47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WT" \
    "BEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-D" \
    "WNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ\"},"        \
    "{\"kty\":\"EC\",\"crv\":\"P-256\","                                      \
    "\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","                  \
    "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"},"                 \
    "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"unknown to us\"}]}"

#define RFC_CLAIMS                                                           \
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLm" \
    "NvbS9pc19yb290Ijp0cnVlfQ"
#define RFC_EXPIRY 1300819380 /* "exp" of all of them; "iss" is "joe" */
#define RFC_HS256                                          \
    "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9." RFC_CLAIMS \
    ".dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
#define RFC_RS256                                                             \
    "eyJhbGciOiJSUzI1NiJ9." RFC_CLAIMS                                        \
    ".cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm" \
    "4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f" \
    "_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOL" \
    "n6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUT" \
    "I8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
#define RFC_ES256                                                           \
    "eyJhbGciOiJFUzI1NiJ9." RFC_CLAIMS                                      \
    ".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQ" \
    "xfKTUJqPP3-Kg6NU1Q"

#define OUR_SECRET "0123456789abcdef0123456789abcdef"

static inline struct str
base64url(struct pool *pool, const void *data, size_t n)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmno"
                                  "pqrstuvwxyz0123456789-_";
    const uint8_t *in = data;
    char *out = pool_alloc(pool, n * 2 + 4);
    size_t len = 0;
    uint32_t bits = 0;
    unsigned have = 0;

    for (size_t i = 0; i < n; i++) {
        bits = bits << 8 | in[i];
        for (have += 8; have >= 6; have -= 6) {
            out[len++] = letters[bits >> (have - 6) & 63];
        }
    }
    if (have > 0) {
        out[len++] = letters[bits << (6 - have) & 63];
    }
    return str_of(out, len);
}

/* A token with that header and payload, signed with OUR_SECRET. */
static inline struct str
sign(struct pool *pool, const char *header, const char *payload)
{
    uint8_t sig[DIGEST_SHA256];
    struct str text = pool_printf(
        pool, "%.*s.%.*s", STR_ARGS(base64url(pool, header, strlen(header))),
        STR_ARGS(base64url(pool, payload, strlen(payload))));

    digest_hmac_sha256(OUR_SECRET, strlen(OUR_SECRET), text.ptr, text.len, sig);
    return pool_printf(pool, "%.*s.%.*s", STR_ARGS(text),
                       STR_ARGS(base64url(pool, sig, sizeof(sig))));
}

#endif

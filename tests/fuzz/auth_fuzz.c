/*
 * What a client puts into Authorization: its form, and tokens in it.
 *
 * Twice: as it comes (no such token may be good: nobody knows the key), and
 * taken as the header and payload of a token, split at the first NUL, that
 * is signed rightly, so that what lies behind the signature is reached too.
 *
 * covers: src/http/filter/authorization.c src/http/filter/jwt.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "http/filter/auth.h"
#include "http/filter/authorization.h"

#define SECRET "0123456789abcdef0123456789abcdef"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct auth_rule rule;

static void
make_rule(void)
{
    static const struct jwt_claim required[] = {
        { { "scope", 5 }, { "write", 5 } },
        { { "sub", 3 }, { "", 0 } },
    };
    static const struct str audiences[] = { { "weir", 4 } };
    struct errmsg err;
    static struct pool *pool; /* for the life of the process */

    pool = pool_new(256);
    if (auth_add_key(pool, signature_secret(STR(SECRET), &err), STR("k"), &rule,
                     &err) == -1) {
        abort();
    }
    rule.jwt.required = required;
    rule.jwt.required_count = 2;
    rule.jwt.audiences = audiences;
    rule.jwt.audience_count = 1;
    rule.jwt.issuer = STR("me");
}

static struct str
encode(struct pool *pool, struct str s)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmno"
                                  "pqrstuvwxyz0123456789-_";
    char *out = pool_alloc(pool, s.len * 2 + 4);
    size_t n = 0;
    uint32_t bits = 0;
    unsigned have = 0;
    struct str back;

    for (size_t i = 0; i < s.len; i++) {
        bits = bits << 8 | (uint8_t)s.ptr[i];
        for (have += 8; have >= 6; have -= 6) {
            out[n++] = letters[bits >> (have - 6) & 63];
        }
    }
    if (have > 0) {
        out[n++] = letters[bits << (6 - have) & 63];
    }
    if (!base64_decode(pool, BASE64_URL, str_of(out, n), &back) ||
        !str_eq(back, s)) {
        abort();
    }
    return str_of(out, n);
}

static struct str
sign(struct pool *pool, struct str header, struct str payload)
{
    uint8_t sig[DIGEST_SHA256];
    struct str text =
        pool_printf(pool, "%.*s.%.*s", STR_ARGS(encode(pool, header)),
                    STR_ARGS(encode(pool, payload)));

    digest_hmac_sha256(SECRET, strlen(SECRET), text.ptr, text.len, sig);
    return pool_printf(pool, "%.*s.%.*s", STR_ARGS(text),
                       STR_ARGS(encode(pool, str_of(sig, sizeof(sig)))));
}

static void
try_as_it_comes(struct pool *pool, struct str value)
{
    struct authorization a;
    struct str subject;

    authorization_parse(pool, value, &a);
    if (a.kind == AUTHORIZATION_BASIC &&
        a.user.len + a.password.len >= value.len) {
        abort(); /* base64 does not make things longer */
    }
    if (jwt_check(pool, &rule.jwt, a.token, 1000, &subject) == JWT_GOOD ||
        jwt_check(pool, &rule.jwt, value, 1000, &subject) == JWT_GOOD) {
        abort();
    }
}

static void
try_signed(struct pool *pool, struct str value)
{
    struct str payload = value, subject;
    struct str header = str_cut(&payload, '\0');
    struct str token = sign(pool, header, payload);
    enum jwt_result result = jwt_check(pool, &rule.jwt, token, 1000, &subject);

    /* A signature that is right is never called wrong. */
    if (result == JWT_SIGNATURE) {
        abort();
    }
    if (jwt_check(pool, &rule.jwt, str_first(token, token.len - 1), 1000,
                  &subject) == JWT_GOOD) {
        abort();
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pool *pool = pool_new(1024);

    if (rule.jwt.key_count == 0) {
        make_rule();
    }
    try_as_it_comes(pool, str_of(data, size));
    try_signed(pool, str_of(data, size));
    pool_free(&pool);
    return 0;
}

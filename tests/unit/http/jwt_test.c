/*
 * Signed tokens: the examples of RFC 7515, and everything a forger tries.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>

#include "http/filter/auth.h"
#include "tokens.h"

#define H "{\"alg\":\"HS256\"}"
#define NOW 1000000

static struct pool *pool;
static struct auth_rule rfc, ours;

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    pool = pool_new(4096);
    if (auth_add_jwks(pool, STR(RFC_JWKS), 7, &rfc, &err) == -1) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(rfc.jwt.key_count, 3);
    return auth_add_key(pool, signature_secret(STR(OUR_SECRET), &err), STR_NONE,
                        &ours, &err);
}

static int
tear_down(void **state)
{
    (void)state;
    pool_free(&pool);
    return 0;
}

static enum jwt_result
check_rfc(const char *token, int64_t now)
{
    struct str subject;

    return jwt_check(pool, &rfc.jwt, str_from(token), now, &subject);
}

static enum jwt_result
check(const char *header, const char *payload)
{
    struct str subject;

    return jwt_check(pool, &ours.jwt, sign(pool, header, payload), NOW,
                     &subject);
}

static void
test_examples_of_the_rfc(void **state)
{
    (void)state;
    assert_int_equal(check_rfc(RFC_HS256, RFC_EXPIRY - 1), JWT_GOOD);
    assert_int_equal(check_rfc(RFC_RS256, RFC_EXPIRY - 1), JWT_GOOD);
    assert_int_equal(check_rfc(RFC_ES256, RFC_EXPIRY - 1), JWT_GOOD);
    assert_int_equal(check_rfc(RFC_ES256, RFC_EXPIRY), JWT_EXPIRED);
    rfc.jwt.leeway = 30;
    assert_int_equal(check_rfc(RFC_ES256, RFC_EXPIRY + 29), JWT_GOOD);
    assert_int_equal(check_rfc(RFC_ES256, RFC_EXPIRY + 30), JWT_EXPIRED);
    rfc.jwt.leeway = 0;
    rfc.jwt.issuer = STR("joe");
    assert_int_equal(check_rfc(RFC_RS256, 0), JWT_GOOD);
    rfc.jwt.issuer = STR("jo");
    assert_int_equal(check_rfc(RFC_RS256, 0), JWT_ISSUER);
    rfc.jwt.issuer = STR_NONE;
}

/* Any change of any letter is noticed (the last one of a part may be refused
 * as bits left over). */
static void
test_every_letter_counts(void **state)
{
    static const char *const tokens[] = { RFC_HS256, RFC_RS256, RFC_ES256 };
    char text[1000];

    (void)state;
    for (size_t t = 0; t < 3; t++) {
        size_t n = strlen(tokens[t]);

        for (size_t i = 0; i < n; i += t == 0 ? 1 : 13) {
            memcpy(text, tokens[t], n + 1);
            text[i] = text[i] == 'A' ? 'B' : 'A';
            assert_int_not_equal(check_rfc(text, 0), JWT_GOOD);
        }
        memcpy(text, tokens[t], n);
        text[n - 1] = '\0';
        assert_int_not_equal(check_rfc(text, 0), JWT_GOOD);
    }
}

static void
test_forms(void **state)
{
    static const char *const bad[] = {
        "",     ".",  "..",          "a.b",          "a.b.c.d",   "e30.e30.",
        "e30.", "..", "e30=.e30.AA", " e30.e30.AA ", "e30.e30.A",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_not_equal(check_rfc(bad[i], 0), JWT_GOOD);
    }
    assert_int_equal(check(H, "{\"exp\":2000000}"), JWT_GOOD);
    assert_int_equal(check(H, "[1]"), JWT_MALFORMED);
    assert_int_equal(check(H, "{\"exp\":2000000"), JWT_MALFORMED);
    assert_int_equal(check(H, "{\"exp\":2000000,\"exp\":3}"), JWT_MALFORMED);
    assert_int_equal(check("[]", "{\"exp\":2000000}"), JWT_MALFORMED);
}

/* RFC 8725: the algorithm is never the token's to choose. */
static void
test_algorithm(void **state)
{
    static const char *const names[] = {
        "none", "None", "NONE", "hs256", "HS384", "RS256", "ES256", "HS256 ",
    };
    char header[64];

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(header, sizeof(header), "{\"alg\":\"%s\"}", names[i]);
        assert_int_equal(check(header, "{\"exp\":2000000}"), JWT_ALGORITHM);
    }
    assert_int_equal(check("{}", "{\"exp\":2000000}"), JWT_ALGORITHM);
    assert_int_equal(check("{\"alg\":[\"HS256\"]}", "{\"exp\":2000000}"),
                     JWT_ALGORITHM);
    /* "none" without a signature. */
    assert_int_not_equal(check_rfc("eyJhbGciOiJub25lIn0." RFC_CLAIMS ".", 0),
                         JWT_GOOD);
    assert_int_equal(check_rfc("eyJhbGciOiJub25lIn0." RFC_CLAIMS ".AAAA", 0),
                     JWT_ALGORITHM);
}

static void
test_header(void **state)
{
    (void)state;
#define WITH(more) "{\"alg\":\"HS256\"," more "}"
#define CLAIMS "{\"exp\":2000000}"
    assert_int_equal(check(WITH("\"typ\":\"jwt\""), CLAIMS), JWT_GOOD);
    assert_int_equal(check(WITH("\"typ\":\"at+jwt\""), CLAIMS), JWT_GOOD);
    assert_int_equal(check(WITH("\"typ\":\"secevent+jwt\""), CLAIMS),
                     JWT_MALFORMED);
    assert_int_equal(check(WITH("\"typ\":7"), CLAIMS), JWT_MALFORMED);
    assert_int_equal(check(WITH("\"crit\":[\"x\"],\"x\":1"), CLAIMS),
                     JWT_MALFORMED);
    assert_int_equal(check(WITH("\"kid\":\"any\""), CLAIMS), JWT_GOOD);
}

/* A key with an id is not tried for tokens that name another. */
static void
test_key_id(void **state)
{
    struct auth_rule two = { .kind = AUTH_JWT };
    struct errmsg err;
    struct str subject;

    (void)state;
    assert_int_equal(auth_add_key(pool, signature_secret(STR(OUR_SECRET), &err),
                                  STR("one"), &two, &err),
                     0);
    assert_int_equal(
        jwt_check(pool, &two.jwt, sign(pool, H, CLAIMS), NOW, &subject),
        JWT_GOOD);
    assert_int_equal(jwt_check(pool, &two.jwt,
                               sign(pool, WITH("\"kid\":\"one\""), CLAIMS), NOW,
                               &subject),
                     JWT_GOOD);
    assert_int_equal(jwt_check(pool, &two.jwt,
                               sign(pool, WITH("\"kid\":\"two\""), CLAIMS), NOW,
                               &subject),
                     JWT_ALGORITHM);
}

static void
test_times(void **state)
{
    (void)state;
    assert_int_equal(check(H, "{}"), JWT_NO_EXPIRY);
    assert_int_equal(check(H, "{\"exp\":1000000}"), JWT_EXPIRED);
    assert_int_equal(check(H, "{\"exp\":1000000.5}"), JWT_GOOD);
    assert_int_equal(check(H, "{\"exp\":\"2000000\"}"), JWT_MALFORMED);
    assert_int_equal(check(H, "{\"exp\":null}"), JWT_MALFORMED);
    assert_int_equal(check(H, "{\"exp\":-1}"), JWT_MALFORMED);
    assert_int_equal(check(H, "{\"exp\":1e300}"), JWT_MALFORMED);
    assert_int_equal(check(H, "{\"exp\":2000000,\"nbf\":1000001}"), JWT_EARLY);
    assert_int_equal(check(H, "{\"exp\":2000000,\"nbf\":1000000}"), JWT_GOOD);
    assert_int_equal(check(H, "{\"exp\":2000000,\"iat\":1000001}"), JWT_EARLY);
    assert_int_equal(check(H, "{\"exp\":2000000,\"iat\":true}"), JWT_MALFORMED);
}

static void
test_audience(void **state)
{
    static const struct str wanted[] = { { "a", 1 }, { "b", 1 } };

    (void)state;
    ours.jwt.audiences = wanted;
    ours.jwt.audience_count = 2;
    assert_int_equal(check(H, CLAIMS), JWT_AUDIENCE);
    assert_int_equal(check(H, "{\"exp\":2000000,\"aud\":\"b\"}"), JWT_GOOD);
    assert_int_equal(check(H, "{\"exp\":2000000,\"aud\":\"ab\"}"),
                     JWT_AUDIENCE);
    assert_int_equal(check(H, "{\"exp\":2000000,\"aud\":[\"x\",\"a\"]}"),
                     JWT_GOOD);
    assert_int_equal(check(H, "{\"exp\":2000000,\"aud\":[\"x\",1]}"),
                     JWT_AUDIENCE);
    ours.jwt.audience_count = 0;
}

static enum jwt_result
check_claim(const char *name, const char *value, const char *claims)
{
    const struct jwt_claim wanted = { str_from(name), str_from(value) };
    char payload[256];
    enum jwt_result result;

    snprintf(payload, sizeof(payload), "{\"exp\":2000000,%s}", claims);
    ours.jwt.required = &wanted;
    ours.jwt.required_count = 1;
    result = check(H, payload);
    ours.jwt.required_count = 0;
    return result;
}

static void
test_required_claims(void **state)
{
    (void)state;
    assert_int_equal(check_claim("x", "", "\"y\":1"), JWT_CLAIMS);
    assert_int_equal(check_claim("x", "", "\"x\":null"), JWT_GOOD);
    assert_int_equal(check_claim("x", "1", "\"x\":1"), JWT_GOOD);
    assert_int_equal(check_claim("x", "1", "\"x\":12"), JWT_CLAIMS);
    assert_int_equal(check_claim("x", "true", "\"x\":true"), JWT_GOOD);
    assert_int_equal(check_claim("x", "a", "\"x\":\"a\""), JWT_GOOD);
    assert_int_equal(check_claim("x", "a", "\"x\":\"a b\""), JWT_CLAIMS);
    assert_int_equal(check_claim("x", "a", "\"x\":[\"b\",\"a\"]"), JWT_GOOD);
    assert_int_equal(check_claim("x", "a", "\"x\":{\"a\":1}"), JWT_CLAIMS);
    assert_int_equal(check_claim("scope", "write", "\"scope\":\"read write\""),
                     JWT_GOOD);
    assert_int_equal(check_claim("scope", "write", "\"scope\":\"rewrite\""),
                     JWT_CLAIMS);
}

static void
test_size(void **state)
{
    static char payload[JWT_MAX + 100];
    struct str subject;

    (void)state;
    memset(payload, ' ', sizeof(payload) - 1);
    memcpy(payload, CLAIMS, strlen(CLAIMS));
    assert_int_equal(
        jwt_check(pool, &ours.jwt, sign(pool, H, payload), NOW, &subject),
        JWT_MALFORMED);
    assert_int_equal(
        jwt_check(pool, &ours.jwt,
                  sign(pool, H, "{\"exp\":2000000,\"sub\":\"ann\"}"), NOW,
                  &subject),
        JWT_GOOD);
    assert_true(str_eq(subject, STR("ann")));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples_of_the_rfc),
        cmocka_unit_test(test_every_letter_counts),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_algorithm),
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_key_id),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_audience),
        cmocka_unit_test(test_required_claims),
        cmocka_unit_test(test_size),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}

/*
 * Lists and files of tokens, users and keys.
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
#include <string.h>

#include "http/filter/auth.h"
#include "tokens.h"

#define HASH "$2y$04$R9KAWhGvJ6DFiKQi6keiVO0bjPNYbRUgusG/WG/E/LiEwXgpsNtYG"

static struct pool *pool;

static int
set_up(void **state)
{
    (void)state;
    pool = pool_new(4096);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    pool_free(&pool);
    return 0;
}

static void
test_tokens(void **state)
{
    static const struct str list[] = { { "token-of-the-list", 17 } };
    struct auth_rule rule = { .kind = AUTH_BEARER };
    struct errmsg err;

    (void)state;
    assert_int_equal(auth_make_bearer(pool, list, 1,
                                      STR("# mine\n\n  first-of-the-file \r\n"
                                          "second-of-the-file"),
                                      &rule, &err),
                     0);
    assert_int_equal(rule.token_count, 3);
    assert_true(auth_knows_token(&rule, STR("token-of-the-list")));
    assert_true(auth_knows_token(&rule, STR("first-of-the-file")));
    assert_true(auth_knows_token(&rule, STR("second-of-the-file")));
    assert_false(auth_knows_token(&rule, STR("second-of-the-fil")));
    assert_false(auth_knows_token(&rule, STR("# mine")));
    assert_false(auth_knows_token(&rule, STR_NONE));
}

static void
refuses_tokens(struct str file, const char *part)
{
    struct auth_rule rule = { .kind = AUTH_BEARER };
    struct errmsg err;

    assert_int_equal(auth_make_bearer(pool, NULL, 0, file, &rule, &err), -1);
    assert_non_null(strstr(err.text, part));
}

static void
test_tokens_that_are_none(void **state)
{
    (void)state;
    refuses_tokens(STR("# nothing\n"), "no token");
    refuses_tokens(STR("\nshort\n"), "line 2: a token must have at least 16");
    refuses_tokens(STR("a token with blanks\n"), "line 1: a token has only");
    refuses_tokens(STR("a-token-with-\"quotes\""), "only letters");
}

static void
test_users(void **state)
{
    struct auth_rule rule = { .kind = AUTH_BASIC };
    struct errmsg err;

    (void)state;
    assert_int_equal(auth_make_basic(pool,
                                     STR("zoe:" HASH "\n# c\nann:" HASH "\r\n"),
                                     &rule, &err),
                     0);
    assert_int_equal(rule.user_count, 2);
    assert_true(str_eq(auth_find_user(&rule, STR("ann"))->hash, STR(HASH)));
    assert_non_null(auth_find_user(&rule, STR("zoe")));
    assert_null(auth_find_user(&rule, STR("an")));
    assert_null(auth_find_user(&rule, STR("ann:")));
    assert_null(auth_find_user(&rule, STR_NONE));
}

static void
refuses_users(struct str file, const char *part)
{
    struct auth_rule rule = { .kind = AUTH_BASIC };
    struct errmsg err;

    assert_int_equal(auth_make_basic(pool, file, &rule, &err), -1);
    assert_non_null(strstr(err.text, part));
    assert_null(strstr(err.text, "secret"));
}

static void
test_users_that_are_none(void **state)
{
    (void)state;
    refuses_users(STR(""), "no user");
    refuses_users(STR("ann:" HASH "\nann:" HASH), "stands twice");
    refuses_users(STR("\nann\n"), "line 2: must be \"user:hash\"");
    refuses_users(STR(":" HASH), "line 1: must be");
    refuses_users(STR("ann:secret"), "line 1: the hash of \"ann\" is none");
    refuses_users(STR("ann:{SHA}secret="), "the hash of \"ann\" is none");
}

static void
test_keys_that_are_none(void **state)
{
    static const struct {
        const char *text, *part;
    } bad[] = {
        { "{", "not valid JSON" },
        { "{}", "no array \"keys\"" },
        { "{\"keys\":{}}", "no array \"keys\"" },
        { "{\"keys\":[{\"kty\":\"oct\",\"k\":\"c2hvcnQ\"}]}",
          "key 1: the secret must have at least 32 bytes, not 5" },
        { "{\"keys\":[{\"kty\":\"oct\",\"k\":\"a b\"}]}", "not base64url" },
        { "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}]}",
          "at least 2048 bits" },
        { "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AQAB\","
          "\"y\":\"AQAB\"}]}",
          "have 32 bytes" },
        { "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\","
          "\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
          "\"y\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\"}]}",
          "not a public key" }, /* not on the curve */
    };
    struct errmsg err;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct auth_rule rule = { .kind = AUTH_JWT };

        assert_int_equal(
            auth_add_jwks(pool, str_from(bad[i].text), 7, &rule, &err), -1);
        if (strstr(err.text, bad[i].part) == NULL) {
            fail_msg("%s: %s", bad[i].text, err.text);
        }
    }
}

/* Keys for other algorithms than are wanted are passed over, good or bad. */
static void
test_keys_of_others(void **state)
{
    struct auth_rule rule = { .kind = AUTH_JWT };
    struct errmsg err;

    (void)state;
    assert_int_equal(
        auth_add_jwks(pool, STR(RFC_JWKS), 1U << SIGNATURE_ES256, &rule, &err),
        0);
    assert_int_equal(rule.jwt.key_count, 1);
    assert_int_equal(signature_kind(rule.jwt.keys[0].key), SIGNATURE_ES256);
    assert_int_equal(
        auth_add_jwks(pool,
                      STR("{\"keys\":[{\"kty\":\"oct\",\"use\":\"enc\"},"
                          "{\"kty\":\"RSA\",\"alg\":\"RS512\"}]}"),
                      7, &rule, &err),
        0);
    assert_int_equal(rule.jwt.key_count, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_tokens_that_are_none),
        cmocka_unit_test(test_users),
        cmocka_unit_test(test_users_that_are_none),
        cmocka_unit_test(test_keys_that_are_none),
        cmocka_unit_test(test_keys_of_others),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}

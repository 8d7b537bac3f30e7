/*
 * Signed addresses, and tokens in the query: what they open.
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

#include "base/hash.h"
#include "http/filter/auth.h"
#include "http/http.h"

#define FOLDER "/live/room/0123/"

static struct auth_rule rule = { .kind = AUTH_BEARER };
static const struct http_auth auth = { .rules = &rule, .rule_count = 1 };
static const struct http_location location = { .auth = &auth };
static struct http_request request;

static int
setup(void **state)
{
    (void)state;
    hash_init();
    rule.query = STR("token");
    request = (struct http_request){
        .pool = pool_new(256),
        .method = STR("GET"),
        .path = STR(FOLDER "7.m4s"),
        .query = STR_NONE,
        .location = &location,
    };
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    pool_free(&request.pool);
    return 0;
}

static bool
opens(const char *method, const char *path, struct str query)
{
    request.method = str_from(method);
    request.path = str_from(path);
    request.query = query;
    return auth_is_signed(&request);
}

static void
test_a_signature_opens_its_folder(void **state)
{
    struct str query = http_sign_folder(&request, STR(FOLDER));
    struct str twice = pool_printf(request.pool, "%.*s&%.*s", STR_ARGS(query),
                                   STR_ARGS(query));

    (void)state;
    assert_true(opens("GET", FOLDER "7.m4s", query));
    assert_true(opens("HEAD", FOLDER "init.mp4", query));
    assert_true(opens("GET", FOLDER, query));
    assert_false(opens("POST", FOLDER "7.m4s", query));
    assert_false(opens("GET", "/live/room/0124/7.m4s", query));
    assert_false(opens("GET", "/live/room/0123", query));
    assert_false(opens("GET", FOLDER "more/7.m4s", query));
    assert_false(opens("GET", FOLDER "7.m4s", twice));
    assert_false(opens("GET", FOLDER "7.m4s", STR_NONE));
    rule.query = STR_NONE; /* the location takes no proof in the query */
    assert_false(opens("GET", FOLDER "7.m4s", query));
    assert_int_equal(http_sign_folder(&request, STR(FOLDER)).len, 0);
}

/* Each character of it counts: the hour cannot be put off. */
static void
test_a_changed_signature_opens_nothing(void **state)
{
    struct str query = http_sign_folder(&request, STR(FOLDER));

    (void)state;
    for (size_t i = sizeof("signed=") - 1; i < query.len; i++) {
        for (const char *c = "0123456789abcdef-"; *c != '\0'; c++) {
            struct str other = pool_str(request.pool, query);

            if (query.ptr[i] != *c) {
                ((char *)(uintptr_t)other.ptr)[i] = *c;
                assert_false(opens("GET", FOLDER "7.m4s", other));
            }
        }
    }
    assert_false(opens("GET", FOLDER "7.m4s", str_first(query, query.len - 1)));
    assert_false(opens("GET", FOLDER "7.m4s",
                       pool_printf(request.pool, "%.*s0", STR_ARGS(query))));
}

static void
test_a_token_goes_on_as_it_was_sent(void **state)
{
    static const struct http_header header = { { "Authorization", 13 },
                                               { "Bearer x", 8 } };
    struct str token;

    (void)state;
    request.query = STR("a=b&token=one%2Ftwo");
    assert_true(auth_query_token(&request, &rule, &token));
    assert_true(str_eq(token, STR("one/two")));
    assert_true(str_eq(http_query_proof(&request), STR("token=one%2Ftwo")));
    request.headers = &header;
    request.header_count = 1;
    assert_int_equal(http_query_proof(&request).len, 0);
    request.header_count = 0;
    request.query = STR("token=one&token=two");
    assert_false(auth_query_token(&request, &rule, &token));
    assert_int_equal(http_query_proof(&request).len, 0);
    request.query = STR("tokens=one");
    assert_false(auth_query_token(&request, &rule, &token));
    rule.query = STR_NONE;
    request.query = STR("token=one");
    assert_false(auth_query_token(&request, &rule, &token));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_signature_opens_its_folder),
        TEST(test_a_changed_signature_opens_nothing),
        TEST(test_a_token_goes_on_as_it_was_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

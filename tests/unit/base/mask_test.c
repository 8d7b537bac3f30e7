/*
 * What counts as a secret, and what stays as it is.
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

#include <string.h>

#include "base/mask.h"

static void
check(const char *text, const char *masked)
{
    char copy[256];

    str_copy(copy, sizeof(copy), str_from(text));
    mask_secrets(copy, strlen(copy));
    assert_string_equal(copy, masked);
}

static void
test_headers(void **state)
{
    (void)state;
    check("Authorization: Basic Zm9v\r\nHost: x\r\n",
          "Authorization: **********\r\nHost: x\r\n");
    check("proxy-authorization:x\nset-cookie: a=b; c",
          "proxy-authorization:*\nset-cookie: ******");
    check("X-API-Key: 12", "X-API-Key: **");
}

static void
test_queries(void **state)
{
    (void)state;
    check("GET /a?b=c&d HTTP/1.1\r\n", "GET /a?***** HTTP/1.1\r\n");
    check("publish live/room?key=abc", "publish live/room?*******");
}

static void
test_words(void **state)
{
    (void)state;
    check("token=abc&x=1 password: pass", "token=***&x=1 password: ****");
    check("\"secret\":\"s\"", "\"secret\":\"s\"");
    check("secret=\"s t\" x", "secret=\"***\" x");
    check("secret=\"s t\nx", "secret=\"***\nx");
    check("stream key=", "stream key=");
}

/* What is told of within a secret may go on behind its end. */
static void
test_secrets_within_each_other(void **state)
{
    (void)state;
    check("?Authorization: Basic Zm9v\nx", "?*************************\nx");
    check("?a password: pass x", "?* password: **** x");
    check("?apassword: pass x", "?*************** x");
    check("key=password:\"s t\" x", "key=*************\" x");
    check("cookie: key=a b", "cookie: *******");
}

static void
test_nothing_to_mask(void **state)
{
    (void)state;
    check("", "");
    check("kick sess 1:2", "kick sess 1:2");
    check("the token of the key", "the token of the key");
}

/* Only the bytes that are given are touched, wherever they end. */
static void
test_bounds(void **state)
{
    char text[] = "Cookie: abcdef";

    (void)state;
    mask_secrets(text, 10);
    assert_string_equal(text, "Cookie: **cdef");
    for (size_t n = 0; n < sizeof(text); n++) {
        mask_secrets(text, n);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_queries),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_secrets_within_each_other),
        cmocka_unit_test(test_nothing_to_mask),
        cmocka_unit_test(test_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

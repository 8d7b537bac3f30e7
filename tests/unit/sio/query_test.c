/*
 * Queries of Engine.IO: which error comes first.
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

#include "engine_help.h"

static void
gives(enum engine_error expected, const char *transport, const char *eio,
      const char *sid, const char *method)
{
    struct engine_query query = {
        .transport = str_from(transport),
        .eio = str_from(eio),
        .sid = str_from(sid),
    };
    bool is_upgrade = method[0] == '^';

    assert_int_equal(
        engine_check_query(&query, str_from(method + is_upgrade), is_upgrade),
        expected);
}

static void
test_what_is_right(void **state)
{
    (void)state;
    gives(ENGINE_OK, "polling", "4", "", "GET");
    gives(ENGINE_OK, "websocket", "4", "", "^GET");
    gives(ENGINE_OK, "polling", "4", "x", "GET");
    gives(ENGINE_OK, "polling", "4", "x", "POST");
    gives(ENGINE_OK, "websocket", "4", "x", "^GET");
    /* The handshake alone has a version; the session answers for the rest. */
    gives(ENGINE_OK, "polling", "", "x", "PUT");
    gives(ENGINE_OK, "polling", "4", "x", "^GET");
}

static void
test_transports(void **state)
{
    (void)state;
    gives(ENGINE_TRANSPORT_UNKNOWN, "", "4", "", "GET");
    gives(ENGINE_TRANSPORT_UNKNOWN, "abc", "4", "", "GET");
    gives(ENGINE_TRANSPORT_UNKNOWN, "Polling", "4", "", "GET");
    gives(ENGINE_TRANSPORT_UNKNOWN, "webtransport", "4", "", "^GET");
    /* Before all other errors. */
    gives(ENGINE_TRANSPORT_UNKNOWN, "abc", "3", "x", "PUT");
}

static void
test_methods(void **state)
{
    static const char *const others[] = { "POST", "PUT",   "HEAD",
                                          "get",  "PATCH", "OPTIONS" };

    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        gives(ENGINE_BAD_METHOD, "polling", "4", "", others[i]);
    }
    gives(ENGINE_BAD_METHOD, "websocket", "3", "", "POST");
}

static void
test_upgrades(void **state)
{
    (void)state;
    gives(ENGINE_BAD_REQUEST, "websocket", "4", "", "GET");
    gives(ENGINE_BAD_REQUEST, "websocket", "3", "", "GET");
    gives(ENGINE_BAD_REQUEST, "polling", "4", "", "^GET");
}

static void
test_versions(void **state)
{
    (void)state;
    gives(ENGINE_BAD_VERSION, "polling", "", "", "GET");
    gives(ENGINE_BAD_VERSION, "polling", "3", "", "GET");
    gives(ENGINE_BAD_VERSION, "polling", "abc", "", "GET");
    gives(ENGINE_BAD_VERSION, "polling", "44", "", "GET");
    gives(ENGINE_BAD_VERSION, "websocket", "3", "", "^GET");
}

static void
test_bodies(void **state)
{
    static const char *const texts[] = {
        "Transport unknown",
        "Session ID unknown",
        "Bad handshake method",
        "Bad request",
        "Forbidden",
        "Unsupported protocol version",
    };
    char expected[100];

    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        snprintf(expected, sizeof(expected), "{\"code\":%u,\"message\":\"%s\"}",
                 i, texts[i]);
        assert_true(str_eq(engine_error_body((enum engine_error)i),
                           str_from(expected)));
        assert_string_equal(engine_error_text((enum engine_error)i), texts[i]);
        assert_int_equal(engine_error_status((enum engine_error)i),
                         i == ENGINE_FORBIDDEN ? 403 : 400);
    }
    assert_int_equal(engine_error_status(ENGINE_FULL), 503);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_right), cmocka_unit_test(test_transports),
        cmocka_unit_test(test_methods),       cmocka_unit_test(test_upgrades),
        cmocka_unit_test(test_versions),      cmocka_unit_test(test_bodies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

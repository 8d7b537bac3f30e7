/*
 * A process that takes nothing new, but gives idle connections some time.
 * (Draining is for good, so this is a program of its own.)
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

#include "serve.h"

static enum http_result
on_get(struct http_request *r, void *state)
{
    (void)state;
    return http_reply(r, 200, NULL, STR("served"));
}

static const struct http_route routes[] = {
    { "GET", "/get", on_get, NULL },
    { NULL, NULL, NULL, NULL },
};
static const struct http_layer layers[] = { { .module = "test",
                                              .routes = routes } };
static const struct http_location locations[] = {
    { .path = { "/", 1 },
      .client_max_body_size = 1000,
      .layers = layers,
      .layer_count = 1 },
};
static const struct http_server server = { .settings = SERVE_SETTINGS,
                                           .locations = locations,
                                           .location_count = 1 };

/* A request may be on its way: there is some time for it. */
static void
test_grace(void **state)
{
    struct errmsg err;
    struct loop *l = loop_new(&err);
    struct client late = client_open(l, &server);
    struct client asks = client_open(l, &server);
    struct client gone = client_open(l, &server);

    (void)state;
    client_say(&late, "GET /get HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears(&late, "served"));
    client_say(&asks, "GET /get HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears(&asks, "served"));
    client_close(&gone);
    http_drain(300);

    /* Two at once: both are answered, the last one ends it. */
    client_say(&asks, "GET /get HTTP/1.1\r\nHost: a\r\n\r\n"
                      "GET /get HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears_end(&asks));
    assert_int_equal(client_count(&asks, "served"), 3);
    assert_int_equal(client_count(&asks, "Connection: close"), 1);

    assert_true(client_hears_end(&late));
    assert_int_equal(client_count(&late, "Connection: close"), 0);
    client_close(&late);
    client_close(&asks);
    for (int i = 0; i < 4; i++) {
        loop_turn(l, 0);
    }
    assert_int_equal(http_connections(), 0);
    loop_free(&l);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

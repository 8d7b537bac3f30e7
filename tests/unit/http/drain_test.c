/*
 * A process that takes nothing new: which connections end, and when.
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

static struct http_request *waiting;

static enum http_result
on_get(struct http_request *r, void *state)
{
    (void)state;
    return http_reply(r, 200, NULL, STR("served"));
}

static enum http_result
on_wait(struct http_request *r, void *state)
{
    (void)state;
    if (waiting == NULL) {
        waiting = r;
        return HTTP_WAIT;
    }
    return http_reply(r, 200, NULL, STR("waited"));
}

static const struct http_route routes[] = {
    { "GET", "/get", on_get, NULL },
    { "GET", "/wait", on_wait, NULL },
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

static void
test_drain(void **state)
{
    struct errmsg err;
    struct loop *l = loop_new(&err);
    struct client fresh = client_open(l, &server);
    struct client idle = client_open(l, &server);
    struct client busy = client_open(l, &server);
    struct client half = client_open(l, &server);

    (void)state;
    client_say(&idle, "GET /get HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears(&idle, "served"));
    client_say(&busy, "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    client_say(&half, "GET /get HTTP/1.1\r\nHost:");
    while (waiting == NULL) {
        client_turn(&busy, 100);
    }

    http_drain(0);
    assert_true(client_hears_end(&idle));
    assert_int_equal(http_connections(), 3);

    http_resume(waiting);
    assert_true(client_hears_end(&busy));
    assert_non_null(client_find(&busy, "Connection: close\r\n"));
    assert_non_null(client_find(&busy, "waited"));

    client_say(&half, " a\r\n\r\n");
    assert_true(client_hears_end(&half));
    assert_non_null(client_find(&half, "Connection: close\r\n"));
    assert_non_null(client_find(&half, "served"));

    /* accepted, and about to ask: it is served, once */
    client_say(&fresh, "GET /get HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears_end(&fresh));
    assert_non_null(client_find(&fresh, "served"));

    client_close(&fresh);
    client_close(&idle);
    client_close(&busy);
    client_close(&half);
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
        cmocka_unit_test(test_drain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

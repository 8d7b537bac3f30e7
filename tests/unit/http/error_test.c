/*
 * Error bodies: the form the client asked for, nothing of it reflected raw.
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
on_fail(struct http_request *r, void *state)
{
    (void)state;
    return http_error(r, 409, "<b>\"%.*s\"</b>\n", STR_ARGS(r->path));
}

static const struct http_route routes[] = {
    { "GET", "/*", on_fail, NULL },
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

#define JSON "Content-Type: application/json\r\n"
#define HTML "Content-Type: text/html; charset=utf-8\r\n"
#define TEXT "Content-Type: text/plain; charset=utf-8\r\n"
#define PROBLEM "Content-Type: application/problem+json\r\n"

static void
test_forms(void **state)
{
    static const struct {
        const char *accept, *type;
    } rows[] = {
        { "", JSON },
        { "Accept:\r\n", JSON },
        { "Accept: */*\r\n", JSON },
        { "Accept: application/json\r\n", JSON },
        { "Accept: text/html\r\n", HTML },
        { "Accept: text/plain\r\n", TEXT },
        { "Accept: image/png\r\n", JSON },
        { "Accept: text/*\r\n", HTML },
        { "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,"
          "image/avif,*/*;q=0.8\r\n",
          HTML },
        { "Accept: text/html;q=0.5, application/json;q=0.7\r\n", JSON },
        { "Accept: text/html;q=0.7, application/json;q=0.5\r\n", HTML },
        { "Accept: TEXT/PLAIN ; q=1.000 , text/html;q=0.999\r\n", TEXT },
        { "Accept: */*, application/json;q=0\r\n", HTML },
        { "Accept: text/html;q=nonsense\r\n", HTML },
        { "Accept: ;;;,,,q=\r\n", JSON },
        { "Accept: image/png\r\nAccept: text/html\r\n", HTML },
        { "Accept: application/problem+json\r\n", PROBLEM },
        { "Accept: application/problem+json, application/json\r\n", JSON },
        { "Accept: application/problem+json, */*;q=0.9\r\n", PROBLEM },
    };
    struct errmsg err;
    struct loop *l = loop_new(&err);
    struct client c = client_open(l, &server);

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        client_say(&c, "GET /x HTTP/1.1\r\nHost: a\r\n");
        client_send(&c, str_from(rows[i].accept));
        client_say(&c, "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_true(client_hears(&c, "/\\\"\\u003c/b\\u003e\\n\"}\n"));
        assert_non_null(client_find(&c, "HTTP/1.1 409 Conflict\r\n"));
        assert_int_equal(client_count(&c, "nosniff"), 2);
        /* the second answer is JSON, whatever the first was */
        size_t want = strcmp(rows[i].type, JSON) == 0 ? 2 : 1;

        if (client_count(&c, rows[i].type) != want) {
            fail_msg("%s: not %s", rows[i].accept, rows[i].type);
        }
        if (strcmp(rows[i].type, TEXT) != 0) {
            assert_null(client_find(&c, "<b>"));
        }
        buf_take(&c.got, buf_len(&c.got));
    }
    client_close(&c);
    http_stop();
    loop_turn(l, 0);
    loop_turn(l, 0);
    loop_free(&l);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

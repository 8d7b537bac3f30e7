/*
 * Which handler gets a request: locations, layers, templates, methods,
 * filters; through a real connection.
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

static struct loop *l;

/* Says who it is and what it understood. */
static enum http_result
on_tell(struct http_request *r, void *state)
{
    struct buf b;

    buf_init(&b, 4096);
    buf_printf(&b, "<%s %.*s", (const char *)state, STR_ARGS(r->route_path));
    for (size_t i = 0; i < r->param_count; i++) {
        buf_printf(&b, " %.*s=%.*s", STR_ARGS(r->params[i].name),
                   STR_ARGS(r->params[i].value));
    }
    buf_printf(&b, " body=%.*s>", STR_ARGS(r->body));
    http_reply(r, 200, "text/plain", buf_str(&b));
    buf_clear(&b);
    return HTTP_DONE;
}

static enum http_result
on_pass(struct http_request *r, void *state)
{
    (void)r;
    (void)state;
    return HTTP_PASS;
}

static enum http_result
on_nothing(struct http_request *r, void *state)
{
    (void)r;
    (void)state;
    return HTTP_DONE;
}

static const struct http_route routes_a[] = {
    { "GET", "/", on_tell, NULL },
    { "GET", "/x/:id", on_tell, NULL },
    { "GET", "/x/:id/y/:other", on_tell, NULL },
    { "GET", "/rest/*", on_tell, NULL },
    { "GET", "/pass", on_pass, NULL },
    { "PUT", "/pass", on_tell, NULL },
    { "POST", "/only-post", on_tell, &http_small_body },
    { "DELETE", "/x/:id", on_tell, NULL },
    { "GET", "/broken", on_nothing, NULL },
    { "POST", "/read", on_pass, &http_small_body },
    { NULL, NULL, NULL, NULL },
};
static const struct http_route routes_b[] = {
    { "GET", "/pass", on_tell, NULL },
    { "GET", "/second", on_tell, NULL },
    { "PATCH", "/only-post", on_tell, NULL },
    { "POST", "/read", on_tell, &http_small_body },
    { NULL, NULL, NULL, NULL },
};
static const struct http_route routes_all[] = {
    { "*", "/*", on_tell, NULL },
    { NULL, NULL, NULL, NULL },
};
static const struct http_route routes_small[] = {
    { "POST", "/deep/read", on_tell, &http_small_body },
    { "GET", "/*", on_tell, NULL },
    { NULL, NULL, NULL, NULL },
};

static char name_a[] = "a", name_b[] = "b", name_all[] = "all",
            name_small[] = "small";
static const struct http_layer two[] = {
    { .module = "none",
      .routes = NULL,
      .state = NULL }, /* a module without routes */
    { .module = "a", .routes = routes_a, .state = name_a },
    { .module = "b", .routes = routes_b, .state = name_b },
};
static const struct http_layer all[] = {
    { .module = "all", .routes = routes_all, .state = name_all }
};
static const struct http_layer small[] = {
    { .module = "small", .routes = routes_small, .state = name_small },
};

static struct http_location locations[] = {
    { .path = { "/small/deep", 11 },
      .client_max_body_size = 1000,
      .layers = two,
      .layer_count = 3 },
    { .path = { "/closed", 7 },
      .client_max_body_size = 1000,
      .layers = all,
      .layer_count = 1 },
    { .path = { "/small", 6 },
      .client_max_body_size = 4,
      .layers = small,
      .layer_count = 1 },
    { .path = { "/all", 4 },
      .client_max_body_size = 1000,
      .layers = all,
      .layer_count = 1 },
    { .path = { "/two", 4 },
      .client_max_body_size = 1000,
      .layers = two,
      .layer_count = 3 },
};
static const struct str hosts[] = { { "a", 1 } };
static const struct http_server server = {
    .settings = SERVE_SETTINGS,
    .locations = locations,
    .location_count = 5,
    .hosts = hosts,
    .host_count = 1,
};

static int
set_up(void **state)
{
    static const struct str nobody[] = { { "deny all", 8 } };
    struct errmsg err;
    struct pool *pool = pool_new(256);

    *state = pool;
    locations[1].access = access_parse(pool, nobody, 1);
    l = loop_new(&err);
    return l == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
    struct pool *pool = *state;

    http_stop();
    for (int i = 0; i < 4; i++) {
        loop_turn(l, 0);
    }
    loop_free(&l);
    pool_free(&pool);
    return 0;
}

static const char *
ask_with(const char *line, const char *body)
{
    return client_ask(l, &server, line, body);
}

static const char *
ask(const char *line)
{
    return ask_with(line, "");
}

static void
assert_told(const char *line, const char *expected)
{
    const char *answer = ask(line);

    if (strstr(answer, expected) == NULL) {
        fail_msg("%s: not %s but %s", line, expected, answer);
    }
}

static void
test_templates(void **state)
{
    (void)state;
    assert_told("GET /two", "<a / body=>");
    assert_told("GET /two/", "<a / body=>");
    assert_told("GET /two/x/1", "<a /x/1 id=1 body=>");
    assert_told("GET /two/x/a%20b/y/2?q", "<a /x/a b/y/2 id=a b other=2 ");
    assert_told("GET /two/rest/", "<a /rest/ *= body=>");
    assert_told("GET /two/rest/a/b", "<a /rest/a/b *=a/b body=>");
    assert_told("GET /two/rest", " 404 ");
    assert_told("GET /two/x", " 404 ");
    assert_told("GET /two/x/", " 404 "); /* one segment, not none */
    assert_told("GET /two/x/1/", " 404 ");
    assert_told("GET /two/x/1/y", " 404 ");
    assert_told("GET /two/x/1/z/2", " 404 ");
    assert_told("GET /twofold", " 404 ");
    assert_told("GET /", " 404 ");
}

static void
test_layers_and_locations(void **state)
{
    (void)state;
    assert_told("GET /two/second", "<b /second");
    assert_told("GET /two/pass", "<b /pass");
    assert_told("GET /small/deep/x/1", "<a /x/1 id=1");
    assert_told("GET /small/deep/second", "<b /second");
    assert_told("GET /small/deep/none", "<small /deep/none");
    assert_told("GET /small/deeper", "<small /deeper");
    assert_told("GET /all", "<all / *= ");
    assert_told("DELETE /all/a/b", "<all /a/b *=a/b ");
    assert_told("HEAD /two/x/1", " 200 OK");
}

static void
test_access(void **state)
{
    (void)state;
    assert_told("GET /closed", " 403 ");
    assert_told("GET /closed/x", " 403 ");
    assert_told("GET /all/../closed/x", " 403 ");
    assert_told("GET /%63losed", " 403 ");
}

static void
test_methods(void **state)
{
    (void)state;
    assert_told("PUT /two/x/1", " 405 ");
    assert_told("PUT /two/x/1", "Allow: GET, HEAD, OPTIONS, DELETE\r\n");
    assert_told("OPTIONS /two/x/1", " 204 ");
    assert_told("OPTIONS /two/x/1", "Allow: GET, HEAD, OPTIONS, DELETE\r\n");
    assert_told("GET /two/only-post", " 405 "); /* of both layers */
    assert_told("GET /two/only-post", "Allow: POST, OPTIONS, PATCH\r\n");
    assert_told("POST /two/second", "Allow: GET, HEAD, OPTIONS\r\n");
    assert_told("OPTIONS /two/none", " 404 ");
    assert_told("OPTIONS *", " 204 ");
    assert_told("OPTIONS *", "Allow: GET, POST, PUT");
    assert_told("OPTIONS /all/x", "<all /x"); /* "*" takes it */
    assert_told("TRACE /all/x", " 405 ");     /* but nobody takes this */
    assert_null(strstr(ask("OPTIONS /two/x/1"), "Content-Length"));
}

/* What one layer read, the next can read again; limits are each location's
 * own. */
static void
test_body_for_the_next(void **state)
{
    (void)state;
    assert_non_null(
        strstr(ask_with("POST /two/read", "12345"), "<b /read body=12345>"));
    assert_non_null(strstr(ask_with("POST /small/deep/read", "12345"),
                           "<b /read body=12345>"));
    assert_non_null(strstr(ask_with("GET /small/x", "12345"), " 413 "));
    assert_non_null(strstr(ask_with("GET /small/x", "1234"), "<small /x"));
}

static void
test_handler_without_answer(void **state)
{
    (void)state;
    assert_told("GET /two/broken", " 500 ");
}

static const char *
own_body(struct http_request *r, int status, struct str message,
         struct buf *out)
{
    buf_printf(out, "own %d at %.*s: %.*s", status, STR_ARGS(r->route_path),
               STR_ARGS(message));
    return "text/own";
}

/* Nobody has the path: the longest location says so, however many others had
 * their turn after it. */
static void
test_nothing_in_the_form_of_the_longest(void **state)
{
    static const struct http_layer own[] = {
        { .module = "a", .routes = routes_a, .error_body = own_body },
    };
    static const struct http_route posts[] = {
        { "POST", "/own/post", on_pass, NULL },
        { NULL, NULL, NULL, NULL },
    };
    static const struct http_layer silent[] = {
        { .module = "none", .routes = posts },
    };
    static const struct http_location places[] = {
        { .path = { "/own", 4 },
          .client_max_body_size = 9,
          .layers = own,
          .layer_count = 1 },
        { .path = { "/", 1 },
          .client_max_body_size = 9,
          .layers = silent,
          .layer_count = 1 },
    };
    static const struct http_server both = { .settings = SERVE_SETTINGS,
                                             .locations = places,
                                             .location_count = 2 };

    (void)state;
    assert_non_null(strstr(client_ask(l, &both, "GET /own/none", ""),
                           "own 404 at /none: nothing is here"));
    assert_non_null(strstr(client_ask(l, &both, "GET /own/pass", ""),
                           "own 404 at /pass: nothing is here"));
    assert_non_null(strstr(client_ask(l, &both, "POST /own/none", "12345"),
                           "own 404 at /none: "));
    const char *answer = client_ask(l, &both, "PUT /own/post", "");
    assert_non_null(strstr(answer, "own 405 at /post: "));
    assert_non_null(strstr(answer, "Allow: POST, OPTIONS\r\n"));
    assert_non_null(strstr(client_ask(l, &both, "GET /ownership", ""),
                           "{\"message\":\"nothing is here\""));
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_templates),
        TEST(test_layers_and_locations),
        TEST(test_access),
        TEST(test_methods),
        TEST(test_body_for_the_next),
        TEST(test_handler_without_answer),
        TEST(test_nothing_in_the_form_of_the_longest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

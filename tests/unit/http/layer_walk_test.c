/*
 * Layers that choose among layers of their own, through a real connection.
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

#include "base/regex.h"
#include "http/rewrite.h"
#include "serve.h"

static struct loop *l;

/* Says who it is and what it understood; waits a turn first when its path
 * ends with "wait". */
static enum http_result
on_tell(struct http_request *r, void *state)
{
    if (str_ends(r->route_path, STR("wait")) && r->context == NULL) {
        r->context = state;
        http_resume(r);
        return HTTP_WAIT;
    }
    return http_reply(r, 200, "text/plain",
                      pool_printf(r->pool, "<%s %.*s %.*s/%.*s/%.*s body=%.*s>",
                                  (const char *)state, STR_ARGS(r->route_path),
                                  STR_ARGS(r->api_vendor),
                                  STR_ARGS(r->api_version),
                                  STR_ARGS(r->api_format), STR_ARGS(r->body)));
}

static enum http_result
on_pass(struct http_request *r, void *state)
{
    (void)r;
    (void)state;
    return HTTP_PASS;
}

static const char *
own_errors(struct http_request *r, int status, struct str message,
           struct buf *out)
{
    (void)r;
    buf_printf(out, "own %d %.*s", status, STR_ARGS(message));
    return "text/plain";
}

static const struct http_route routes_a[] = {
    { "GET", "/x", on_tell, NULL },
    { "GET", "/wait", on_tell, NULL },
    { "GET", "/pass", on_pass, NULL },
    { "POST", "/read", on_tell, &http_small_body },
    { NULL, NULL, NULL, NULL },
};
static const struct http_route routes_b[] = {
    { "GET", "/pass", on_tell, NULL },
    { "PUT", "/x", on_tell, NULL },
    { "GET", "/only-b", on_tell, NULL },
    { NULL, NULL, NULL, NULL },
};
static const struct http_route routes_next[] = {
    { "GET", "/next", on_tell, NULL },
    { "DELETE", "/x", on_tell, NULL },
    { NULL, NULL, NULL, NULL },
};

static http_selector select_by_query;

static char name_a[] = "a", name_b[] = "b", name_next[] = "next";
static const struct http_layer layer_a[] = {
    { .module = "a", .routes = routes_a, .state = name_a },
};
static const struct http_layer layer_b[] = {
    { .module = "none" },
    { .module = "b",
      .routes = routes_b,
      .state = name_b,
      .error_body = own_errors },
};
static const struct http_layer layer_nested[] = {
    { .module = "nested", .select = select_by_query, .state = name_b },
    { .module = "next", .routes = routes_next, .state = name_next },
};

/* Each letter of "pick" is what one call says: a, b and n choose layers, "r"
 * reads the body, "!" refuses; the end has a last word if there is a "word".
 * Nested, it goes by "inner". */
static enum http_select
select_by_query(struct http_request *r, void *state, struct http_choice *choice)
{
    const char *name = state == name_b ? "inner" : "pick";
    struct str picks = STR_NONE;
    size_t *at = choice->memory;

    http_query(r, name, &picks);
    if (at == NULL) {
        at = choice->memory = pool_zero(r->pool, sizeof(*at));
        http_vary(r, STR("Pick"));
    }
    if (*at == picks.len) {
        if (http_query(r, "word", &picks)) {
            choice->status = 406;
            choice->reason = "last word";
        }
        choice->lines = STR("X-Last: 1\r\n");
        return HTTP_NONE_LEFT;
    }
    choice->route_path = r->route_path;
    choice->vendor = STR("acme");
    choice->format = STR("json");
    switch (picks.ptr[(*at)++]) {
    case 'a':
        choice->layers = layer_a;
        choice->layer_count = 1;
        choice->version = STR("v1");
        choice->lines = STR("X-Chosen: a\r\n");
        return HTTP_CHOSEN;
    case 'b':
        choice->layers = layer_b;
        choice->layer_count = 2;
        choice->version = STR("v2");
        choice->lines = STR("X-Chosen: b\r\n");
        return HTTP_CHOSEN;
    case 'n':
        choice->layers = layer_nested;
        choice->layer_count = 2;
        choice->version = STR("v3");
        choice->lines = STR("X-Chosen: n\r\n");
        return HTTP_CHOSEN;
    case 'r':
        if (!choice->body_read) {
            (*at)--;
            return HTTP_NEEDS_BODY;
        }
        choice->layers = layer_a;
        choice->layer_count = 1;
        choice->version = r->body;
        choice->lines = STR("X-Chosen: r\r\n");
        return HTTP_CHOSEN;
    default:
        choice->status = 400;
        choice->reason = "refused";
        choice->lines = STR("X-Last: 2\r\n");
        return HTTP_REFUSED;
    }
}

static const struct http_layer layers[] = {
    { .module = "select", .select = select_by_query, .state = name_a },
    { .module = "next", .routes = routes_next, .state = name_next },
};
static const struct http_route routes_root[] = {
    { "GET", "/*", on_pass, NULL },
    { NULL, NULL, NULL, NULL },
};
static const struct http_layer layers_root[] = {
    { .module = "root", .routes = routes_root },
};
static const struct http_location locations[] = {
    { .path = { "/api", 4 },
      .client_max_body_size = 8,
      .layers = layers,
      .layer_count = 2 },
    { .path = { "/", 1 },
      .client_max_body_size = 1000,
      .layers = layers_root,
      .layer_count = 1 },
};
static const struct http_server server = {
    .settings = SERVE_SETTINGS,
    .locations = locations,
    .location_count = 2,
};

/* The same, but "/" makes another path of "/api/none". */
static struct http_rewrite rewrites[1];
static struct http_location moving[] = {
    { .path = { "/api", 4 },
      .client_max_body_size = 8,
      .layers = layers,
      .layer_count = 2 },
    { .path = { "/", 1 },
      .client_max_body_size = 1000,
      .layers = layers_root,
      .layer_count = 1,
      .rules = { .rewrites = rewrites, .rewrite_count = 1 } },
};
static const struct http_server moving_server = {
    .settings = SERVE_SETTINGS,
    .locations = moving,
    .location_count = 2,
};

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    l = loop_new(&err);
    return l == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
    (void)state;
    http_stop();
    for (int i = 0; i < 4; i++) {
        loop_turn(l, 0);
    }
    loop_free(&l);
    return 0;
}

static const char *
ask_with(const char *line, const char *body)
{
    return client_ask(l, &server, line, body);
}

static void
assert_told(const char *line, const char *expected)
{
    const char *answer = ask_with(line, "");

    if (strstr(answer, expected) == NULL) {
        fail_msg("%s: not %s but %s", line, expected, answer);
    }
}

static void
assert_not_told(const char *line, const char *unexpected)
{
    const char *answer = ask_with(line, "");

    if (strstr(answer, unexpected) != NULL) {
        fail_msg("%s: %s in %s", line, unexpected, answer);
    }
}

static void
test_chosen(void **state)
{
    (void)state;
    assert_told("GET /api/x?pick=a", "<a /x acme/v1/json body=>");
    assert_told("GET /api/x?pick=a", "\r\nX-Chosen: a\r\n");
    assert_told("GET /api/x?pick=a", "\r\nVary: Pick\r\n");
    assert_told("GET /api/wait?pick=a", "<a /wait acme/v1/json body=>");
    assert_told("HEAD /api/x?pick=a", "\r\nX-Chosen: a\r\n");
}

static void
test_chosen_in_order(void **state)
{
    (void)state;
    assert_told("GET /api/only-b?pick=ab", "<b /only-b acme/v2/json body=>");
    assert_told("GET /api/pass?pick=ab", "<b /pass acme/v2/");
    assert_not_told("GET /api/pass?pick=ab", "X-Chosen: a");
    assert_told("GET /api/x?pick=ba", "<a /x acme/v1/");
    assert_told("GET /api/next?pick=ab", "<next /next // body=>");
    assert_not_told("GET /api/next?pick=ab", "X-Chosen");
    assert_told("GET /api/next?pick=ab", "\r\nVary: Pick\r\n");
}

static void
test_methods(void **state)
{
    (void)state;
    assert_told("POST /api/x?pick=ab", " 405 ");
    assert_told("POST /api/x?pick=ab", "Allow: GET, HEAD, OPTIONS, PUT\r\n");
    assert_told("POST /api/x?pick=b", "Allow: PUT, OPTIONS\r\n");
    assert_told("POST /api/x?pick=b", "\r\nX-Last: 1\r\n");
    assert_told("OPTIONS /api/x?pick=a", " 204 ");
    assert_told("OPTIONS /api/x?pick=a", "Allow: GET, HEAD, OPTIONS\r\n");
    /* The chosen ones know the path: the layer behind is not asked. */
    assert_told("DELETE /api/x?pick=a", " 405 ");
    assert_told("DELETE /api/x?pick=", "<next /x // ");
}

static void
test_refusals(void **state)
{
    (void)state;
    assert_told("GET /api/x?pick=!", " 400 ");
    assert_told("GET /api/x?pick=!", "refused");
    assert_told("GET /api/x?pick=!", "\r\nX-Last: 2\r\n");
    assert_told("OPTIONS /api/x?pick=!", " 400 ");
    assert_told("POST /api/x?pick=!", " 400 ");
}

static void
test_last_word(void **state)
{
    (void)state;
    assert_told("GET /api/none?pick=a", " 404 ");
    assert_told("GET /api/none?pick=a&word=1", " 406 ");
    assert_told("GET /api/none?pick=a&word=1", "last word");
    assert_told("GET /api/none?pick=a&word=1", "\r\nX-Last: 1\r\n");
    assert_told("GET /api/none?pick=a&word=1", "\r\nVary: Pick\r\n");
    assert_told("OPTIONS /api/none?pick=a&word=1", " 406 ");
    /* "/" knows the path, for other methods: that is not asked for. */
    assert_told("POST /api/none?pick=a&word=1", " 406 ");
    assert_told("POST /api/none?pick=a", " 405 ");
    assert_told("GET /api/next?pick=a&word=1", "<next /next");
}

/* A rewrite leads away from where the last word was said. */
static void
test_last_word_before_a_rewrite(void **state)
{
    struct pool *pool = pool_new(1024);
    struct errmsg err;
    const char *answer;

    (void)state;
    rewrites[0].pattern = regex_new(pool, STR("^/api/none$"), REGEX_CASE, &err);
    rewrites[0].to =
        http_text_new(pool, STR("/else"), rewrites[0].pattern, &err);
    answer = client_ask(l, &moving_server, "GET /api/none?pick=a&word=1", "");
    assert_non_null(strstr(answer, " 404 "));
    assert_null(strstr(answer, "last word"));
    pool_free(&pool);
}

static void
test_nested(void **state)
{
    (void)state;
    assert_told("GET /api/x?pick=n&inner=a", "<a /x acme/v1/");
    assert_told("GET /api/x?pick=n&inner=a", "\r\nX-Chosen: a\r\n");
    assert_not_told("GET /api/x?pick=n&inner=a", "X-Chosen: n");
    assert_told("GET /api/next?pick=n&inner=ab", "<next /next acme/v3/json");
    assert_told("GET /api/only-b?pick=nb&inner=a", "<b /only-b acme/v2/");
    assert_told("GET /api/x?pick=n&inner=!", " 400 ");
    assert_told("POST /api/x?pick=n&inner=ab",
                "Allow: GET, HEAD, OPTIONS, PUT\r\n");
}

static void
test_body(void **state)
{
    (void)state;
    assert_non_null(strstr(ask_with("GET /api/x?pick=r", "vB"),
                           "<a /x acme/vB/json body=vB>"));
    assert_non_null(strstr(ask_with("POST /api/read?pick=br", "vB"),
                           "<a /read acme/vB/json body=vB>"));
    assert_non_null(
        strstr(ask_with("GET /api/x?pick=r", "123456789"), " 413 "));
    assert_non_null(strstr(ask_with("GET /api/x?pick=r", ""), "<a /x acme//"));
}

static void
test_errors_of_the_layer(void **state)
{
    (void)state;
    /* Nobody's turn: as everywhere. */
    assert_told("GET /api/none?pick=b&word=1", "\"message\":\"last word\"");
    assert_not_told("GET /api/x?pick=!", "own 400");
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_chosen),
        TEST(test_chosen_in_order),
        TEST(test_methods),
        TEST(test_refusals),
        TEST(test_last_word),
        TEST(test_nested),
        TEST(test_last_word_before_a_rewrite),
        TEST(test_body),
        TEST(test_errors_of_the_layer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

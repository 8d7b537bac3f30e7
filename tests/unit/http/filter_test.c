/*
 * The filters of a location, one after the other, through a connection.
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

#include "event/task.h"
#include "http/filter/auth.h"
#include "http/filter/cors.h"
#include "http/filter/rate.h"
#include "serve.h"

/* user "ann", password "secret" */
#define USERS \
    "ann:$2y$04$R9KAWhGvJ6DFiKQi6keiVO0bjPNYbRUgusG/WG/E/LiEwXgpsNtYG\n"
#define ANN "Authorization: Basic YW5uOnNlY3JldA==\r\n"
#define ANN_WRONG "Authorization: Basic YW5uOndyb25n\r\n"
#define BOB "Authorization: Basic Ym9iOnNlY3JldA==\r\n"
#define TOKEN "Authorization: Bearer 0123456789abcdef\r\n"

static enum http_result
on_tell(struct http_request *r, void *state)
{
    (void)state;
    return http_reply(r, 200, "text/plain",
                      pool_printf(r->pool, "<user %.*s>", STR_ARGS(r->user)));
}

static enum http_result
on_pass(struct http_request *r, void *state)
{
    (void)r;
    (void)state;
    return HTTP_PASS;
}

static const char *
own_body(struct http_request *r, int status, struct str message,
         struct buf *out)
{
    (void)r;
    if (status == 429) {
        buf_add_str(out, STR("rubbish"));
        return NULL; /* not mine after all */
    }
    buf_printf(out, "own %d: %.*s", status, STR_ARGS(message));
    return "text/own";
}

static const struct http_route tell[] = {
    { "GET", "/*", on_tell, NULL },
    { "POST", "/*", on_tell, &http_small_body },
    { NULL, NULL, NULL, NULL },
};
static const struct http_route pass[] = {
    { "*", "/*", on_pass, NULL },
    { NULL, NULL, NULL, NULL },
};
static const struct http_layer layers[] = {
    { .module = "tell", .routes = tell },
};
static const struct http_layer own_layers[] = {
    { .module = "none" },
    { .module = "own", .routes = tell, .error_body = own_body },
};
static const struct http_layer passing[] = {
    { .module = "pass", .routes = pass },
};

static struct str origins[] = { { "https://a.example", 17 } };
static const struct http_cors cors = {
    .origins = origins,
    .origin_count = 1,
    .methods = { "GET, PUT", 8 },
    .headers = { "*", 1 },
    .exposed = { "X-Mine", 6 },
    .credentials = true,
    .max_age = 60,
};
static struct str star[] = { { "*", 1 } };
static const struct http_cors any = {
    .origins = star,
    .origin_count = 1,
    .methods = { "GET", 3 },
    .headers = { "X-One", 5 },
    .exposed = { "", 0 },
};
static const struct http_rate two_an_hour[] = {
    { .key = RATE_HEADER,
      .header = { "X-Who", 5 },
      .identity = { "/rate#0", 7 },
      .pace = { 1800 * (int64_t)1000000, 2 } },
};

static struct auth_rule rules[2];
static const struct http_auth auth = { rules, 2 };

static struct http_location locations[] = {
    { .path = { "/closed/open", 12 },
      .client_max_body_size = 10,
      .layers = passing,
      .layer_count = 1,
      .cors = &any },
    { .path = { "/closed", 7 },
      .client_max_body_size = 10,
      .layers = own_layers,
      .layer_count = 2,
      .auth = &auth,
      .cors = &cors },
    { .path = { "/rate", 5 },
      .client_max_body_size = 10,
      .layers = own_layers,
      .layer_count = 2,
      .cors = &any,
      .rates = two_an_hour,
      .rate_count = 1 },
    { .path = { "/", 1 },
      .client_max_body_size = 10,
      .layers = layers,
      .layer_count = 1 },
};
static const struct str hosts[] = { { "a", 1 } };
static struct http_server server = {
    .settings = SERVE_SETTINGS,
    .hosts = hosts,
    .host_count = 1,
    .locations = locations,
    .location_count = 4,
};

static struct loop *l;
static struct pool *pool;

static int
set_up(void **state)
{
    static const struct str tokens[] = { { "0123456789abcdef", 16 } };
    struct errmsg err;

    (void)state;
    l = loop_new(&err);
    pool = pool_new(1024);
    rules[0] = (struct auth_rule){ .kind = AUTH_BEARER, .realm = STR("r") };
    rules[1] = (struct auth_rule){ .kind = AUTH_BASIC, .realm = STR("home") };
    server.threads = task_threads_new(l, 2, 64, &err);
    return server.threads == NULL ||
                   auth_make_bearer(pool, tokens, 1, STR_NONE, &rules[0],
                                    &err) == -1 ||
                   auth_make_basic(pool, STR(USERS), &rules[1], &err) == -1
               ? -1
               : rate_limit_create(512, &err);
}

static int
tear_down(void **state)
{
    (void)state;
    http_stop();
    for (int i = 0; i < 4; i++) {
        loop_turn(l, 0);
    }
    task_threads_free(&server.threads);
    loop_free(&l);
    pool_free(&pool);
    rate_limit_destroy();
    return 0;
}

/* The whole answer to a request with this line and headers. */
static const char *
ask(const char *line, const char *headers)
{
    static char answer[8192];
    struct client c = client_open(l, &server);
    struct buf b;

    buf_init(&b, 4096);
    buf_printf(&b, "%s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n%s\r\n",
               line, headers);
    client_send(&c, buf_str(&b));
    assert_true(client_hears_end(&c));
    str_copy(answer, sizeof(answer), buf_str(&c.got));
    buf_clear(&b);
    client_close(&c);
    return answer;
}

static void
has(const char *answer, const char *text)
{
    if (strstr(answer, text) == NULL) {
        fail_msg("no %s in\n%s", text, answer);
    }
}

static void
has_not(const char *answer, const char *text)
{
    if (strstr(answer, text) != NULL) {
        fail_msg("%s in\n%s", text, answer);
    }
}

static void
test_auth_lets_in(void **state)
{
    (void)state;
    has(ask("GET /closed/x", ANN), "<user ann>");
    has(ask("GET /closed/x", ANN), "<user ann>"); /* remembered */
    has(ask("GET /closed/x", TOKEN), "<user bearer>");
    has(ask("GET /x", TOKEN), "<user >"); /* nobody asks there */
}

static void
test_auth_keeps_out(void **state)
{
    const char *a = ask("GET /closed/x", "");

    (void)state;
    has(a, "HTTP/1.1 401 ");
    has(a, "WWW-Authenticate: Bearer realm=\"r\"\r\n");
    has(a, "WWW-Authenticate: Basic realm=\"home\", charset=\"UTF-8\"\r\n");
    has(a, "Content-Type: text/own\r\n");
    has(a, "own 401: ");
    has(ask("GET /closed/x", ANN_WRONG), "HTTP/1.1 401 ");
    has(ask("GET /closed/x", BOB), "HTTP/1.1 401 ");
    a = ask("GET /closed/x", "Authorization: Bearer 0123456789abcdeX\r\n");
    has(a, "HTTP/1.1 401 ");
    has(a, "WWW-Authenticate: Bearer realm=\"r\", error=\"invalid_token\"");
    has(ask("GET /closed/x", TOKEN ANN), "HTTP/1.1 400 "); /* two of them */
    has(ask("GET /closed/x", "Authorization: Basic !\r\n"), "HTTP/1.1 400 ");
    has(ask("GET /closed/x", "Authorization: Digest a=b\r\n"), "HTTP/1.1 401 ");
    has(ask("DELETE /closed/x", ""), "HTTP/1.1 401 "); /* not 405 */
    has(ask("OPTIONS /closed/x", ""), "HTTP/1.1 401 ");
    /* What the longer location passes on has to pass here, too. */
    has(ask("GET /closed/open", ""), "HTTP/1.1 401 ");
    has(ask("GET /closed/open", TOKEN), "<user bearer>");
}

/* A client that goes while its password is checked, and one that goes on. */
static void
test_going_while_checked(void **state)
{
    struct client c = client_open(l, &server);
    struct client d = client_open(l, &server);

    (void)state;
    client_say(&c, "GET /closed/x HTTP/1.1\r\nHost: a\r\n" ANN_WRONG "\r\n");
    client_close(&c);
    client_say(&d, "POST /closed/x HTTP/1.1\r\nHost: a\r\n" ANN
                   "Content-Length: 3\r\n\r\nabc"
                   "GET /closed/x HTTP/1.1\r\nHost: a\r\n" TOKEN "\r\n");
    assert_true(client_hears(&d, "<user ann>"));
    assert_true(client_hears(&d, "<user bearer>"));
    client_close(&d);
}

static void
test_cors(void **state)
{
    const char *a = ask("GET /closed/x", TOKEN "Origin: https://a.example\r\n");

    (void)state;
    has(a, "HTTP/1.1 200 ");
    has(a, "Access-Control-Allow-Origin: https://a.example\r\n");
    has(a, "Access-Control-Allow-Credentials: true\r\n");
    has(a, "Access-Control-Expose-Headers: X-Mine\r\n");
    has(a, "Vary: Origin\r\n");
    a = ask("GET /closed/x", TOKEN "Origin: https://b.example\r\n");
    has(a, "HTTP/1.1 200 ");
    has(a, "Vary: Origin\r\n");
    has_not(a, "Access-Control");
    has(ask("GET /closed/x", TOKEN), "Vary: Origin\r\n");
    /* Who is refused may know it. */
    a = ask("GET /closed/x", "Origin: https://a.example\r\n");
    has(a, "HTTP/1.1 401 ");
    has(a, "Access-Control-Allow-Origin: https://a.example\r\n");
    /* The headers of a location that was left are gone: the one that answers
     * names the origin, once. */
    a = ask("GET /closed/open", TOKEN "Origin: https://a.example\r\n");
    has(a, "Access-Control-Allow-Origin: https://a.example\r\n");
    has_not(a, "Access-Control-Allow-Origin: *");
}

static void
test_preflight(void **state)
{
#define PREFLIGHT "Access-Control-Request-Method: PUT\r\n"
    const char *a =
        ask("OPTIONS /closed/x",
            "Origin: https://a.example\r\n" PREFLIGHT
            "Access-Control-Request-Headers: x-a, authorization\r\n");

    (void)state;
    has(a, "HTTP/1.1 204 "); /* needs no proof */
    has(a, "Access-Control-Allow-Methods: GET, PUT\r\n");
    has(a, "Access-Control-Allow-Headers: x-a, authorization\r\n");
    has(a, "Access-Control-Max-Age: 60\r\n");
    a = ask("OPTIONS /closed/x", "Origin: https://a.example\r\n" PREFLIGHT
                                 "Access-Control-Request-Headers: x a\r\n");
    has(a, "HTTP/1.1 204 ");
    has_not(a, "Access-Control-Allow-Headers");
    a = ask("OPTIONS /closed/x", "Origin: https://b.example\r\n" PREFLIGHT);
    has(a, "HTTP/1.1 403 ");
    has_not(a, "Access-Control-Allow");
    a = ask("OPTIONS /rate/x", "X-Who: p\r\nOrigin: null\r\n" PREFLIGHT);
    has(a, "HTTP/1.1 204 ");
    has(a, "Access-Control-Allow-Origin: *\r\n");
    has(a, "Access-Control-Allow-Headers: X-One\r\n");
    has_not(a, "Credentials");
    has_not(a, "Vary: Origin");
    /* Without what makes it a preflight it is any OPTIONS. */
    has(ask("OPTIONS /rate/x", "X-Who: q\r\nOrigin: https://a.example\r\n"),
        "Allow: GET, HEAD, OPTIONS, POST");
}

static void
test_rate(void **state)
{
    const char *a = ask("GET /rate/x", "X-Who: ann\r\n");

    (void)state;
    has(a, "HTTP/1.1 200 ");
    has(a, "RateLimit-Limit: 2\r\n");
    has(a, "RateLimit-Remaining: 1\r\n");
    has(ask("GET /rate/x", "X-Who: ann\r\n"), "RateLimit-Remaining: 0\r\n");
    a = ask("GET /rate/x", "X-Who: ann\r\nOrigin: https://a.example\r\n");
    has(a, "HTTP/1.1 429 ");
    has(a, "Retry-After: 1800\r\n");
    has(a, "RateLimit-Remaining: 0\r\n");
    has(a, "Access-Control-Allow-Origin: *\r\n");
    has(a, "\"status\":429");
    has_not(a, "rubbish");
    has(ask("GET /rate/x", "X-Who: bob\r\n"), "HTTP/1.1 200 ");
    has(ask("GET /rate/x", ""), "HTTP/1.1 200 "); /* by address */
}

static void
test_own_error_bodies(void **state)
{
    (void)state;
    has(ask("POST /closed/x", TOKEN "Content-Length: 11\r\n"), "own 413: ");
    has(ask("DELETE /closed/x", TOKEN), "own 405: ");
    has(ask("POST /x", "Content-Length: 11\r\n"), "\"status\":413");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_auth_lets_in, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_auth_keeps_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_going_while_checked, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_cors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_preflight, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rate, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_own_error_bodies, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Who asks: the walk through X-Forwarded-For and Forwarded.
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

#include "http/client_address.h"

#define HEADERS 8

static struct pool *pool;
static struct http_server server;
static struct http_header headers[HEADERS];
static struct http_request request;

static int
set_up(void **state)
{
    static const struct str names[] = { { "10.0.0.0/8", 10 },
                                        { "2001:db8:1::/48", 15 } };

    (void)state;
    pool = pool_new(1024);
    server = (struct http_server){
        .trusted = access_parse_names(pool, names, 2),
    };
    request = (struct http_request){ .pool = pool, .headers = headers };
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
begin(const char *peer)
{
    request.header_count = 0;
    request.host = STR("origin.example");
    assert_int_equal(addr_parse_ip(str_from(peer), &request.peer), 0);
}

static void
add(const char *name, const char *value)
{
    headers[request.header_count++] =
        (struct http_header){ str_from(name), str_from(value) };
}

static const char *
client(void)
{
    static char text[ADDR_TEXT];

    http_client_begin(&request, &server, &request.peer, false);
    return addr_text(&request.client, text);
}

/* The client when a trusted peer sends that header. */
static const char *
through(const char *name, const char *value)
{
    begin("10.0.0.1");
    add(name, value);
    return client();
}

static void
an_untrusted_peer_speaks_for_itself(void **state)
{
    (void)state;
    begin("192.0.2.9");
    add("X-Forwarded-For", "192.0.2.1");
    add("Forwarded", "for=192.0.2.1;proto=https;host=evil.example");
    add("X-Forwarded-Proto", "https");
    add("X-Forwarded-Host", "evil.example");
    add("X-Forwarded-Port", "8443");
    assert_string_equal(client(), "192.0.2.9:0");
    assert_true(str_eq(request.scheme, STR("http")));
    assert_true(str_eq(request.host, STR("origin.example")));
    server.trusted = NULL;
    assert_false(http_client_begin(&request, &server, &request.peer, true));
    assert_true(str_eq(request.scheme, STR("https")));
}

static void
hops_from_the_right(void **state)
{
    (void)state;
    assert_string_equal(through("X-Forwarded-For", "192.0.2.1"), "192.0.2.1:0");
    assert_string_equal(through("X-Forwarded-For", "6.6.6.6, 192.0.2.1"),
                        "192.0.2.1:0");
    assert_string_equal(
        through("X-Forwarded-For", "6.6.6.6,192.0.2.1 ,10.1.1.1"),
        "192.0.2.1:0");
    assert_string_equal(through("X-Forwarded-For", "10.2.2.2, 10.1.1.1"),
                        "10.2.2.2:0");
    assert_string_equal(through("X-Forwarded-For", "2001:db8:2::7"),
                        "[2001:db8:2::7]:0");
    assert_string_equal(through("X-Forwarded-For", "[2001:db8:2::7]:4711"),
                        "[2001:db8:2::7]:4711");
    assert_string_equal(through("x-forwarded-for", "192.0.2.1:99"),
                        "192.0.2.1:99");
    assert_string_equal(through("X-Forwarded-For", "::ffff:192.0.2.1"),
                        "192.0.2.1:0");
}

static void
several_headers_are_one_list(void **state)
{
    (void)state;
    begin("10.0.0.1");
    add("X-Forwarded-For", "6.6.6.6");
    add("Other", "7.7.7.7");
    add("X-Forwarded-For", "192.0.2.1, 10.1.1.1");
    add("X-Forwarded-For", "10.3.3.3");
    assert_string_equal(client(), "192.0.2.1:0");
}

static void
what_cannot_be_read_ends_the_walk(void **state)
{
    static const char *const bad[] = {
        "unknown",       "_hidden",      "",
        "1.2.3",         "1.2.3.4:",     "1.2.3.4:0",
        "[::1",          "[1.2.3.4]",    "[::1]x",
        "1.2.3.4:65536", "host.example", "1.2.3.4 5.6.7.8",
        "\"192.0.2.1\"", "[]",
    };
    char text[100];

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(text, sizeof(text), "192.0.2.1, %s, 10.1.1.1", bad[i]);
        if (strcmp(through("X-Forwarded-For", text), "10.1.1.1:0") != 0) {
            fail_msg("%s", text);
        }
        assert_string_equal(through("X-Forwarded-For", bad[i]), "10.0.0.1:0");
    }
}

static void
hops_are_bounded(void **state)
{
    char text[600] = "192.0.2.1";
    size_t at = strlen(text);

    (void)state;
    for (int i = 0; i < HTTP_HOPS_MAX - 1; i++) {
        at += (size_t)snprintf(text + at, sizeof(text) - at, ", 10.1.1.1");
    }
    assert_string_equal(through("X-Forwarded-For", text), "192.0.2.1:0");
    snprintf(text + at, sizeof(text) - at, ", 10.1.1.1");
    assert_string_equal(through("X-Forwarded-For", text), "10.1.1.1:0");
}

static void
forwarded(void **state)
{
    (void)state;
    assert_string_equal(through("Forwarded", "for=192.0.2.1"), "192.0.2.1:0");
    assert_string_equal(
        through("Forwarded", "For=\"[2001:db8:cafe::17]:4711\" ; Proto=https;"
                             "host=\"a.example:8443\";by=_x"),
        "[2001:db8:cafe::17]:4711");
    assert_true(str_eq(request.scheme, STR("https")));
    assert_true(str_eq(request.host, STR("a.example:8443")));
    assert_string_equal(through("Forwarded",
                                "for=6.6.6.6;proto=https;host=evil.example, "
                                "for=192.0.2.1;host=a.example, for=10.1.1.1"),
                        "192.0.2.1:0");
    assert_true(str_eq(request.scheme, STR("http")));
    assert_true(str_eq(request.host, STR("a.example")));
}

static void
forwarded_cannot_be_swallowed(void **state)
{
    static const char *const left[] = { "for=\"",        "for=\"\\", "x=\"a",
                                        "for=\"6.6.6.6", "\"",       ";;;" };
    char text[100];

    (void)state;
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
        snprintf(text, sizeof(text), "%s, for=192.0.2.1", left[i]);
        assert_string_equal(through("Forwarded", text), "192.0.2.1:0");
    }
}

static void
malformed_forwarded(void **state)
{
    static const char *const bad[] = {
        "for",
        "for=",
        "for=\"192.0.2.1",
        "for=192.0.2.1;for=192.0.2.2",
        "for=192.0.2.1 proto=http",
        "=192.0.2.1",
        "proto=https",
        "for=unknown",
        "for=\"_x\"",
        "for=2001:db8::1",
        "for=\"192\\.0.2.1\"",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (strcmp(through("Forwarded", bad[i]), "10.0.0.1:0") != 0) {
            fail_msg("%s", bad[i]);
        }
        assert_true(str_eq(request.scheme, STR("http")));
    }
}

static void
which_header(void **state)
{
    (void)state;
    begin("10.0.0.1");
    add("Forwarded", "for=192.0.2.1");
    add("X-Forwarded-For", "192.0.2.2");
    assert_string_equal(client(), "192.0.2.2:0");
    server.forwarded_header = HTTP_FORWARDED_RFC7239;
    assert_string_equal(client(), "192.0.2.1:0");
    server.forwarded_header = HTTP_FORWARDED_OFF;
    assert_string_equal(client(), "10.0.0.1:0");
    server.forwarded_header = HTTP_FORWARDED_X;
    assert_string_equal(client(), "192.0.2.2:0");
    assert_string_equal(through("Forwarded", "for=192.0.2.1"), "10.0.0.1:0");
}

static void
scheme_host_port(void **state)
{
    (void)state;
    begin("10.0.0.1");
    add("X-Forwarded-Proto", "HTTPS");
    add("X-Forwarded-Host", "media.example");
    add("X-Forwarded-Port", "8443");
    client();
    assert_true(str_eq(request.scheme, STR("https")));
    assert_true(str_eq(request.host, STR("media.example:8443")));

    request.host = STR("origin.example");
    headers[2].value = STR("443");
    client();
    assert_true(str_eq(request.host, STR("media.example")));

    begin("10.0.0.1");
    add("X-Forwarded-Host", "a b");
    add("X-Forwarded-Proto", "gopher");
    add("X-Forwarded-Port", "x");
    client();
    assert_true(str_eq(request.scheme, STR("http")));
    assert_true(str_eq(request.host, STR("origin.example")));

    begin("10.0.0.1");
    add("X-Forwarded-For", "6.6.6.6, 192.0.2.1, 10.1.1.1");
    add("X-Forwarded-Proto", "gopher, https, http");
    client();
    assert_true(str_eq(request.scheme, STR("https")));

    begin("10.0.0.1"); /* the client wrote the first one */
    add("X-Forwarded-For", "192.0.2.1");
    add("X-Forwarded-Proto", "https, http");
    client();
    assert_true(str_eq(request.scheme, STR("http")));
}

static void
goes_on_as(const char *name, const char *value, const char *x,
           const char *forwarded)
{
    struct http_way way;

    begin("10.0.0.1");
    add(name, value);
    http_client_way(&request, &server, &way);
    assert_string_equal(pool_cstr(pool, way.x_forwarded_for), x);
    assert_string_equal(pool_cstr(pool, way.forwarded), forwarded);
}

static void
one_kind_of_header_is_made_of_the_other(void **state)
{
    (void)state;
    goes_on_as("X-Forwarded-For", "192.0.2.1:9, 2001:db8::1",
               "192.0.2.1:9, 2001:db8::1",
               "for=192.0.2.1, for=\"[2001:db8::1]\"");
    goes_on_as("Forwarded", "for=\"[2001:db8::1]:9\", for=192.0.2.1;proto=http",
               "2001:db8::1, 192.0.2.1",
               "for=\"[2001:db8::1]:9\", for=192.0.2.1;proto=http");
    goes_on_as("X-Forwarded-For", "a\"b;c, , 192.0.2.1", "a\"b;c, , 192.0.2.1",
               "for=unknown, for=192.0.2.1");
    goes_on_as("Forwarded", "nonsense, for=\"_x\"", "unknown, unknown",
               "nonsense, for=\"_x\"");
    goes_on_as("X-Forwarded-For", "", "", "");
    server.forwarded_header = HTTP_FORWARDED_OFF;
    goes_on_as("X-Forwarded-For", "192.0.2.1", "", "");
}

static void
a_balancer_says_the_scheme_inside_the_proxy_protocol(void **state)
{
    struct addr via;

    (void)state;
    assert_int_equal(addr_parse_ip(STR("10.0.0.1"), &via), 0);
    begin("192.0.2.9");
    add("X-Forwarded-Proto", "gopher, https");
    add("X-Forwarded-Host", "evil.example");
    add("X-Forwarded-For", "192.0.2.1");
    assert_false(http_client_begin(&request, &server, &via, false));
    assert_true(str_eq(request.scheme, STR("https")));
    assert_true(str_eq(request.host, STR("origin.example")));
    assert_true(addr_eq(&request.client, &request.peer));
    begin("192.0.2.9"); /* TLS with the balancer */
    add("X-Forwarded-Proto", "http");
    assert_false(http_client_begin(&request, &server, &via, true));
    assert_true(str_eq(request.scheme, STR("https")));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_untrusted_peer_speaks_for_itself),
        TEST(hops_from_the_right),
        TEST(several_headers_are_one_list),
        TEST(what_cannot_be_read_ends_the_walk),
        TEST(hops_are_bounded),
        TEST(forwarded),
        TEST(forwarded_cannot_be_swallowed),
        TEST(malformed_forwarded),
        TEST(which_header),
        TEST(scheme_host_port),
        TEST(one_kind_of_header_is_made_of_the_other),
        TEST(a_balancer_says_the_scheme_inside_the_proxy_protocol),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

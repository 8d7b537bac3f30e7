/*
 * Connections: keep-alive, pipelining, bodies, refusals, time-outs, ends.
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

#include "http/metrics.h"
#include "http/refusal.h"
#include "proc/slot.h"
#include "serve.h"

static struct loop *l;
static struct http_server server;
static struct client c;
static size_t served;

static enum http_result
on_get(struct http_request *r, void *state)
{
    (void)state;
    served++;
    return http_reply(r, 200, "text/plain", r->path);
}

static enum http_result
on_post(struct http_request *r, void *state)
{
    (void)state;
    served++;
    return http_reply(r, 201, "text/plain", r->body);
}

static enum http_result
on_ignore(struct http_request *r, void *state)
{
    (void)state;
    return http_reply(r, 200, "text/plain", STR("ignored"));
}

static const struct http_feed whole_body = { .whole = true };

static const struct http_route routes[] = {
    { "GET", "/get/*", on_get, NULL },
    { "POST", "/post", on_post, &whole_body },
    { "POST", "/ignore", on_ignore, NULL },
    { NULL, NULL, NULL, NULL },
};
static const struct http_layer layers[] = { { .module = "test",
                                              .routes = routes } };
static const struct http_location locations[] = {
    { .path = { "/", 1 },
      .client_max_body_size = 100000,
      .layers = layers,
      .layer_count = 1 },
};

static int64_t
refusals(enum http_refusal why)
{
    return metric_sum(&http_metrics[HTTP_REFUSALS], why);
}

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    if (slots_create(1, &err) == -1) {
        return -1;
    }
    metric_register(http_metrics);
    if (metrics_create(&err) == -1) {
        return -1;
    }
    l = loop_new(&err);
    server = (struct http_server){ .settings = SERVE_SETTINGS,
                                   .locations = locations,
                                   .location_count = 1 };
    c = client_open(l, &server);
    served = 0;
    return l == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
    (void)state;
    client_close(&c);
    http_stop();
    for (int i = 0; i < 4; i++) {
        loop_turn(l, 0);
    }
    assert_int_equal(http_connections(), 0);
    loop_free(&l);
    metrics_destroy();
    slots_destroy();
    return 0;
}

/* ---- requests after requests ---- */

static void
test_keep_alive(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        client_say(&c, "GET /get/x HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_true(client_hears(&c, "\r\n\r\n/get/x"));
        assert_null(client_find(&c, "Connection:"));
        assert_non_null(client_find(&c, "HTTP/1.1 200 OK\r\n"));
        assert_non_null(client_find(&c, "Content-Length: 6\r\n"));
        assert_non_null(client_find(&c, "Server: weir\r\nDate: "));
        client_forget(&c, "/get/x");
    }
    assert_int_equal(http_connections(), 1);
    client_say(&c, "GET /get/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                   "\r\nGET /get/y HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears_end(&c));
    assert_non_null(client_find(&c, "Connection: close\r\n"));
    assert_int_equal(served, 4);
}

static void
test_http_1_0(void **state)
{
    (void)state;
    client_say(&c, "GET /get/x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_true(client_hears(&c, "/get/x"));
    assert_non_null(client_find(&c, "Connection: keep-alive\r\n"));
    client_forget(&c, "/get/x");
    client_say(&c, "GET /get/x HTTP/1.0\r\n\r\n");
    assert_true(client_hears_end(&c));
    assert_non_null(client_find(&c, "Connection: close\r\n"));
}

static void
test_head(void **state)
{
    (void)state;
    client_say(&c, "HEAD /get/x HTTP/1.1\r\nHost: a\r\n\r\n"
                   "GET /get/y HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears(&c, "\r\n\r\n/get/y"));
    assert_int_equal(client_count(&c, "Content-Length: 6\r\n"), 2);
    assert_null(client_find(&c, "/get/x"));
}

static void
test_pipelining(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 1 << 20);
    for (int i = 0; i < 500; i++) {
        buf_printf(&b, "GET /get/%d HTTP/1.1\r\nHost: a\r\n\r\n", i);
        buf_printf(&b,
                   "POST /post HTTP/1.1\r\nHost: a\r\n"
                   "Content-Length: 6\r\n\r\nb%05d",
                   i);
    }
    client_send(&c, buf_str(&b));
    assert_true(client_hears(&c, "b00499"));
    for (int i = 0; i < 500; i++) { /* in their order */
        char text[40];

        snprintf(text, sizeof(text), "\r\n\r\n/get/%d", i);
        client_forget(&c, text);
        snprintf(text, sizeof(text), "\r\n\r\nb%05d", i);
        client_forget(&c, text);
    }
    assert_int_equal(served, 1000);
    buf_clear(&b);
}

/* One who pipelines gets no more than his share of a turn. */
static void
test_pipelining_is_fair(void **state)
{
    struct client other = client_open(l, &server);
    struct buf b;

    (void)state;
    buf_init(&b, 1 << 20);
    for (int i = 0; i < 200; i++) {
        buf_add_str(&b, STR("GET /get/a HTTP/1.1\r\nHost: a\r\n\r\n"));
    }
    assert_int_equal(send(c.fd, buf_data(&b), buf_len(&b), 0), buf_len(&b));
    assert_true(send(other.fd, "GET /get/b HTTP/1.0\r\n\r\n", 23, 0) == 23);
    loop_turn(l, 0);
    loop_turn(l, 0);
    assert_true(served < 100);
    client_turn(&other, 1000);
    assert_non_null(client_find(&other, "/get/b"));
    while (served < 201) {
        client_turn(&c, 65536);
    }
    client_close(&other);
    buf_clear(&b);
}

static void
test_byte_by_byte(void **state)
{
    struct str text = STR("\r\nPOST /post HTTP/1.1\r\nHost: a\r\n"
                          "Transfer-Encoding: chunked\r\n\r\n"
                          "3;x\r\nabc\r\n2\r\nde\r\n0\r\nT: u\r\n\r\n"
                          "GET /get/x HTTP/1.1\r\nHost: a\r\n\r\n");

    (void)state;
    for (size_t i = 0; i < text.len; i++) {
        client_send(&c, (struct str){ text.ptr + i, 1 });
    }
    assert_true(client_hears(&c, "\r\n\r\nabcde"));
    assert_true(client_hears(&c, "\r\n\r\n/get/x"));
}

static void
test_half_closed(void **state)
{
    (void)state;
    assert_int_equal(
        send(c.fd,
             "GET /get/1 HTTP/1.1\r\nHost: a\r\n\r\nGET /get/2 HTTP/1.1"
             "\r\nHost: a\r\n\r\nGET /get/3",
             72, 0),
        72);
    shutdown(c.fd, SHUT_WR);
    assert_true(client_hears_end(&c));
    assert_non_null(client_find(&c, "\r\n\r\n/get/1"));
    assert_non_null(client_find(&c, "\r\n\r\n/get/2"));
    assert_int_equal(served, 2);
}

static void
test_request_limit(void **state)
{
    (void)state;
    server.settings.keepalive_requests = 2;
    client_say(&c, "GET /get/1 HTTP/1.1\r\nHost: a\r\n\r\n"
                   "GET /get/2 HTTP/1.1\r\nHost: a\r\n\r\n"
                   "GET /get/3 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears_end(&c));
    assert_int_equal(client_count(&c, "Connection: close"), 1);
    client_forget(&c, "/get/1");
    assert_non_null(client_find(&c, "Connection: close"));
    assert_int_equal(served, 2);
}

static void
test_age_limit(void **state)
{
    (void)state;
    server.settings.keepalive_time = 0;
    client_say(&c, "GET /get/1 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears_end(&c));
    assert_non_null(client_find(&c, "Connection: close"));
}

/* ---- bodies ---- */

static struct str
filled(struct buf *b, size_t n)
{
    buf_init(b, n);
    memset(buf_reserve(b, n), 'x', n);
    buf_commit(b, n);
    return buf_str(b);
}

static void
test_large_body(void **state)
{
    struct buf b;
    struct str body = filled(&b, 100000);

    (void)state;
    client_say(&c, "POST /post HTTP/1.1\r\nHost: a\r\n"
                   "Content-Length: 100000\r\n\r\n");
    client_send(&c, body);
    client_say(&c, "GET /get/next HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears(&c, "\r\n\r\n/get/next"));
    client_forget(&c, "Content-Length: 100000\r\n\r\n");
    assert_memory_equal(buf_data(&c.got), body.ptr, body.len);
    buf_clear(&b);
}

static void
test_body_too_long(void **state)
{
    int64_t before = refusals(REFUSE_BODY_LONG);

    (void)state;
    client_say(&c, "POST /post HTTP/1.1\r\nHost: a\r\n"
                   "Content-Length: 100001\r\n\r\n");
    assert_true(client_hears_end(&c)); /* not one byte of it is awaited */
    assert_non_null(client_find(&c, "HTTP/1.1 413 "));
    assert_non_null(client_find(&c, "Connection: close"));
    assert_int_equal(refusals(REFUSE_BODY_LONG), before + 1);
    assert_int_equal(served, 0);
}

static void
test_chunked_body_too_long(void **state)
{
    struct buf b;
    struct str body = filled(&b, 100001);

    (void)state;
    client_say(&c, "POST /post HTTP/1.1\r\nHost: a\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n186a1\r\n");
    client_send(&c, body);
    assert_true(client_hears_end(&c));
    assert_non_null(client_find(&c, "HTTP/1.1 413 "));
    assert_int_equal(served, 0);
    buf_clear(&b);
}

static void
test_bad_chunk(void **state)
{
    (void)state;
    client_say(&c, "POST /post HTTP/1.1\r\nHost: a\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n3\r\nabcX\r\n"
                   "GET /get/smuggled HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears_end(&c));
    assert_non_null(client_find(&c, "HTTP/1.1 400 "));
    assert_int_equal(client_count(&c, "HTTP/1.1 "), 1);
    assert_int_equal(served, 0);
}

/* A body nobody asked for is read before the next request all the same. */
static void
test_ignored_body(void **state)
{
    struct buf b;
    struct str body = filled(&b, 90000);

    (void)state;
    client_say(&c, "POST /ignore HTTP/1.1\r\nHost: a\r\n"
                   "Content-Length: 90000\r\n\r\n");
    client_send(&c, body);
    client_say(&c, "POST /ignore HTTP/1.1\r\nHost: a\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n15f90\r\n");
    client_send(&c, body);
    client_say(&c, "\r\n0\r\n\r\nGET /get/next HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears(&c, "\r\n\r\n/get/next"));
    assert_int_equal(client_count(&c, "ignored"), 2);
    buf_clear(&b);
}

/* An error is told when the body is through, or pauses. */
static void
test_rejected_with_body(void **state)
{
    struct buf b;
    struct str body = filled(&b, 60000);

    (void)state;
    client_say(&c, "POST /none HTTP/1.1\r\nHost: a\r\n"
                   "Content-Length: 60000\r\n\r\n");
    client_send(&c, body);
    assert_true(client_hears(&c, "HTTP/1.1 404 "));
    assert_true(client_hears(&c, "}\n"));
    assert_null(client_find(&c, "Connection: close"));
    client_forget(&c, "}\n");
    client_say(&c, "POST /get/x HTTP/1.1\r\nHost: a\r\n"
                   "Content-Length: 6000\r\n\r\nhalf");
    assert_true(client_hears_end(&c));
    assert_non_null(client_find(&c, "HTTP/1.1 405 "));
    assert_non_null(client_find(&c, "Connection: close"));
    buf_clear(&b);
}

static void
test_expect_continue(void **state)
{
    (void)state;
    client_say(&c, "POST /post HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
                   "Expect: 100-continue\r\n\r\n");
    assert_true(client_hears(&c, "HTTP/1.1 100 Continue\r\n\r\n"));
    assert_int_equal(client_count(&c, "HTTP/1.1 "), 1);
    client_say(&c, "abc");
    assert_true(client_hears(&c, "\r\n\r\nabc"));
    client_forget(&c, "\r\n\r\nabc");
    client_say(&c, "POST /post HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
                   "Expect: 100-continue\r\n\r\ndef"); /* does not wait */
    assert_true(client_hears(&c, "\r\n\r\ndef"));
    assert_null(client_find(&c, "100 Continue"));
}

static void
test_expect_in_vain(void **state)
{
    (void)state;
    client_say(&c, "POST /none HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
                   "Expect: 100-continue\r\n\r\n");
    assert_true(client_hears_end(&c));
    assert_non_null(client_find(&c, "HTTP/1.1 404 "));
    assert_null(client_find(&c, "100 Continue"));
}

/* ---- refusals ---- */

static void
test_refusal_ends_the_connection(void **state)
{
    int64_t before = refusals(REFUSE_NO_HOST);

    (void)state;
    client_say(&c, "GET /get/1 HTTP/1.1\r\nHost: a\r\n\r\n"
                   "GET /get/2 HTTP/1.1\r\n\r\n"
                   "GET /get/3 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears_end(&c));
    client_forget(&c, "/get/1");
    assert_non_null(client_find(&c, "HTTP/1.1 400 Bad Request\r\n"));
    assert_non_null(client_find(&c, "Connection: close\r\n"));
    assert_non_null(client_find(&c, "X-Content-Type-Options: nosniff\r\n"));
    assert_non_null(client_find(&c, "\"message\":\"no Host header\""));
    assert_int_equal(served, 1);
    assert_int_equal(refusals(REFUSE_NO_HOST), before + 1);
}

static void
test_head_that_never_ends(void **state)
{
    struct buf b;

    (void)state;
    client_say(&c, "GET / HTTP/1.1\r\nHost: a\r\n");
    buf_init(&b, 1 << 20);
    for (int i = 0; i < 3000; i++) {
        buf_printf(&b, "X-%d: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n", i);
    }
    client_send(&c, buf_str(&b));
    assert_true(client_hears_end(&c));
    assert_non_null(client_find(&c, "HTTP/1.1 431 "));
    buf_clear(&b);
}

static void
test_bad_path(void **state)
{
    (void)state;
    client_say(&c, "GET /get/../../x HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears_end(&c));
    assert_non_null(client_find(&c, "HTTP/1.1 400 "));
}

/* ---- time-outs ---- */

static void
test_head_timeout(void **state)
{
    int64_t began = clock_ms();

    (void)state;
    server.settings.client_header_timeout = 60;
    client_close(&c);
    c = client_open(l, &server);
    for (struct str s = STR("GET /get/x HTTP/1.1\r\nHost: a"); s.len > 0;
         s = str_skip(s, 1)) { /* it trickles, and is too slow in all */
        send(c.fd, s.ptr, 1, MSG_NOSIGNAL);
        client_turn(&c, 65536);
    }
    assert_true(client_hears_end(&c));
    assert_true(clock_ms() - began >= 60);
    assert_non_null(client_find(&c, "HTTP/1.1 408 "));
}

static void
test_no_request_timeout(void **state)
{
    (void)state;
    server.settings.client_header_timeout = 30;
    client_close(&c);
    c = client_open(l, &server);
    assert_true(client_hears_end(&c));
    assert_int_equal(buf_len(&c.got), 0); /* nothing asked, nothing said */
}

static void
test_keepalive_timeout(void **state)
{
    int64_t began;

    (void)state;
    server.settings.keepalive_timeout = 50;
    client_say(&c, "GET /get/x HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears(&c, "/get/x"));
    client_forget(&c, "/get/x");
    began = clock_ms();
    assert_true(client_hears_end(&c));
    assert_true(clock_ms() - began >= 40);
    assert_int_equal(buf_len(&c.got), 0);
}

static void
test_body_timeout(void **state)
{
    (void)state;
    server.settings.client_body_timeout = 50;
    client_say(&c, "POST /post HTTP/1.1\r\nHost: a\r\n"
                   "Content-Length: 4\r\n\r\nabc");
    assert_true(client_hears_end(&c));
    assert_non_null(client_find(&c, "HTTP/1.1 408 "));
    assert_int_equal(served, 0);
}

/* The time-out counts from the last byte, not for the whole body. */
static void
test_slow_body_is_fine(void **state)
{
    int64_t began = clock_ms();

    (void)state;
    server.settings.client_body_timeout = 1000;
    client_say(&c, "POST /post HTTP/1.1\r\nHost: a\r\n"
                   "Content-Length: 5\r\n\r\n");
    for (int i = 0; i < 5; i++) {
        int64_t until = clock_ms() + 300;

        while (clock_ms() < until) {
            client_turn(&c, 65536);
        }
        client_say(&c, "z");
    }
    assert_true(clock_ms() - began >= 1500);
    assert_true(client_hears(&c, "\r\n\r\nzzzzz"));
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_keep_alive),
        TEST(test_http_1_0),
        TEST(test_head),
        TEST(test_pipelining),
        TEST(test_pipelining_is_fair),
        TEST(test_byte_by_byte),
        TEST(test_half_closed),
        TEST(test_request_limit),
        TEST(test_age_limit),
        TEST(test_large_body),
        TEST(test_body_too_long),
        TEST(test_chunked_body_too_long),
        TEST(test_bad_chunk),
        TEST(test_ignored_body),
        TEST(test_rejected_with_body),
        TEST(test_expect_continue),
        TEST(test_expect_in_vain),
        TEST(test_refusal_ends_the_connection),
        TEST(test_head_that_never_ends),
        TEST(test_bad_path),
        TEST(test_head_timeout),
        TEST(test_no_request_timeout),
        TEST(test_keepalive_timeout),
        TEST(test_body_timeout),
        TEST(test_slow_body_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

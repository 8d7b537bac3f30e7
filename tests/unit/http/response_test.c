/*
 * Answers on their way out: whole, chunked, until close; to clients that
 * read slowly or not at all.
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

#include "base/mem.h"
#include "http/page.h"
#include "serve.h"

#define LARGE 3000000

static struct loop *l;
static struct http_server server;
static struct client c;
static char *large; /* LARGE bytes that do not repeat soon */

static struct {
    struct http_request *request;
    size_t sent, rooms, refused, cancels;
    size_t total; /* bytes to stream */
    size_t piece;
} stream;

/* ---- handlers ---- */

static enum http_result
on_large(struct http_request *r, void *state)
{
    (void)state;
    return http_reply(r, 200, "text/plain", (struct str){ large, LARGE });
}

static enum http_result
on_chunks(struct http_request *r, void *state)
{
    (void)state;
    http_start(r, 200, "text/plain");
    assert_int_equal(http_send_more(r, STR("one")), 0);
    assert_int_equal(http_send_more(r, STR_NONE), 0);
    assert_int_equal(http_send_more(r, STR("0123456789abcdef")), 0);
    return http_end(r);
}

static enum http_result
on_page(struct http_request *r, void *state)
{
    static const char *const pieces[] = { "<p>", "one", NULL };

    (void)state;
    return http_reply_page(r, "text/html", "img-src data:", pieces);
}

static enum http_result
on_long_page(struct http_request *r, void *state)
{
    static char text[65536 + 1]; /* one byte too long, with "!" */
    static const char *const pieces[] = { text, "!", NULL };

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    return http_reply_page(r, "text/html", "img-src data:", pieces);
}

static void
stream_on(void *arg)
{
    (void)arg;
    stream.rooms++;
    while (stream.sent < stream.total) {
        size_t n = stream.total - stream.sent;

        n = n < stream.piece ? n : stream.piece;
        if (http_send_more(stream.request,
                           (struct str){ large + stream.sent, n }) == -1) {
            stream.refused++;
            return;
        }
        stream.sent += n;
    }
    http_end(stream.request);
}

static void
stream_cancelled(void *arg)
{
    (void)arg;
    stream.cancels++;
}

static enum http_result
on_stream(struct http_request *r, void *state)
{
    (void)state;
    stream.request = r;
    http_on_cancel(r, stream_cancelled, NULL);
    http_on_room(r, stream_on, NULL);
    http_start(r, 200, "text/plain");
    stream_on(NULL);
    return HTTP_DONE;
}

static enum http_result
on_begin(struct http_request *r, void *state)
{
    (void)state;
    stream.request = r;
    http_on_cancel(r, stream_cancelled, NULL);
    http_start(r, 200, "text/plain");
    return HTTP_WAIT;
}

static enum http_result
on_status(struct http_request *r, void *state)
{
    int64_t status = 200;

    (void)state;
    str_to_int(r->query, 100, 999, &status);
    http_set_header(r, "X-One", STR("1"));
    http_set_header(r, "X-Bad", STR("1\r\nX-Injected: 2"));
    http_set_header(r, "X-Two", STR("\xc3\xa4\t2"));
    return http_reply(r, (int)status, "text/plain", STR("body"));
}

/* Of a known length, in pieces; /short gives less than it has said. */
static enum http_result
on_known(struct http_request *r, void *state)
{
    (void)state;
    http_set_header(r, "Set-Cookie", STR("a=1"));
    http_set_header(r, "Set-Cookie", STR("b=2"));
    http_start_length(r, 299, "text/plain", 6);
    assert_int_equal(http_send_more(r, STR("abc")), 0);
    if (!str_eq(r->path, STR("/short"))) {
        assert_int_equal(http_send_more(r, STR("def")), 0);
    }
    return http_end(r);
}

static enum http_result
on_trailers(struct http_request *r, void *state)
{
    (void)state;
    http_set_header(r, "Trailer", STR("Told, Other"));
    http_start(r, 200, "text/plain");
    assert_int_equal(http_send_more(r, STR("abc")), 0);
    http_set_trailer(r, "Told", STR("1"));
    http_set_trailer(r, "Untold", STR("2"));
    return http_end(r);
}

static enum http_result
on_hints(struct http_request *r, void *state)
{
    static const struct http_header hints[] = {
        { { "Link", 4 }, { "</a.css>; rel=preload", 21 } },
    };

    (void)state;
    http_send_info(r, 103, hints, 1);
    return http_reply(r, 200, "text/plain", STR("after"));
}

static const struct http_route routes[] = {
    { "GET", "/known", on_known, NULL },
    { "GET", "/short", on_known, NULL },
    { "GET", "/trailers", on_trailers, NULL },
    { "GET", "/hints", on_hints, NULL },
    { "GET", "/large", on_large, NULL },
    { "GET", "/chunks", on_chunks, NULL },
    { "GET", "/page", on_page, NULL },
    { "GET", "/long_page", on_long_page, NULL },
    { "GET", "/stream", on_stream, NULL },
    { "GET", "/begin", on_begin, NULL },
    { "GET", "/status", on_status, NULL },
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

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    memset(&stream, 0, sizeof(stream));
    stream.total = LARGE;
    stream.piece = 5000;
    l = loop_new(&err);
    server = (struct http_server){ .settings = SERVE_SETTINGS,
                                   .locations = locations,
                                   .location_count = 1 };
    c = client_open(l, &server);
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
    return 0;
}

static int
make_large(void **state)
{
    (void)state;
    large = mem_alloc(LARGE + 16);
    for (int i = 0; i < LARGE; i += 8) {
        snprintf(large + i, 16, "%07d ", i / 8);
    }
    return 0;
}

static int
free_large(void **state)
{
    (void)state;
    mem_free(&large);
    return 0;
}

/* Takes chunks apart in c.got: their payload. */
static struct buf
unchunk(void)
{
    struct buf b;
    struct str rest = buf_str(&c.got);

    buf_init(&b, 64 << 20);
    for (;;) {
        char *end;
        size_t n = strtoul(rest.ptr, &end, 16);

        rest = str_skip(rest, (size_t)(end - rest.ptr));
        assert_true(str_starts(rest, STR("\r\n")));
        rest = str_skip(rest, 2);
        if (n == 0) {
            break;
        }
        assert_true(rest.len >= n + 2);
        buf_add(&b, rest.ptr, n);
        rest = str_skip(rest, n);
        assert_true(str_starts(rest, STR("\r\n")));
        rest = str_skip(rest, 2);
    }
    assert_true(str_eq(rest, STR("\r\n")));
    return b;
}

/* ---- whole answers ---- */

static void
test_large_answer_to_a_slow_reader(void **state)
{
    (void)state;
    client_say(&c, "GET /large HTTP/1.1\r\nHost: a\r\n\r\n"
                   "GET /chunks HTTP/1.1\r\nHost: a\r\n\r\n");
    for (int i = 0; i < 20; i++) {
        client_turn(&c, 100);
    }
    assert_true(client_hears(&c, "abcdef\r\n0\r\n\r\n"));
    client_forget(&c, "Content-Length: 3000000\r\n\r\n");
    assert_memory_equal(buf_data(&c.got), large, LARGE);
}

static void
test_client_that_never_reads(void **state)
{
    int64_t began = clock_ms();

    (void)state;
    server.settings.send_timeout = 80;
    client_say(&c, "GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    while (http_connections() > 0 && clock_ms() < began + PATIENCE_MS) {
        loop_turn(l, 5);
    }
    assert_int_equal(http_connections(), 0);
    assert_true(clock_ms() - began >= 80);
}

/* Slow is not stuck: the time-out counts from the last byte taken. */
static void
test_client_that_reads_slowly(void **state)
{
    int64_t began = clock_ms();

    (void)state;
    server.settings.send_timeout = 1000;
    client_say(&c, "GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    while (clock_ms() < began + 1500) {
        int64_t pause = clock_ms() + 50;

        while (clock_ms() < pause) {
            loop_turn(l, 5);
        }
        client_turn(&c, 30000);
    }
    assert_int_equal(http_connections(), 1);
    assert_true(client_hears(&c, "0374999 "));
}

static void
test_statuses_without_a_body(void **state)
{
    (void)state;
    client_say(&c, "GET /status?204 HTTP/1.1\r\nHost: a\r\n\r\n"
                   "GET /status?304 HTTP/1.1\r\nHost: a\r\n\r\n"
                   "GET /status?299 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears(&c, "body"));
    assert_int_equal(client_count(&c, "body"), 1);
    assert_int_equal(client_count(&c, "Content-Length:"), 1);
    assert_non_null(client_find(&c, "HTTP/1.1 204 No Content\r\n"));
    assert_non_null(client_find(&c, "HTTP/1.1 304 Not Modified\r\n"));
    assert_non_null(client_find(&c, "HTTP/1.1 299 "));
}

static void
test_headers(void **state)
{
    (void)state;
    client_say(&c, "GET /status HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears(&c, "body"));
    assert_non_null(client_find(&c, "X-One: 1\r\nX-Two: \xc3\xa4\t2\r\n"));
    assert_null(client_find(&c, "X-Bad"));
    assert_null(client_find(&c, "X-Injected"));
}

/* ---- of unknown length ---- */

static void
test_page(void **state)
{
    (void)state;
    client_say(&c, "GET /page HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears(&c, "\r\n\r\n<p>one"));
    assert_non_null(client_find(
        &c, "Content-Security-Policy: default-src 'none'; img-src data:; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"));
    assert_non_null(client_find(&c, "X-Content-Type-Options: nosniff\r\n"));
    assert_non_null(client_find(&c, "Cache-Control: no-cache\r\n"));
}

/* Never a part of it. */
static void
test_page_that_is_too_long(void **state)
{
    (void)state;
    client_say(&c, "GET /long_page HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears(&c, "HTTP/1.1 500 "));
    assert_true(client_hears(&c, "the page is longer than 65536 bytes"));
}

static void
test_chunked(void **state)
{
    (void)state;
    client_say(&c, "GET /chunks HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears(&c, "\r\n\r\n3\r\none\r\n10\r\n0123456789abcdef"
                                 "\r\n0\r\n\r\n"));
    assert_non_null(client_find(&c, "Transfer-Encoding: chunked\r\n"));
    assert_null(client_find(&c, "Content-Length"));
    assert_null(client_find(&c, "Connection: close"));
    client_say(&c, "HEAD /chunks HTTP/1.1\r\nHost: a\r\n\r\n"
                   "GET /status HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears(&c, "body"));
    assert_int_equal(client_count(&c, "one"), 1);
}

static void
test_a_known_length_in_pieces(void **state)
{
    (void)state;
    client_say(&c, "GET /known HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears(&c, "\r\n\r\nabcdef"));
    assert_non_null(client_find(&c, "HTTP/1.1 299 Unknown\r\n"));
    assert_non_null(client_find(&c, "Content-Length: 6\r\n"));
    assert_null(client_find(&c, "chunked"));
    assert_non_null(client_find(&c, "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n"));
    client_forget(&c, "abcdef");
    client_say(&c, "HEAD /known HTTP/1.1\r\nHost: a\r\n\r\n"
                   "GET /short HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears_end(&c)); /* the second breaks off */
    assert_int_equal(client_count(&c, "Content-Length: 6\r\n"), 2);
    assert_int_equal(client_count(&c, "\r\n\r\nabc"), 1);
}

static void
test_trailers(void **state)
{
    (void)state;
    client_say(&c, "GET /trailers HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears(&c, "3\r\nabc\r\n0\r\nTold: 1\r\n\r\n"));
    client_forget(&c, "abc");
    client_say(&c, "GET /trailers HTTP/1.1\r\nHost: a\r\n"
                   "TE: gzip, trailers\r\n\r\n");
    assert_true(client_hears(&c, "0\r\nTold: 1\r\nUntold: 2\r\n\r\n"));
    client_say(&c, "GET /trailers HTTP/1.0\r\nTE: trailers\r\n\r\n");
    assert_true(client_hears_end(&c));
    assert_int_equal(client_count(&c, "Untold"), 1);
}

static void
test_interim_answers(void **state)
{
    (void)state;
    client_say(&c, "GET /hints HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears(&c, "after"));
    assert_non_null(
        client_find(&c, "HTTP/1.1 103 Early Hints\r\n"
                        "Link: </a.css>; rel=preload\r\n\r\nHTTP/1.1 200 "));
    client_forget(&c, "after");
    client_say(&c, "GET /hints HTTP/1.0\r\n\r\n");
    assert_true(client_hears(&c, "after"));
    assert_null(client_find(&c, " 103 "));
}

static void
test_until_close(void **state)
{
    (void)state;
    client_say(&c, "GET /chunks HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_true(client_hears_end(&c));
    assert_non_null(client_find(&c, "\r\n\r\none0123456789abcdef"));
    assert_null(client_find(&c, "Transfer-Encoding"));
    assert_non_null(client_find(&c, "Connection: close"));
}

static void
test_stream_waits_for_room(void **state)
{
    struct buf payload;

    (void)state;
    client_say(&c, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
    for (int i = 0; i < 10; i++) {
        loop_turn(l, 0);
    }
    assert_true(stream.refused > 0); /* the socket is full, and what we keep */
    assert_true(stream.sent < LARGE);
    assert_true(client_hears(&c, "\r\n0\r\n\r\n"));
    client_forget(&c, "\r\n\r\n");
    payload = unchunk();
    assert_int_equal(buf_len(&payload), LARGE);
    assert_memory_equal(buf_data(&payload), large, LARGE);
    assert_int_equal(stream.cancels, 0);
    buf_clear(&payload);
}

static void
test_stream_cancelled(void **state)
{
    (void)state;
    client_say(&c, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
    client_turn(&c, 1000);
    client_close(&c);
    for (int i = 0; i < 10; i++) {
        loop_turn(l, 0);
    }
    assert_int_equal(stream.cancels, 1);
    assert_int_equal(http_connections(), 0);
}

/* The head of a stream does not wait for its first bytes. */
static void
test_head_comes_alone(void **state)
{
    (void)state;
    client_say(&c, "GET /begin HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears(&c, "\r\n\r\n"));
    assert_int_equal(http_send_more(stream.request, STR("x")), 0);
    assert_true(client_hears(&c, "1\r\nx\r\n"));
    http_end(stream.request);
    assert_true(client_hears(&c, "0\r\n\r\n"));
}

/* Bytes that came stay, and nothing says that they are all. */
static void
test_answer_breaks_off(void **state)
{
    (void)state;
    client_say(&c, "GET /begin HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears(&c, "\r\n\r\n"));
    assert_int_equal(http_send_more(stream.request, STR("half")), 0);
    assert_true(http_is_sent(stream.request));
    http_break(stream.request);
    assert_int_equal(stream.cancels, 0); /* later */
    assert_true(client_hears_end(&c));
    assert_non_null(client_find(&c, "4\r\nhalf\r\n"));
    assert_null(client_find(&c, "0\r\n\r\n"));
    assert_int_equal(stream.cancels, 1);
}

/* What the socket did not take is known, and does not keep it open. */
static void
test_break_off_before_a_client_that_never_reads(void **state)
{
    (void)state;
    client_say(&c, "GET /begin HTTP/1.1\r\nHost: a\r\n\r\n");
    http_limit_unsent(stream.request, 4096);
    assert_int_equal(
        http_send_more(stream.request, (struct str){ large, LARGE }), 0);
    assert_false(http_is_sent(stream.request));
    http_break(stream.request);
    for (int i = 0; i < 5; i++) {
        client_turn(&c, 0);
    }
    assert_int_equal(stream.cancels, 1);
    assert_int_equal(http_connections(), 0);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_large_answer_to_a_slow_reader),
        TEST(test_client_that_never_reads),
        TEST(test_client_that_reads_slowly),
        TEST(test_statuses_without_a_body),
        TEST(test_headers),
        TEST(test_page),
        TEST(test_page_that_is_too_long),
        TEST(test_chunked),
        TEST(test_a_known_length_in_pieces),
        TEST(test_trailers),
        TEST(test_interim_answers),
        TEST(test_until_close),
        TEST(test_stream_waits_for_room),
        TEST(test_stream_cancelled),
        TEST(test_head_comes_alone),
        TEST(test_answer_breaks_off),
        TEST(test_break_off_before_a_client_that_never_reads),
    };

    return cmocka_run_group_tests(tests, make_large, free_large);
}

/*
 * Answers whose bytes lie with their handler: to fast and slow clients, and
 * when bytes or client go in the middle; and shared bodies whose gzip is kept.
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

#include "base/mem.h"
#include "serve.h"

#define SIZE 3000000
#define PIECE 999

static struct loop *l;
static struct http_server server;
static struct client c;
static uint8_t *bytes; /* SIZE */
static unsigned asked, kept, done;
static bool lost, full;
static struct buf gzip;

/* Two ranges at most, so that it is asked often. */
static int
at(void *arg, uint64_t from, struct iovec *ranges, int most)
{
    int n = 0;

    assert_ptr_equal(arg, bytes);
    assert_true(most >= 2);
    asked++;
    if (lost) {
        return -1;
    }
    while (n < 2 && from < SIZE) {
        size_t len = SIZE - from < PIECE ? SIZE - from : PIECE;

        ranges[n++] = (struct iovec){ bytes + from, len };
        from += len;
    }
    return n;
}

static int
keep(void *arg, uint64_t from)
{
    (void)arg;
    assert_true(from < SIZE);
    kept++;
    return full ? -1 : 0;
}

static void
on_done(void *arg)
{
    (void)arg;
    done++;
}

static const struct http_pieces pieces = { at, keep, on_done };

static enum http_result
on_pieces(struct http_request *r, void *state)
{
    (void)state;
    return http_send_pieces(r, 200, "text/plain", SIZE, &pieces, bytes);
}

static enum http_result
on_empty(struct http_request *r, void *state)
{
    (void)state;
    return http_send_pieces(r, 200, "text/plain", 0, &pieces, bytes);
}

static enum http_result
on_shared(struct http_request *r, void *state)
{
    (void)state;
    return http_reply_shared(r, 200, "text/plain", str_of(bytes, 5000), &gzip);
}

static const struct http_route routes[] = {
    { "GET", "/pieces", on_pieces, NULL },
    { "GET", "/empty", on_empty, NULL },
    { "GET", "/shared", on_shared, NULL },
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
static const struct str types[] = { { "text/plain", 10 } };

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    bytes = mem_alloc(SIZE);
    for (size_t i = 0; i < SIZE; i++) {
        bytes[i] = (uint8_t)(i * i >> 7);
    }
    asked = kept = done = 0;
    lost = full = false;
    l = loop_new(&err);
    server = (struct http_server){ .settings = SERVE_SETTINGS,
                                   .locations = locations,
                                   .location_count = 1 };
    server.settings.gzip = true;
    server.settings.gzip_level = 1;
    server.settings.gzip_types = types;
    server.settings.gzip_type_count = 1;
    buf_init(&gzip, 10000);
    c = client_open(l, &server);
    return 0;
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
    buf_clear(&gzip);
    mem_free(&bytes);
    return 0;
}

static void
assert_bytes_come(void)
{
    assert_true(client_hears(&c, "\r\n\r\n"));
    client_forget(&c, "Content-Length: 3000000\r\n\r\n");
    for (int64_t until = clock_ms() + PATIENCE_MS;
         buf_len(&c.got) < SIZE && clock_ms() < until;) {
        client_turn(&c, 65536);
    }
    assert_true(buf_len(&c.got) >= SIZE);
    assert_memory_equal(buf_data(&c.got), bytes, SIZE);
    buf_take(&c.got, SIZE);
}

static void
test_twice_on_a_connection(void **state)
{
    (void)state;
    client_say(&c, "GET /pieces HTTP/1.1\r\nHost: a\r\n\r\n"
                   "GET /pieces HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_bytes_come();
    assert_bytes_come();
    assert_int_equal(done, 2);
    assert_true(kept > 0);
}

static void
test_slow_client(void **state)
{
    (void)state;
    client_say(&c, "GET /pieces HTTP/1.1\r\nHost: a\r\n\r\n");
    for (int i = 0; i < 300; i++) {
        client_turn(&c, 1000);
    }
    assert_int_equal(done, 0);
    assert_bytes_come();
    assert_int_equal(done, 1);
}

static void
test_nothing_is_asked_for_without_a_body(void **state)
{
    (void)state;
    client_say(&c, "HEAD /pieces HTTP/1.1\r\nHost: a\r\n\r\n"
                   "GET /empty HTTP/1.1\r\nHost: a\r\n\r\n"
                   "GET /none HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears(&c, " 404 "));
    client_forget(&c, "Content-Length: 3000000\r\n");
    client_forget(&c, "Content-Length: 0\r\n");
    assert_int_equal(asked, 0);
    assert_int_equal(done, 2);
}

static void
test_client_goes(void **state)
{
    (void)state;
    client_say(&c, "GET /pieces HTTP/1.1\r\nHost: a\r\n\r\n");
    client_turn(&c, 1000);
    client_close(&c);
    for (int i = 0; i < 6; i++) {
        loop_turn(l, 0);
    }
    assert_int_equal(http_connections(), 0);
    assert_int_equal(done, 1);
}

/* A length was promised: the client must notice. */
static void
test_bytes_go(void **state)
{
    (void)state;
    client_say(&c, "GET /pieces HTTP/1.1\r\nHost: a\r\n\r\n");
    client_turn(&c, 1000);
    lost = true;
    assert_true(client_hears_end(&c));
    assert_true(buf_len(&c.got) < SIZE);
    client_idle(&c, 2);
    assert_int_equal(done, 1);
}

static void
test_bytes_that_cannot_be_kept(void **state)
{
    (void)state;
    full = true;
    client_say(&c, "GET /pieces HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears_end(&c));
    assert_int_equal(kept, 1);
    client_idle(&c, 2);
    assert_int_equal(done, 1);
}

static void
test_gzip_is_made_once(void **state)
{
    const uint8_t *first;

    (void)state;
    memset(bytes, 'a', 5000);
    client_say(&c, "GET /shared HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears(&c, "Content-Length: 5000\r\n"));
    assert_int_equal(buf_len(&gzip), 0);
    client_say(&c, "GET /shared HTTP/1.1\r\nHost: a\r\n"
                   "Accept-Encoding: gzip\r\n\r\n");
    assert_true(client_hears(&c, "Content-Encoding: gzip\r\n"));
    assert_true(buf_len(&gzip) > 0);
    first = buf_data(&gzip);
    client_say(&c, "GET /shared HTTP/1.1\r\nHost: a\r\n"
                   "Accept-Encoding: gzip\r\n\r\n"
                   "GET /none HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears(&c, " 404 "));
    assert_ptr_equal(buf_data(&gzip), first);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_twice_on_a_connection),
        TEST(test_slow_client),
        TEST(test_nothing_is_asked_for_without_a_body),
        TEST(test_client_goes),
        TEST(test_bytes_go),
        TEST(test_bytes_that_cannot_be_kept),
        TEST(test_gzip_is_made_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

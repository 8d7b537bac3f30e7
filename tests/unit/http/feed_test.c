/*
 * Bodies that a feed looks into before the handler is called.
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

#include "http/metrics.h"
#include "proc/slot.h"
#include "serve.h"

enum { MOST = 1 << 20, LONG = 1000000 };

static struct loop *l;
static struct http_server server;
static struct client c;

/* What the feed was given. */
static struct {
    size_t begun, bytes, pieces, in_turn, left, too_long;
    int64_t turn;
    uint8_t sum;
    bool last;
} fed;

static uint64_t
most(const void *state)
{
    (void)state;
    return MOST;
}

static void *
begin(struct http_request *r, void *state)
{
    (void)r;
    (void)state;
    fed.begun++;
    return &fed;
}

/* Leaves a few bytes whenever it may. */
static size_t
on_piece(void *arg, struct str piece, bool last)
{
    size_t n = last || piece.len < 7 ? piece.len : piece.len - 7;

    assert_ptr_equal(arg, &fed);
    assert_false(fed.last);
    fed.in_turn = (fed.turn == loop_now_us(l) ? fed.in_turn : 0) + piece.len;
    fed.turn = loop_now_us(l);
    assert_true(fed.in_turn <= HTTP_PIECE);
    for (size_t i = 0; i < n; i++) {
        fed.sum = (uint8_t)(fed.sum * 31 + (uint8_t)piece.ptr[i]);
    }
    fed.left += piece.len - n;
    fed.bytes += n;
    fed.pieces++;
    fed.last = last;
    return n;
}

static void
on_long(struct http_request *r, void *state)
{
    (void)r;
    (void)state;
    fed.too_long++;
}

static const struct http_feed feed = {
    .most = most, .begin = begin, .piece = on_piece, .on_long = on_long
};

static enum http_result
on_post(struct http_request *r, void *state)
{
    (void)state;
    assert_ptr_equal(r->fed, &fed);
    assert_true(fed.last);
    return http_reply(r, 201, "text/plain", STR("fed"));
}

static enum http_result
on_dropped(struct http_request *r, void *state)
{
    (void)state;
    assert_int_equal(r->body.len, 0);
    return http_reply(r, 201, "text/plain", STR("dropped"));
}

static const struct http_route routes[] = {
    { "POST", "/feed", on_post, &feed },
    { "POST", "/drop", on_dropped, &http_dropped_body },
    { NULL, NULL, NULL, NULL },
};
static const struct http_layer layers[] = { { .module = "test",
                                              .routes = routes } };
static const struct http_location locations[] = {
    { .path = { "/", 1 },
      .client_max_body_size = 1 << 30,
      .layers = layers,
      .layer_count = 1 },
};

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
    memset(&fed, 0, sizeof(fed));
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
    metrics_destroy();
    slots_destroy();
    return 0;
}

static char body[LONG];

static uint8_t
fill(void)
{
    uint8_t sum = 0;

    for (size_t i = 0; i < LONG; i++) {
        body[i] = (char)(i * 7 + i / 251);
        sum = (uint8_t)(sum * 31 + (uint8_t)body[i]);
    }
    return sum;
}

static void
check_all(uint8_t sum)
{
    assert_int_equal(fed.begun, 1);
    assert_int_equal(fed.bytes, LONG);
    assert_int_equal(fed.sum, sum);
    assert_true(fed.left > 0);
}

static void
test_a_long_body_comes_in_turns(void **state)
{
    uint8_t sum = fill();

    (void)state;
    client_say(&c, "POST /feed HTTP/1.1\r\nHost: a\r\n"
                   "Content-Length: 1000000\r\n\r\n");
    client_send(&c, str_of(body, LONG));
    assert_true(client_hears(&c, "\r\n\r\nfed"));
    check_all(sum);
}

static void
test_chunks(void **state)
{
    uint8_t sum = fill();

    (void)state;
    client_say(&c, "POST /feed HTTP/1.1\r\nHost: a\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n");
    for (size_t at = 0; at < LONG; at += 50000) {
        client_say(&c, "c350\r\n");
        client_send(&c, str_of(body + at, 50000));
        client_say(&c, "\r\n");
    }
    client_say(&c, "0\r\n\r\n");
    assert_true(client_hears(&c, "\r\n\r\nfed"));
    check_all(sum);
}

static void
test_an_empty_body_has_its_last_piece(void **state)
{
    (void)state;
    client_say(&c, "POST /feed HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears(&c, "\r\n\r\nfed"));
    assert_int_equal(fed.pieces, 1);
    assert_true(fed.last && fed.bytes == 0);
}

/* Not a byte of it is read, and nobody is told to send one. */
static void
test_a_length_above_the_bound(void **state)
{
    (void)state;
    client_say(&c, "POST /feed HTTP/1.1\r\nHost: a\r\n"
                   "Expect: 100-continue\r\n"
                   "Content-Length: 1048577\r\n\r\n");
    assert_true(client_hears(&c, "at most 1048576 are taken"));
    assert_non_null(client_find(&c, "HTTP/1.1 413"));
    assert_null(client_find(&c, "100 Continue"));
    assert_int_equal(fed.begun, 0);
    assert_int_equal(fed.too_long, 1);
}

static void
test_chunks_above_the_bound(void **state)
{
    (void)state;
    client_say(&c, "POST /feed HTTP/1.1\r\nHost: a\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n100001\r\n");
    assert_true(client_hears(&c, "at most 1048576 are taken"));
    assert_int_equal(fed.pieces, 0);
    assert_int_equal(fed.too_long, 1);
}

static void
test_a_client_that_leaves(void **state)
{
    (void)state;
    fill();
    client_say(&c, "POST /feed HTTP/1.1\r\nHost: a\r\n"
                   "Content-Length: 1000000\r\n\r\n");
    client_send(&c, str_of(body, LONG - 1));
    assert_true(fed.pieces > 0 && !fed.last);
}

static void
test_a_body_that_is_dropped(void **state)
{
    (void)state;
    client_say(&c, "POST /drop HTTP/1.1\r\nHost: a\r\n"
                   "Content-Length: 1000000\r\n\r\n");
    client_send(&c, str_of(body, LONG));
    assert_true(client_hears(&c, "\r\n\r\ndropped"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_long_body_comes_in_turns),
        TEST(test_chunks),
        TEST(test_an_empty_body_has_its_last_piece),
        TEST(test_a_length_above_the_bound),
        TEST(test_chunks_above_the_bound),
        TEST(test_a_client_that_leaves),
        TEST(test_a_body_that_is_dropped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

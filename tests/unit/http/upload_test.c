/*
 * Bodies that a handler reads piece by piece, and answers that are begun
 * before their end.
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
#include "proc/slot.h"
#include "serve.h"

#define BODY_MAX (8 << 20)

static struct loop *l;
static struct http_server server;
static struct client c;

/* The handler, and what the test wants of it. */
static struct {
    struct http_request *request;
    size_t room; /* bytes that it takes before it stops */
    size_t took, ends, cancels;
    uint8_t sum;    /* of the bytes it took */
    int64_t turn;   /* of the last piece */
    size_t in_turn; /* bytes in it */
    bool echo, early, pull;
    char text[100]; /* the first of them */
} up;

static void
on_cancel(void *arg)
{
    (void)arg;
    up.cancels++;
}

static size_t
on_piece(void *arg, struct str piece)
{
    struct http_request *r = arg;
    size_t n = piece.len < up.room ? piece.len : up.room;

    if (up.early) {
        http_reply(r, 200, "text/plain", STR("enough"));
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        if (up.took + i < sizeof(up.text) - 1) {
            up.text[up.took + i] = piece.ptr[i];
        }
        up.sum = (uint8_t)(up.sum * 31 + (uint8_t)piece.ptr[i]);
    }
    up.in_turn = (up.turn == loop_now_us(l) ? up.in_turn : 0) + n;
    up.turn = loop_now_us(l);
    assert_true(up.in_turn <= HTTP_PIECE);
    up.took += n;
    up.room -= n;
    if (up.echo && n > 0) {
        http_send_more(r, str_first(piece, n));
    }
    return n;
}

static void
on_end(void *arg)
{
    struct http_request *r = arg;
    struct buf b;

    up.ends++;
    if (up.echo) {
        http_end(r);
        return;
    }
    buf_init(&b, 1000);
    buf_printf(&b, "all %zu", up.took);
    for (size_t i = 0; i < r->trailer_count; i++) {
        buf_printf(&b, " %.*s=%.*s", STR_ARGS(r->trailers[i].name),
                   STR_ARGS(r->trailers[i].value));
    }
    http_reply(r, 200, "text/plain", buf_str(&b));
    buf_clear(&b);
}

static const struct http_reader reader = { on_piece, on_end };

static void
begin(struct http_request *r)
{
    http_read_body(r, &reader, r);
    if (up.echo) {
        http_start(r, 200, "text/plain");
    }
}

static enum http_result
on_upload(struct http_request *r, void *state)
{
    (void)state;
    up.request = r;
    http_on_cancel(r, on_cancel, NULL);
    if (!up.pull) {
        begin(r);
    }
    return HTTP_WAIT;
}

/* What it has to say of a body that was read before. */
static enum http_select
on_select(struct http_request *r, void *state, struct http_choice *choice)
{
    (void)r;
    (void)state;
    if (!choice->body_read) {
        return HTTP_NEEDS_BODY;
    }
    if (choice->memory != NULL) {
        return HTTP_NONE_LEFT;
    }
    static const struct http_route routes[] = {
        { "*", "/*", on_upload, NULL },
        { NULL, NULL, NULL, NULL },
    };
    static const struct http_layer inner = { .module = "test",
                                             .routes = routes };

    choice->memory = &up;
    choice->layers = &inner;
    choice->layer_count = 1;
    choice->route_path = r->route_path;
    choice->vendor = choice->version = choice->format = STR_NONE;
    return HTTP_CHOSEN;
}

static const struct http_route routes[] = {
    { "PUT", "/*", on_upload, NULL },
    { NULL, NULL, NULL, NULL },
};
static const struct http_layer layer = { .module = "test", .routes = routes };
static const struct http_layer choosing = { .module = "test",
                                            .select = on_select };
static const struct http_location locations[] = {
    { .path = { "/chosen", 7 },
      .client_max_body_size = BODY_MAX,
      .layers = &choosing,
      .layer_count = 1 },
    { .path = { "/", 1 },
      .client_max_body_size = BODY_MAX,
      .layers = &layer,
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
                                   .location_count = 2 };
    memset(&up, 0, sizeof(up));
    up.room = SIZE_MAX;
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

/* ---- whole ---- */

static void
test_a_body_comes_in_pieces(void **state)
{
    (void)state;
    client_say(&c, "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n");
    client_say(&c, "01234");
    client_idle(&c, 3);
    assert_int_equal(up.took, 5);
    client_say(&c, "56789PUT /y HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears(&c, "all 10"));
    assert_string_equal(up.text, "0123456789");
    client_forget(&c, "all 10");
    assert_true(client_hears(&c, "all 10")); /* the next: nothing was added */
    assert_int_equal(up.ends, 2);
}

static void
test_chunks_and_their_trailers(void **state)
{
    (void)state;
    client_say(&c, "PUT /x HTTP/1.1\r\nHost: a\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n"
                   "3\r\nabc\r\n2\r\nde\r\n0\r\n"
                   "Sum:  7 \r\nno_good: 1\r\nB: \r\n\r\n");
    assert_true(client_hears(&c, "all 5 Sum=7 B="));
    assert_string_equal(up.text, "abcde");
}

static void
test_a_body_that_was_read_before(void **state)
{
    (void)state;
    up.room = 4;
    client_say(&c, "PUT /chosen HTTP/1.1\r\nHost: a\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n"
                   "6\r\nabcdef\r\n0\r\nT: 1\r\n\r\n");
    while (up.took < 4) {
        client_turn(&c, 65536);
    }
    client_idle(&c, 3);
    assert_int_equal(up.ends, 0);
    up.room = 100;
    http_want_body(up.request);
    assert_true(client_hears(&c, "all 6 T=1"));
    assert_string_equal(up.text, "abcdef");
}

/* ---- as fast as the handler takes it ---- */

/* What the client can send before nothing is taken any more. */
static size_t
fill(size_t most, char with)
{
    static char block[65536];
    size_t sent = 0;
    int idle = 0;

    memset(block, with, sizeof(block));
    while (sent < most && idle < 50) {
        size_t n = most - sent < sizeof(block) ? most - sent : sizeof(block);
        ssize_t put = send(c.fd, block, n, MSG_NOSIGNAL);

        idle = put > 0 ? 0 : idle + 1;
        sent += put > 0 ? (size_t)put : 0;
        client_turn(&c, 65536);
    }
    return sent;
}

/* What was looked at, and what has come behind it, are two turns' work:
 * on_piece() counts. */
static void
test_a_long_body_that_was_looked_at(void **state)
{
    static const char head[] = "PUT /chosen HTTP/1.1\r\nHost: a\r\n"
                               "Content-Length: 200000\r\n\r\n";
    static char all[sizeof(head) - 1 + 200000];

    (void)state;
    memcpy(all, head, sizeof(head) - 1);
    client_send(&c, str_of(all, sizeof(all)));
    assert_true(client_hears(&c, "all 200000"));
}

static void
test_what_is_not_taken_stays_with_the_client(void **state)
{
    size_t sent;

    (void)state;
    up.room = 1000;
    client_say(&c,
               "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n");
    sent = fill(8000000, 'x');
    assert_int_equal(up.took, 1000);
    assert_true(sent < 4000000); /* buffers of the system, and ours */
    while (sent < 8000000) {
        up.room = 100000;
        http_want_body(up.request);
        sent += fill(8000000 - sent, 'x');
    }
    while (up.ends == 0) {
        up.room = 100000;
        http_want_body(up.request);
        client_turn(&c, 65536);
    }
    assert_true(client_hears(&c, "all 8000000"));
}

static void
test_chunks_are_taken_in_parts(void **state)
{
    (void)state;
    up.room = 0;
    client_say(&c, "PUT /x HTTP/1.1\r\nHost: a\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n"
                   "4\r\nabcd\r\n3\r\nefg\r\n0\r\n\r\n");
    client_idle(&c, 3);
    assert_int_equal(up.took, 0);
    for (size_t i = 1; i <= 7; i++) {
        up.room = 1;
        http_want_body(up.request);
        while (up.took < i) {
            client_turn(&c, 65536);
        }
        assert_int_equal(up.took, i);
    }
    assert_true(client_hears(&c, "all 7"));
    assert_string_equal(up.text, "abcdefg");
}

static void
test_an_answer_goes_out_beside_the_body(void **state)
{
    (void)state;
    up.echo = true;
    client_say(&c,
               "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc");
    assert_true(client_hears(&c, "3\r\nabc\r\n"));
    client_say(&c, "def");
    assert_true(client_hears(&c, "3\r\ndef\r\n0\r\n\r\n"));
}

/* ---- 100 Continue ---- */

static void
test_continue_is_said_when_the_body_is_wanted(void **state)
{
    (void)state;
    up.pull = true;
    client_say(&c, "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
                   "Expect: 100-continue\r\n\r\n");
    client_idle(&c, 5);
    assert_int_equal(buf_len(&c.got), 0);
    begin(up.request);
    assert_true(client_hears(&c, "HTTP/1.1 100 Continue\r\n\r\n"));
    client_say(&c, "abc");
    assert_true(client_hears(&c, "all 3"));
    assert_int_equal(client_count(&c, "HTTP/1.1 "), 2);
}

static void
test_continue_is_not_said_when_the_answer_comes_first(void **state)
{
    (void)state;
    up.pull = true;
    client_say(&c, "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
                   "Expect: 100-continue\r\n\r\n");
    client_idle(&c, 5);
    http_reply(up.request, 200, "text/plain", STR("no need"));
    assert_true(client_hears_end(&c));
    assert_int_equal(client_count(&c, "HTTP/1.1 "), 1);
    assert_non_null(client_find(&c, "Connection: close\r\n"));
}

/* ---- bodies that do not become whole ---- */

static void
test_an_answer_before_the_end(void **state)
{
    (void)state;
    up.early = true;
    client_say(&c,
               "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc");
    assert_true(client_hears(&c, "enough"));
    up.early = false;
    client_say(&c,
               "dePUT /y HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nz");
    assert_true(client_hears(&c, "all 1")); /* the rest was dropped */
    assert_int_equal(up.cancels, 0);
}

static void
test_a_broken_chunk(void **state)
{
    (void)state;
    client_say(&c, "PUT /x HTTP/1.1\r\nHost: a\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n3\r\nabcX");
    assert_true(client_hears_end(&c));
    assert_non_null(client_find(&c, "HTTP/1.1 400 "));
    assert_int_equal(up.cancels, 1);
    assert_int_equal(up.ends, 0);
}

static void
test_a_broken_chunk_behind_a_begun_answer(void **state)
{
    (void)state;
    up.echo = true;
    client_say(&c, "PUT /x HTTP/1.1\r\nHost: a\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    assert_true(client_hears(&c, "3\r\nabc\r\n"));
    client_say(&c, "X");
    assert_true(client_hears_end(&c));
    assert_null(client_find(&c, "0\r\n\r\n"));
    assert_int_equal(up.cancels, 1);
}

static void
test_a_chunked_body_that_gets_too_long(void **state)
{
    size_t sent = 0;

    (void)state;
    client_say(&c, "PUT /x HTTP/1.1\r\nHost: a\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n7fffff\r\n");
    sent = fill(0x7fffff, 'x');
    assert_int_equal(sent, 0x7fffff);
    client_say(&c, "\r\n10\r\n");
    assert_true(client_hears(&c, "HTTP/1.1 413 "));
    assert_int_equal(up.cancels, 1);
}

static void
test_a_client_that_ends_its_side(void **state)
{
    (void)state;
    up.room = 2;
    client_say(&c,
               "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcd");
    shutdown(c.fd, SHUT_WR);
    client_idle(&c, 5);
    assert_int_equal(up.took, 2);
    assert_int_equal(up.cancels, 0); /* there is something left to take */
    up.room = 100;
    http_want_body(up.request);
    assert_true(client_hears_end(&c));
    assert_int_equal(up.took, 4);
    assert_int_equal(up.cancels, 1);
}

static void
test_a_client_that_goes(void **state)
{
    (void)state;
    client_say(&c,
               "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcd");
    client_idle(&c, 3);
    close(c.fd);
    c.fd = -1;
    while (http_connections() > 0) {
        loop_turn(l, 5);
    }
    assert_int_equal(up.cancels, 1);
}

/* ---- time ---- */

static void
test_a_pause_is_too_long_only_while_bytes_are_wanted(void **state)
{
    int64_t until = clock_ms() + 300;

    (void)state;
    server.settings.client_body_timeout = 50;
    up.room = 2;
    client_say(&c,
               "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc");
    while (clock_ms() < until) {
        client_turn(&c, 65536);
    }
    assert_int_equal(up.cancels, 0);
    up.room = 100;
    http_want_body(up.request);
    assert_true(client_hears(&c, "HTTP/1.1 408 "));
    assert_int_equal(up.cancels, 1);
    assert_int_equal(up.took, 3);
}

static void
test_a_body_that_trickles(void **state)
{
    (void)state;
    server.settings.client_body_timeout = 100;
    server.settings.client_body_min_rate = 1 << 30;
    client_say(&c,
               "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n");
    while (!c.ended && client_find(&c, "HTTP/1.1 408 ") == NULL) {
        send(c.fd, "x", 1, MSG_NOSIGNAL);
        client_turn(&c, 65536);
    }
    assert_non_null(client_find(&c, "HTTP/1.1 408 "));
    assert_int_equal(up.cancels, 1);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_a_body_comes_in_pieces),
        TEST(test_chunks_and_their_trailers),
        TEST(test_a_body_that_was_read_before),
        TEST(test_a_long_body_that_was_looked_at),
        TEST(test_what_is_not_taken_stays_with_the_client),
        TEST(test_chunks_are_taken_in_parts),
        TEST(test_an_answer_goes_out_beside_the_body),
        TEST(test_continue_is_said_when_the_body_is_wanted),
        TEST(test_continue_is_not_said_when_the_answer_comes_first),
        TEST(test_an_answer_before_the_end),
        TEST(test_a_broken_chunk),
        TEST(test_a_broken_chunk_behind_a_begun_answer),
        TEST(test_a_chunked_body_that_gets_too_long),
        TEST(test_a_client_that_ends_its_side),
        TEST(test_a_client_that_goes),
        TEST(test_a_pause_is_too_long_only_while_bytes_are_wanted),
        TEST(test_a_body_that_trickles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

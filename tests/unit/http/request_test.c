/*
 * Requests that last: waiting, resumed, cancelled, taken over.
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
static struct client c;

static struct {
    struct http_request *request;
    int calls, cancels;
    bool resume_at_once, pass, endless;
    struct conn *taken;
    int closes, eaten;
} seen;

static void
on_cancel(void *arg)
{
    assert_ptr_equal(arg, &seen);
    seen.cancels++;
}

static enum http_result
on_wait(struct http_request *r, void *state)
{
    (void)state;
    seen.request = r;
    if (seen.calls++ == 0) {
        r->context = &seen;
        http_on_cancel(r, on_cancel, &seen);
        if (seen.endless) {
            http_set_endless(r);
        }
        if (seen.resume_at_once) {
            http_resume(r);
        }
        return HTTP_WAIT;
    }
    assert_ptr_equal(r->context, &seen);
    return seen.pass ? HTTP_PASS : http_reply(r, 200, NULL, STR("resumed"));
}

static enum http_result
on_next(struct http_request *r, void *state)
{
    (void)state;
    return http_reply(r, 200, NULL, r->body.len > 0 ? r->body : STR("next"));
}

/* ---- a taker ---- */

static ssize_t
taken_data(void *arg, const uint8_t *data, size_t n)
{
    (void)arg;
    (void)data;
    seen.eaten += (int)n;
    return (ssize_t)n;
}

static void
taken_close(void *arg, const char *reason)
{
    (void)arg;
    (void)reason;
    seen.closes++;
    http_taken_done(seen.request, 3);
}

static const struct conn_handlers taker = {
    .on_data = taken_data,
    .on_close = taken_close,
};

static enum http_result
on_take(struct http_request *r, void *state)
{
    struct str head;

    (void)state;
    if (seen.calls++ == 0 && str_eq(r->query, STR("later"))) {
        seen.request = r;
        return HTTP_WAIT;
    }
    seen.request = r;
    seen.taken = http_take_over(r, &taker, &seen);
    http_set_header(r, "X-Mine", STR("1"));
    head = http_head(r, 200, "video/x-flv");
    conn_write(seen.taken, head.ptr, head.len);
    conn_write(seen.taken, "FLV", 3);
    if (str_eq(r->query, STR("close"))) {
        conn_close(seen.taken, "at once");
    }
    return HTTP_DONE;
}

static const struct http_route routes[] = {
    { "*", "/wait", on_wait, NULL },
    { "GET", "/take", on_take, NULL },
    { NULL, NULL, NULL, NULL },
};
static const struct http_route fallback[] = {
    { "*", "/*", on_next, &http_small_body },
    { NULL, NULL, NULL, NULL },
};
static const struct http_layer layers[] = {
    { .module = "test", .routes = routes },
    { .module = "next", .routes = fallback }
};
static const struct http_location locations[] = {
    { .path = { "/", 1 },
      .client_max_body_size = 100000,
      .layers = layers,
      .layer_count = 2 },
};
static const struct http_server server = { .settings = SERVE_SETTINGS,
                                           .locations = locations,
                                           .location_count = 1 };

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    memset(&seen, 0, sizeof(seen));
    l = loop_new(&err);
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

static void
turns(int n)
{
    while (n-- > 0) {
        loop_turn(l, 0);
    }
}

#define WAIT "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n"

static void
start_waiting(void)
{
    client_say(&c, WAIT);
    while (seen.calls == 0) {
        client_turn(&c, 65536);
    }
}

/* ---- waiting ---- */

static void
test_resume(void **state)
{
    (void)state;
    client_say(&c, WAIT "GET /behind HTTP/1.1\r\nHost: a\r\n\r\n");
    client_idle(&c, 5);
    assert_int_equal(buf_len(&c.got), 0); /* what is behind waits as well */
    http_resume(seen.request);
    http_resume(seen.request); /* asking twice is asking once */
    assert_true(client_hears(&c, "\r\n\r\nresumed"));
    assert_true(client_hears(&c, "\r\n\r\nnext"));
    assert_int_equal(seen.calls, 2);
    client_close(&c);
    turns(4);
    assert_int_equal(seen.cancels, 0);
}

static void
test_resume_before_it_waits(void **state)
{
    (void)state;
    seen.resume_at_once = true;
    client_say(&c, WAIT);
    assert_true(client_hears(&c, "\r\n\r\nresumed"));
    assert_int_equal(seen.calls, 2);
}

static void
test_pass_after_waiting(void **state)
{
    (void)state;
    seen.pass = true;
    client_say(&c, "POST /wait HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n"
                   "Expect: 100-continue\r\n\r\n");
    client_idle(&c, 3);
    http_resume(seen.request);
    /* only the next layer asks for the body */
    assert_true(client_hears(&c, "HTTP/1.1 100 Continue\r\n\r\n"));
    client_say(&c, "body");
    assert_true(client_hears(&c, "\r\n\r\nbody"));
    client_close(&c);
    turns(4);
    assert_int_equal(seen.cancels, 0); /* not that handler's any more */
}

static void
test_body_that_came_while_it_waited(void **state)
{
    (void)state;
    seen.pass = true;
    client_say(&c, "POST /wait HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n"
                   "\r\nbody");
    client_idle(&c, 3);
    http_resume(seen.request);
    assert_true(client_hears(&c, "\r\n\r\nbody"));
}

static void
test_cancel(void **state)
{
    (void)state;
    start_waiting();
    client_close(&c);
    turns(4);
    assert_int_equal(seen.cancels, 1);
    assert_int_equal(seen.calls, 1);
    assert_int_equal(http_connections(), 0);
}

static void
test_cancel_while_data_waits(void **state)
{
    (void)state;
    client_say(&c, WAIT "GET /behind HTTP/1.1\r\nHost: a\r\n\r\n");
    client_idle(&c, 2);
    client_close(&c);
    turns(6);
    assert_int_equal(seen.cancels, 1);
}

/* The connection goes in the turn in which it would be resumed. */
static void
test_cancel_instead_of_resume(void **state)
{
    (void)state;
    start_waiting();
    http_resume(seen.request);
    http_stop();
    turns(4);
    assert_int_equal(seen.cancels, 1);
    assert_int_equal(seen.calls, 1);
}

/* It ended its side only, and reads on. */
static void
test_end_of_the_clients_side_cancels_nothing(void **state)
{
    (void)state;
    client_say(&c, WAIT "GET /behind HTTP/1.1\r\nHost: a\r\n\r\n");
    shutdown(c.fd, SHUT_WR);
    client_idle(&c, 5);
    assert_int_equal(seen.cancels, 0);
    http_resume(seen.request);
    assert_true(client_hears(&c, "\r\n\r\nresumed"));
    assert_true(client_hears(&c, "\r\n\r\nnext"));
    assert_true(client_hears_end(&c));
}

static void
test_end_of_the_clients_side_ends_the_endless(void **state)
{
    (void)state;
    seen.endless = true;
    start_waiting();
    shutdown(c.fd, SHUT_WR);
    assert_true(client_hears_end(&c));
    assert_int_equal(seen.cancels, 1);
    assert_int_equal(seen.calls, 1);
}

static void
test_no_cancel_after_the_answer(void **state)
{
    (void)state;
    start_waiting();
    http_reply(seen.request, 200, NULL, STR("from outside"));
    http_stop();
    turns(4);
    assert_int_equal(seen.cancels, 0);
}

static void
test_answer_without_resume(void **state)
{
    (void)state;
    start_waiting();
    http_reply(seen.request, 200, NULL, STR("from outside"));
    assert_true(client_hears(&c, "\r\n\r\nfrom outside"));
    client_say(&c, "GET /behind HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears(&c, "\r\n\r\nnext"));
}

/* ---- taking over ---- */

static void
test_take_over(void **state)
{
    (void)state;
    client_say(&c, "GET /take HTTP/1.1\r\nHost: a\r\n\r\nunread");
    assert_true(client_hears(&c, "\r\n\r\nFLV"));
    assert_non_null(client_find(&c, "HTTP/1.1 200 OK\r\n"));
    assert_non_null(client_find(&c, "Connection: close\r\n"));
    assert_non_null(client_find(&c, "Content-Type: video/x-flv\r\n"));
    assert_non_null(client_find(&c, "X-Mine: 1\r\n"));
    assert_null(client_find(&c, "Content-Length"));
    assert_null(client_find(&c, "Transfer-Encoding"));
    client_say(&c, "more");
    turns(3);
    assert_int_equal(seen.eaten, 10); /* what came behind it, too */
    assert_int_equal(http_connections(), 1);
    client_close(&c);
    turns(4);
    assert_int_equal(seen.closes, 1);
    assert_int_equal(http_connections(), 0);
}

static void
test_take_over_later(void **state)
{
    (void)state;
    client_say(&c, "GET /take?later HTTP/1.1\r\nHost: a\r\n\r\nunread");
    client_idle(&c, 2);
    http_resume(seen.request);
    assert_true(client_hears(&c, "\r\n\r\nFLV"));
    client_say(&c, "more");
    turns(3);
    assert_int_equal(seen.eaten, 10); /* what came behind it, too */
}

static void
test_taken_and_closed_in_the_handler(void **state)
{
    (void)state;
    client_say(&c, "GET /take?close HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears_end(&c));
    turns(3);
    assert_int_equal(seen.closes, 1);
    assert_int_equal(http_connections(), 0);
}

static void
test_stop_closes_what_was_taken(void **state)
{
    (void)state;
    client_say(&c, "GET /take HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_true(client_hears(&c, "FLV"));
    http_stop();
    turns(3);
    assert_int_equal(seen.closes, 1);
    assert_true(client_hears_end(&c));
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_resume),
        TEST(test_resume_before_it_waits),
        TEST(test_pass_after_waiting),
        TEST(test_body_that_came_while_it_waited),
        TEST(test_cancel),
        TEST(test_cancel_while_data_waits),
        TEST(test_cancel_instead_of_resume),
        TEST(test_end_of_the_clients_side_cancels_nothing),
        TEST(test_end_of_the_clients_side_ends_the_endless),
        TEST(test_no_cancel_after_the_answer),
        TEST(test_answer_without_resume),
        TEST(test_take_over),
        TEST(test_take_over_later),
        TEST(test_taken_and_closed_in_the_handler),
        TEST(test_stop_closes_what_was_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Long bodies: their handlers have turns of their own.
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

#include <linux/sockios.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "http/metrics.h"
#include "proc/slot.h"
#include "serve.h"

static struct loop *l;
static struct http_server server;

/* Their handlers take their time. */
enum { PARSERS = 20, PARSE_MS = 2, LONG = 40000 };
static struct client parsers[PARSERS];
static size_t parsed;
static bool handled[PARSERS];

static enum http_result
on_parse(struct http_request *r, void *state)
{
    int64_t until = clock_ms() + PARSE_MS;

    (void)state;
    assert_int_equal(r->body.len, LONG);
    handled[strtoul(r->path.ptr + strlen("/parse/"), NULL, 10)] = true;
    parsed++;
    while (clock_ms() < until) {
    }
    return http_reply(r, 201, "text/plain", STR("parsed"));
}

static const struct http_route routes[] = {
    { "POST", "/parse/*", on_parse, &http_small_body },
    { NULL, NULL, NULL, NULL },
};
static const struct http_layer layers[] = { { .module = "test",
                                              .routes = routes } };
static const struct http_location locations[] = {
    { .path = { "/", 1 },
      .client_max_body_size = LONG,
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
    assert_int_equal(http_connections(), 0);
    loop_free(&l);
    metrics_destroy();
    slots_destroy();
    return 0;
}

/* All of them are there at once. */
static void
open_parsers(void)
{
    static char body[LONG];

    memset(body, 'x', sizeof(body));
    parsed = 0;
    memset(handled, 0, sizeof(handled));
    for (int i = 0; i < PARSERS; i++) {
        char head[100];
        int n = snprintf(head, sizeof(head),
                         "POST /parse/%d HTTP/1.1\r\nHost: a\r\n"
                         "Content-Length: %d\r\n\r\n",
                         i, LONG);

        parsers[i] = client_open(l, &server);
        client_send(&parsers[i], str_of(head, (size_t)n));
        client_send(&parsers[i], str_of(body, LONG - 1));
    }
    for (int i = 0; i < PARSERS; i++) {
        assert_int_equal(send(parsers[i].fd, "x", 1, 0), 1);
    }
}

static void
test_long_bodies_leave_the_others_their_turn(void **state)
{
    (void)state;
    open_parsers();
    assert_int_equal(parsed, 0);
    while (parsed < PARSERS) {
        size_t before = parsed;

        loop_turn(l, -1);
        assert_true(parsed - before <= 3); /* of 2 ms in a share of 5 */
    }
    for (int i = 0; i < PARSERS; i++) {
        assert_true(client_hears(&parsers[i], "\r\n\r\nparsed"));
        client_close(&parsers[i]);
    }
}

static bool
is_read(int i)
{
    int unread = 0;

    assert_int_equal(ioctl(parsers[i].fd, SIOCOUTQ, &unread), 0);
    return unread == 0;
}

/* The next one whose request came whole and waits for its turn, or PARSERS. */
static int
waiting(int after)
{
    do {
        after++;
    } while (after < PARSERS && (handled[after] || !is_read(after)));
    return after;
}

static void
close_parsers(int but)
{
    for (int i = 0; i < PARSERS; i++) {
        assert_true(i == but || client_hears(&parsers[i], "\r\n\r\nparsed"));
        client_close(&parsers[i]);
    }
    while (http_connections() > 0) {
        loop_turn(l, 1000);
    }
}

/* Until two of them wait.  A machine that is busy with others may let none
 * wait: each is handled before the next is read. */
static void
open_until_two_wait(int *one, int *other)
{
    for (;;) {
        open_parsers();
        while (parsed < PARSERS) {
            loop_turn(l, -1);
            *one = waiting(-1);
            *other = *one < PARSERS ? waiting(*one) : PARSERS;
            if (parsed > 0 && *other < PARSERS) {
                return;
            }
        }
        close_parsers(-1);
    }
}

/* What came whole is handled and answered, though its client has ended its
 * side.  One that hung up altogether disturbs nobody; whether it is handled
 * depends on whose turn comes first. */
static void
test_clients_of_long_bodies_that_leave(void **state)
{
    int half, gone;

    (void)state;
    open_until_two_wait(&half, &gone);
    shutdown(parsers[half].fd, SHUT_WR);
    client_close(&parsers[gone]);
    close_parsers(gone);
    for (int i = 0; i < PARSERS; i++) {
        assert_true(handled[i] || i == gone);
    }
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_long_bodies_leave_the_others_their_turn),
        TEST(test_clients_of_long_bodies_that_leave),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

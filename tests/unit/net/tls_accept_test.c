/*
 * Handshakes: those that succeed, and all ways in which they do not.
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

#include "counted.h"
#include "tls_client.h"

static int64_t
ended(enum net_tls how)
{
    return counted(NET_TLS_HANDSHAKES, how);
}

static void
those_that_succeed_are_counted_by_version(void **state)
{
    int64_t old = ended(NET_TLS_FULL_1_2), new = ended(NET_TLS_FULL_1_3);
    struct session s;

    (void)state;
    open_tls(&s, TLS1_2_VERSION, &wide);
    close_tls(&s);
    assert_int_equal(ended(NET_TLS_FULL_1_2), old + 1);
    open_tls(&s, TLS1_3_VERSION, &wide);
    close_tls(&s);
    assert_int_equal(ended(NET_TLS_FULL_1_3), new + 1);
}

static void
not_called(void *arg, const struct conn_socket *socket)
{
    (void)arg;
    (void)socket;
    fail_msg("handed on");
}

static void
turns_until_over(void)
{
    int64_t until = clock_ms() + PATIENCE_MS;

    while (tls_handshakes() > 0 && clock_ms() < until) {
        loop_turn(l, 10);
    }
    assert_int_equal(tls_handshakes(), 0);
    loop_turn(l, 0);
}

static void
they_are_counted_by_their_reason(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        bool leave;
        enum net_tls event;
    } cases[] = {
        { "", 0, true, NET_TLS_LEFT },
        { "\x16\x03\x01", 3, true, NET_TLS_LEFT },
        { "\x16\x03\x01\x00\x05hello", 10, false, NET_TLS_FAILED },
        { "\x03rtmp", 5, false, NET_TLS_NOT_TLS },
        { "GET /", 5, false, NET_TLS_NOT_TLS },
    };
    struct session s;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t before = ended(cases[i].event);

        connect_to(context, &s, not_called);
        assert_int_equal(write(s.peer, cases[i].bytes, cases[i].len),
                         cases[i].len);
        if (cases[i].leave) {
            close(s.peer);
        }
        turns_until_over();
        assert_int_equal(ended(cases[i].event), before + 1);
        if (!cases[i].leave) {
            close(s.peer);
        }
    }
}

static void
who_takes_too_long_is_closed(void **state)
{
    struct tls_options o = usual_options();
    struct errmsg err;
    int64_t before = ended(NET_TLS_TIMED_OUT);
    struct tls_context *hasty;
    struct session s;
    char byte;

    (void)state;
    o.handshake_timeout = 30;
    hasty = tls_context_new(&o, &err);
    connect_to(hasty, &s, not_called);
    assert_int_equal(write(s.peer, "\x16\x03", 2), 2);
    turns_until_over();
    assert_int_equal(ended(NET_TLS_TIMED_OUT), before + 1);
    assert_int_equal(read(s.peer, &byte, 1), 0);
    close(s.peer);
    tls_context_free(&hasty);
}

static void
those_under_way_end_with_the_process(void **state)
{
    struct session s;

    (void)state;
    connect_to(context, &s, not_called);
    assert_int_equal(write(s.peer, "\x16", 1), 1);
    loop_turn(l, 0);
    tls_accept_stop();
    assert_int_equal(tls_handshakes(), 0);
    loop_turn(l, 0);
    close(s.peer);
}

static void
on_plain(void *arg, const struct conn_socket *socket)
{
    struct session *s = arg;

    assert_null(socket->tls);
    assert_true(socket->not_tls);
    s->c = conn_new(l, socket, &handlers, s, &wide);
}

static void
http_hears_of_what_is_not_tls(void **state)
{
    struct tls_options o = usual_options();
    struct tls_context *http;
    struct errmsg err;
    struct session s;

    (void)state;
    o.http = true;
    http = tls_context_new(&o, &err);
    connect_to(http, &s, on_plain);
    say(&s, "GET /");
    turns_until_got(&s, 5);
    saw(&s, "GET /");
    done(&s);
    tls_context_free(&http);
}

#define TEST(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(those_that_succeed_are_counted_by_version),
        TEST(they_are_counted_by_their_reason),
        TEST(who_takes_too_long_is_closed),
        TEST(those_under_way_end_with_the_process),
        TEST(http_hears_of_what_is_not_tls),
    };

    return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}

/*
 * Connections over real sockets: keeping what is not eaten, closing from every
 * callback, lingering.
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

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>

#include "base/clock.h"
#include "conn_session.h"

static size_t
open_descriptors(void)
{
    size_t n = 0;

    for (int fd = 0; fd < 1000; fd++) {
        n += fcntl(fd, F_GETFD) != -1;
    }
    return n;
}

static void
is_small(void **state)
{
    (void)state;
    assert_true(sizeof(struct conn) <= 408); /* 416 bytes of the heap */
}

static void
bytes_come_and_are_counted(void **state)
{
    struct session s;

    (void)state;
    open_session(&s, &handlers, &small);
    say(&s, "hello");
    loop_turn(l, 1000);
    saw(&s, "hello");
    assert_int_equal(s.c->bytes_in, 5);
    assert_null(s.c->in.mem); /* idle: holds nothing */
    assert_int_equal(conn_write(s.c, "world!", 6), 0);
    assert_int_equal(s.c->bytes_out, 6);
    assert_null(s.c->out.mem);
    char back[8];

    assert_int_equal(read(s.peer, back, sizeof(back)), 6);
    done(&s);
}

static void
what_is_not_eaten_is_offered_again(void **state)
{
    struct session s;

    (void)state;
    open_session(&s, &handlers, &small);
    s.eat = 2;
    say(&s, "abcde");
    loop_turn(l, 1000);
    saw(&s, "ab");
    loop_turn(l, 0); /* nothing new came */
    assert_int_equal(s.data_calls, 1);
    say(&s, "fg");
    loop_turn(l, 1000);
    saw(&s, "abcd");
    assert_int_equal(s.offered, 5);
    s.eat = SIZE_MAX;
    conn_offer(s.c);
    saw(&s, "abcdefg");
    assert_null(s.c->in.mem);
    conn_offer(s.c); /* nothing to offer */
    assert_int_equal(s.data_calls, 3);
    done(&s);
}

static void
full_stops_reading_until_offered(void **state)
{
    struct session s;

    (void)state;
    open_session(&s, &handlers, &small);
    s.eat = 0;
    say(&s, "0123456789abcdefXYZ");
    for (int i = 0; i < 5; i++) {
        loop_turn(l, 0);
    }
    assert_int_equal(s.offered, 16);
    assert_int_equal(s.data_calls, 1);
    s.eat = SIZE_MAX;
    conn_offer(s.c);
    loop_turn(l, 1000);
    saw(&s, "0123456789abcdefXYZ");
    done(&s);
}

static void
paused_reads_nothing_and_goes_on(void **state)
{
    struct session s;

    (void)state;
    open_session(&s, &handlers, &small);
    s.then = PAUSE;
    s.eat = 1;
    say(&s, "abc");
    loop_turn(l, 1000);
    say(&s, "def");
    loop_turn(l, 0);
    saw(&s, "a");
    s.then = NOTHING;
    s.eat = SIZE_MAX;
    conn_resume_reading(s.c);
    saw(&s, "a"); /* not from within the call */
    loop_turn(l, 1000);
    loop_turn(l, 0);
    saw(&s, "abcdef");
    done(&s);
}

static void
offer_within_on_data_comes_later(void **state)
{
    struct session s;

    (void)state;
    open_session(&s, &handlers, &small);
    s.then = OFFER;
    s.eat = 1;
    say(&s, "ab");
    loop_turn(l, 1000);
    loop_turn(l, 0);
    saw(&s, "ab");
    done(&s);
}

static void
handed_over_with_the_rest(void **state)
{
    struct session s, heir = { .eat = SIZE_MAX, .peer = -1 };

    (void)state;
    open_session(&s, &first, &small);
    s.then = HAND_OVER;
    s.heir = &heir;
    s.eat = 3;
    say(&s, "GETrest");
    loop_turn(l, 1000);
    saw(&s, "GET");
    saw(&heir, "rest");
    conn_close(s.c, "over");
    assert_int_equal(s.close_calls, 0);
    assert_int_equal(heir.close_calls, 1);
    close(s.peer);
}

static void
closed_by_the_peer(void **state)
{
    struct session s;

    (void)state;
    open_session(&s, &no_eof, &small);
    say(&s, "last");
    close(s.peer);
    s.peer = -1;
    loop_turn(l, 1000);
    loop_turn(l, 1000);
    saw(&s, "last");
    assert_int_equal(s.close_calls, 1);
    assert_string_equal(s.reason, "peer closed the connection");
}

static void
half_closed_by_the_peer(void **state)
{
    struct session s;
    char back[8];

    (void)state;
    open_tcp(&s, &handlers, &small);
    shutdown(s.peer, SHUT_WR);
    loop_turn(l, 1000);
    assert_int_equal(s.eof_calls, 1);
    loop_turn(l, 0); /* does not spin */
    assert_int_equal(s.eof_calls, 1);
    assert_int_equal(conn_write(s.c, "bye", 3), 0);
    assert_int_equal(read(s.peer, back, sizeof(back)), 3);
    conn_finish(s.c, 1000, "answered");
    assert_int_equal(s.close_calls, 1); /* both sides have ended */
    assert_string_equal(s.reason, "answered");
    close(s.peer);
}

static void
closing_in_any_callback_is_safe(void **state)
{
    struct session s;

    (void)state;
    open_session(&s, &handlers, &small);
    s.then = CLOSE;
    say(&s, "x");
    loop_turn(l, 1000);
    assert_int_equal(s.close_calls, 1);
    assert_string_equal(s.reason, "test is over");
    close(s.peer);

    open_session(&s, &handlers, &small);
    s.then = CLOSE;
    shutdown(s.peer, SHUT_WR);
    loop_turn(l, 1000);
    assert_int_equal(s.eof_calls, 1);
    assert_int_equal(s.close_calls, 1);
    close(s.peer);

    open_session(&s, &handlers, &small);
    s.then = REFUSE;
    say(&s, "x");
    loop_turn(l, 1000);
    assert_int_equal(s.close_calls, 1);
    close(s.peer);

    open_session(&s, &first, &small);
    s.eat = 1;
    say(&s, "xy");
    loop_turn(l, 1000);
    s.then = CLOSE;
    conn_offer(s.c);
    assert_int_equal(s.close_calls, 1);
    close(s.peer);
}

static void
turns(int n)
{
    for (int i = 0; i < n; i++) {
        loop_turn(l, 0);
    }
}

/* A local peer that ends is told as broken, but what it sent is there. */
static void
what_lies_there_outlives_its_sender(void **state)
{
    struct session s;

    (void)state;
    open_session(&s, &hearing, &small);
    conn_pause_reading(s.c);
    say(&s, "last words");
    close(s.peer);
    turns(5);
    assert_int_equal(s.close_calls, 0);
    conn_resume_reading(s.c);
    turns(5);
    saw(&s, "last words");
    assert_int_equal(s.eof_calls, 1);
    if (s.close_calls == 0) {
        conn_close(s.c, "done");
    }
}

/* Most owners only answer: they want to know at once. */
static void
a_peer_that_goes_while_it_waits_is_noticed(void **state)
{
    struct session s;

    (void)state;
    open_session(&s, &handlers, &small);
    conn_pause_reading(s.c);
    close(s.peer);
    turns(5);
    assert_int_equal(s.close_calls, 1);
}

static void
reset_is_noticed(void **state)
{
    struct session s;

    (void)state;
    open_tcp(&s, &handlers, &small);
    reset_peer(&s);
    loop_turn(l, 1000);
    assert_int_equal(s.close_calls, 1);
    assert_string_equal(s.reason, strerror(ECONNRESET));

    /* Also by one that reads nothing. */
    open_tcp(&s, &handlers, &small);
    conn_pause_reading(s.c);
    reset_peer(&s);
    loop_turn(l, 1000);
    assert_int_equal(s.close_calls, 1);
    assert_string_equal(s.reason, "peer reset the connection");
}

/* The peer goes on talking, and still gets the whole answer. */
static void
finish_gives_the_last_words(void **state)
{
    struct session s;
    char *big = mem_zero(BIG);
    size_t came = 0;

    (void)state;
    open_tcp(&s, &handlers, &wide);
    say(&s, "a request that nobody reads to its end");
    assert_int_equal(conn_write(s.c, big, BIG), 0);
    conn_finish(s.c, 60000, "refused");
    assert_int_equal(conn_write(s.c, "x", 1), -1);
    for (int i = 0; i < TURNS && came < BIG; i++) {
        came += drain(s.peer);
        loop_turn(l, 0);
    }
    assert_int_equal(came, BIG);
    assert_int_equal(s.close_calls, 0);
    say(&s, "more");
    char end;
    assert_int_equal(read(s.peer, &end, 1), 0); /* no reset */
    loop_turn(l, 1000);
    close(s.peer);
    s.peer = -1;
    for (int i = 0; i < TURNS && s.close_calls == 0; i++) {
        loop_turn(l, 100);
    }
    assert_int_equal(s.close_calls, 1);
    assert_string_equal(s.reason, "refused");
    assert_int_equal(s.data_calls + s.eof_calls, 0);
    mem_free(&big);
}

static void
finish_ends_for_a_peer_that_stays(void **state)
{
    struct session s;
    char *big = mem_zero(BIG);

    (void)state;
    open_tcp(&s, &handlers, &wide);
    conn_finish(s.c, 20, "lingered");
    while (s.close_calls == 0) {
        loop_turn(l, 1000);
    }
    assert_string_equal(s.reason, "lingered");
    close(s.peer);

    /* One that takes nothing is not waited for either. */
    open_tcp(&s, &handlers, &wide);
    assert_int_equal(conn_write(s.c, big, BIG), 0);
    assert_true(conn_unsent(s.c) > 0);
    conn_finish(s.c, 20, "lingered");
    while (s.close_calls == 0) {
        loop_turn(l, 1000);
    }
    close(s.peer);
    mem_free(&big);
}

static void
finish_does_not_wait_for_one_that_says_no_more(void **state)
{
    struct session s;
    char byte;

    (void)state;
    open_tcp(&s, &handlers, &wide);
    assert_int_equal(conn_write(s.c, "last", 4), 0);
    conn_finish(s.c, 0, "answered");
    assert_int_equal(s.close_calls, 1);
    assert_string_equal(s.reason, "answered");
    assert_int_equal(recv(s.peer, &byte, 1, 0), 1);
    close(s.peer);
    loop_turn(l, 0);
}

/* One that goes on sending is read for longer, but not for ever. */
static void
finish_ends_for_a_peer_that_sends(void **state)
{
    static const struct conn_limits patient = {
        .in_limit = 65536,
        .out_limit = BIG,
        .linger_total_ms = 200,
        .linger_size = 1 << 30,
    };
    static const struct conn_limits bounded = {
        .in_limit = 65536,
        .out_limit = BIG,
        .linger_total_ms = 100000,
        .linger_size = 100000,
    };
    struct session s;
    char bytes[1000] = { 0 };
    int64_t began = clock_ms();

    (void)state;
    open_tcp(&s, &handlers, &patient);
    conn_finish(s.c, 40, "talkative");
    while (s.close_calls == 0) {
        send(s.peer, bytes, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        loop_turn(l, 5);
    }
    assert_true(clock_ms() - began >= 150);
    close(s.peer);

    began = clock_ms();
    open_tcp(&s, &handlers, &bounded);
    conn_finish(s.c, 60000, "talkative");
    while (s.close_calls == 0) {
        send(s.peer, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT);
        loop_turn(l, 0);
    }
    assert_true(clock_ms() - began < bounded.linger_total_ms);
    close(s.peer);
}

static void
finish_within_on_data(void **state)
{
    struct session s;
    char end;

    (void)state;
    open_session(&s, &handlers, &small);
    s.eat = 1;
    say(&s, "abc");
    loop_turn(l, 1000); /* "bc" is kept */
    s.then = FINISH;
    say(&s, "d");
    loop_turn(l, 1000);
    assert_int_equal(s.data_calls, 2);
    assert_int_equal(read(s.peer, &end, 1), 0);
    close(s.peer);
    s.peer = -1;
    for (int i = 0; i < TURNS && s.close_calls == 0; i++) {
        loop_turn(l, 100);
    }
    assert_string_equal(s.reason, "finished");
    assert_int_equal(s.data_calls, 2);
}

static void
no_descriptor_is_left(void **state)
{
    struct session s;
    size_t before = open_descriptors();

    (void)state;
    for (int i = 0; i < 50; i++) {
        open_tcp(&s, &handlers, &small);
        done(&s);
    }
    assert_int_equal(open_descriptors(), before);
}

static void
tcp_does_not_wait_for_more(void **state)
{
    struct session s;
    int on = 0;
    socklen_t len = sizeof(on);

    (void)state;
    open_tcp(&s, &handlers, &small);
    assert_int_equal(
        getsockopt(s.c->io.fd, IPPROTO_TCP, TCP_NODELAY, &on, &len), 0);
    assert_int_not_equal(on, 0);
    assert_true(fcntl(s.c->io.fd, F_GETFL) & O_NONBLOCK);
    done(&s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(is_small),
        TEST(bytes_come_and_are_counted),
        TEST(what_is_not_eaten_is_offered_again),
        TEST(full_stops_reading_until_offered),
        TEST(paused_reads_nothing_and_goes_on),
        TEST(offer_within_on_data_comes_later),
        TEST(handed_over_with_the_rest),
        TEST(closed_by_the_peer),
        TEST(what_lies_there_outlives_its_sender),
        TEST(a_peer_that_goes_while_it_waits_is_noticed),
        TEST(half_closed_by_the_peer),
        TEST(closing_in_any_callback_is_safe),
        TEST(reset_is_noticed),
        TEST(finish_gives_the_last_words),
        TEST(finish_ends_for_a_peer_that_stays),
        TEST(finish_does_not_wait_for_one_that_says_no_more),
        TEST(finish_ends_for_a_peer_that_sends),
        TEST(finish_within_on_data),
        TEST(no_descriptor_is_left),
        TEST(tcp_does_not_wait_for_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

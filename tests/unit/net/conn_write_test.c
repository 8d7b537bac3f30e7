/*
 * Connections over real sockets: short writes and what comes after them.
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
#include <sys/mman.h>

#include "conn_session.h"

static void
unsent_is_kept_and_sent(void **state)
{
    struct session s;
    char *big = mem_zero(BIG);
    size_t came = 0;

    (void)state;
    open_session(&s, &handlers, &wide);
    assert_int_equal(conn_write(s.c, big, BIG), 0);
    assert_true(conn_unsent(s.c) > 0);
    assert_int_equal(conn_write(s.c, "end", 3), 0);
    for (int i = 0; i < TURNS && came < BIG + 3; i++) {
        came += drain(s.peer);
        loop_turn(l, 0);
    }
    assert_int_equal(came, BIG + 3);
    assert_int_equal(s.c->bytes_out, BIG + 3);
    assert_int_equal(conn_unsent(s.c), 0);
    assert_null(s.c->out.mem);
    /* It was conn_write()'s own matter. */
    assert_int_equal(s.writable_calls, 0);
    assert_int_equal(s.c->io.wanted, IO_READ);
    mem_free(&big);
    done(&s);
}

static void
too_much_unsent_is_refused(void **state)
{
    struct session s;
    char *big = mem_zero(BIG);

    (void)state;
    open_session(&s, &handlers, &small);
    assert_int_equal(conn_write(s.c, big, BIG), -1);
    mem_free(&big);
    done(&s);
}

static void
writev_keeps_nothing_and_tells_when(void **state)
{
    struct session s;
    char *big = mem_zero(BIG);
    struct iovec iov[2] = { { big, 1000 }, { big + 1000, BIG - 1000 } };
    ssize_t sent;

    (void)state;
    open_session(&s, &handlers, &wide);
    sent = conn_writev(s.c, iov, 2);
    assert_true(sent > 1000 && sent < BIG);
    assert_int_equal(conn_unsent(s.c), 0);
    /* A stuck socket is not tried again. */
    assert_int_equal(conn_writev(s.c, iov, 2), 0);
    loop_turn(l, 0);
    assert_int_equal(s.writable_calls, 0);

    assert_int_equal(drain(s.peer), sent);
    loop_turn(l, 1000);
    assert_int_equal(s.writable_calls, 1);
    loop_turn(l, 0);
    assert_int_equal(s.writable_calls, 1);
    assert_int_equal(conn_writev(s.c, iov, 1), 1000);
    assert_int_equal(s.c->io.wanted, IO_READ);
    mem_free(&big);
    done(&s);
}

/* The head and the file behind it, as far as the socket takes them. */
static void
a_file_goes_behind_its_head(void **state)
{
    struct session s;
    char *big = mem_zero(BIG);
    int file = memfd_create("file", 0);
    struct str head = STR("head");
    char got[8];
    ssize_t sent;

    (void)state;
    memcpy(big, "0123", 4);
    assert_int_equal(write(file, big, BIG), BIG);
    open_tcp(&s, &handlers, &wide);
    assert_true(conn_is_direct(s.c));
    assert_int_equal(conn_send_file(s.c, head, file, 1, 3), 4 + 3);
    assert_int_equal(recv(s.peer, got, 7, MSG_WAITALL), 7);
    assert_memory_equal(got, "head123", 7);
    assert_int_equal(s.c->bytes_out, 7);
    assert_true(conn_is_direct(s.c));

    sent = conn_send_file(s.c, STR(""), file, 0, BIG);
    assert_true(sent > 0 && sent < BIG);
    assert_false(conn_is_direct(s.c));
    for (int i = 0; i < TURNS && s.writable_calls == 0; i++) {
        drain(s.peer);
        loop_turn(l, 0);
    }
    assert_int_equal(s.writable_calls, 1);
    assert_int_equal(conn_unsent(s.c), 0);

    conn_close(s.c, "done");
    close(s.peer);
    loop_turn(l, 0);
    close(file);
    mem_free(&big);
}

static void
own_words_go_before_on_writable(void **state)
{
    struct session s;
    char *big = mem_zero(BIG);
    struct iovec iov = { big, BIG };
    size_t came = 0;

    (void)state;
    open_session(&s, &handlers, &wide);
    assert_true(conn_writev(s.c, &iov, 1) < BIG);
    assert_int_equal(conn_write(s.c, big, BIG / 2), 0);
    assert_int_equal(conn_unsent(s.c), BIG / 2);
    for (int i = 0; i < TURNS && s.writable_calls == 0; i++) {
        came += drain(s.peer);
        loop_turn(l, 0);
        assert_true(s.writable_calls == 0 || conn_unsent(s.c) == 0);
    }
    assert_int_equal(s.writable_calls, 1);
    assert_true(came + drain(s.peer) > BIG / 2);
    mem_free(&big);
    done(&s);
}

static void
many_pieces_are_a_short_write(void **state)
{
    struct session s;
    struct iovec iov[1100];
    char x = 'x';
    ssize_t sent;

    (void)state;
    for (size_t i = 0; i < 1100; i++) {
        iov[i] = (struct iovec){ &x, 1 };
    }
    open_session(&s, &handlers, &wide);
    sent = conn_writev(s.c, iov, 1100);
    assert_int_equal(sent, 1024);
    loop_turn(l, 1000);
    assert_int_equal(s.writable_calls, 1);
    assert_int_equal(conn_writev(s.c, iov + sent, 1100 - (int)sent), 76);
    assert_int_equal(drain(s.peer), 1100);
    done(&s);
}

/* Sends that somebody else makes count as the connection's own. */
static void
sends_of_others_are_told(void **state)
{
    char text[] = "word";
    struct iovec word = { text, 4 };
    struct session s;

    (void)state;
    open_session(&s, &handlers, &wide);
    assert_true(conn_is_direct(s.c));
    assert_int_equal(conn_sent(s.c, 5, 5), 5);
    assert_true(conn_is_direct(s.c));
    assert_int_equal(s.c->bytes_out, 5);
    assert_int_equal(conn_sent(s.c, 5, -EPIPE), CONN_ERROR);
    assert_int_equal(errno, EPIPE);
    assert_int_equal(s.c->io.wanted, IO_READ);

    assert_int_equal(conn_sent(s.c, 5, 2), 2);
    assert_int_equal(s.c->bytes_out, 7);
    assert_false(conn_is_direct(s.c));
    assert_int_equal(conn_writev(s.c, &word, 1), 0);
    loop_turn(l, 1000);
    assert_int_equal(s.writable_calls, 1);
    assert_true(conn_is_direct(s.c));

    assert_int_equal(conn_sent(s.c, 5, -EAGAIN), 0);
    assert_false(conn_is_direct(s.c));
    loop_turn(l, 1000);
    assert_int_equal(s.writable_calls, 2);
    assert_int_equal(s.c->bytes_out, 7);

    conn_finish(s.c, 1000, "over");
    assert_false(conn_is_direct(s.c));
    done(&s);
}

/* Reads until the connection has ended its side; bytes that came. */
static size_t
read_to_the_end(struct session *s)
{
    static char room[65536];
    size_t came = 0;
    ssize_t n;

    for (int i = 0; i < TURNS; i++) {
        n = recv(s->peer, room, sizeof(room), MSG_DONTWAIT);
        if (n == 0) {
            return came;
        }
        came += n > 0 ? (size_t)n : 0;
        loop_turn(l, 0);
    }
    fail_msg("the connection does not end");
    return came;
}

static void
what_is_left_goes_to_a_peer_that_ended_its_side(void **state)
{
    struct session s;
    char *big = mem_zero(BIG);

    (void)state;
    for (int before = 0; before < 2; before++) {
        open_session(&s, &handlers, &wide);
        assert_int_equal(conn_write(s.c, big, BIG), 0);
        assert_true(conn_unsent(s.c) > 0);
        if (before) {
            shutdown(s.peer, SHUT_WR);
            loop_turn(l, 1000);
            assert_int_equal(s.eof_calls, 1);
            conn_finish(s.c, 5000, "over");
        } else {
            conn_finish(s.c, 5000, "over");
            shutdown(s.peer, SHUT_WR);
        }
        for (int i = 0; i < 3; i++) {
            loop_turn(l, 0);
        }
        assert_int_equal(s.close_calls, 0);
        assert_int_equal(read_to_the_end(&s), BIG);
        loop_turn(l, 0);
        assert_string_equal(s.reason, "over");
        close(s.peer);
    }
    mem_free(&big);
}

static void
a_slow_reader_has_its_time(void **state)
{
    const struct conn_limits patient = { .in_limit = 16,
                                         .out_limit = BIG,
                                         .flush_ms = 60000 };
    struct session s;
    char *big = mem_zero(BIG);

    (void)state;
    open_session(&s, &handlers, &patient);
    assert_int_equal(conn_write(s.c, big, BIG), 0);
    conn_finish(s.c, 10, "over");
    loop_turn(l, 30); /* nothing is read meanwhile */
    loop_turn(l, 0);
    assert_int_equal(s.close_calls, 0);
    assert_int_equal(read_to_the_end(&s), BIG);
    while (s.close_calls == 0) { /* linger_ms is for what comes then */
        loop_turn(l, 1000);
    }
    close(s.peer);
    mem_free(&big);
}

static void
closing_in_on_writable_is_safe(void **state)
{
    struct session s;
    char *big = mem_zero(BIG);
    struct iovec iov = { big, BIG };

    (void)state;
    open_session(&s, &handlers, &wide);
    assert_true(conn_writev(s.c, &iov, 1) < BIG);
    s.then = CLOSE;
    drain(s.peer);
    loop_turn(l, 1000);
    assert_int_equal(s.writable_calls, 1);
    assert_int_equal(s.close_calls, 1);
    close(s.peer);
    mem_free(&big);
}

static void
writing_to_the_gone_fails(void **state)
{
    struct session s;
    struct iovec iov = { s.got, 1 };

    (void)state;
    open_session(&s, &handlers, &small);
    close(s.peer);
    s.peer = -1;
    assert_int_equal(conn_write(s.c, "x", 1), -1);
    assert_int_equal(conn_writev(s.c, &iov, 1), CONN_ERROR);
    assert_int_equal(s.close_calls, 0); /* the caller closes */
    conn_close(s.c, "gone");
    assert_int_equal(conn_writev(s.c, &iov, 1), CONN_ERROR);
    assert_int_equal(s.close_calls, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(unsent_is_kept_and_sent),
        TEST(too_much_unsent_is_refused),
        TEST(writev_keeps_nothing_and_tells_when),
        TEST(a_file_goes_behind_its_head),
        TEST(own_words_go_before_on_writable),
        TEST(many_pieces_are_a_short_write),
        TEST(sends_of_others_are_told),
        TEST(what_is_left_goes_to_a_peer_that_ended_its_side),
        TEST(a_slow_reader_has_its_time),
        TEST(closing_in_on_writable_is_safe),
        TEST(writing_to_the_gone_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

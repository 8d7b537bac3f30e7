/*
 * Connections behind TLS: both directions, slow and hostile peers, the end.
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

#define PIECES 50 /* ranges of a conn_writev() */

static uint8_t
byte_at(size_t i)
{
    return (uint8_t)(i * 7 + i / 251);
}

/* ---- both directions ---- */

static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };

static void
bytes_go_both_ways(void **state)
{
    uint8_t answer[5];
    struct session s;

    (void)state;
    for (int i = 0; i < 2; i++) {
        open_tls(&s, versions[i], &wide);
        tell("hello", 5);
        turns_until_got(&s, 5);
        saw(&s, "hello");
        assert_int_equal(conn_write(s.c, "world", 5), 0);
        hear(answer, 5);
        assert_memory_equal(answer, "world", 5);
        close_tls(&s);
    }
}

/* What came in one record is offered whole, though the session keeps little
 * and the socket has told everything it knew. */
static void
a_record_larger_than_the_buffer_is_read_in_steps(void **state)
{
    char text[200];
    struct session s;

    (void)state;
    memset(text, 'x', sizeof(text));
    open_tls(&s, TLS1_3_VERSION, &small);
    s.eat = 5;
    tell(text, sizeof(text));
    int64_t until = clock_ms() + PATIENCE_MS;

    while (s.got_len < sizeof(text) && clock_ms() < until) {
        loop_turn(l, 0);
        conn_offer(s.c);
    }
    assert_int_equal(s.got_len, sizeof(text));
    assert_memory_equal(s.got, text, sizeof(text));
    close_tls(&s);
}

static void
a_pause_holds_what_was_read_ahead(void **state)
{
    struct session s;

    (void)state;
    open_tls(&s, TLS1_3_VERSION, &small);
    s.then = PAUSE;
    tell("0123456789abcdef0123456789abcdef", 32);
    tell("and more", 8);
    turns_until_got(&s, 16);
    for (int i = 0; i < 20; i++) {
        loop_turn(l, 0);
    }
    assert_int_equal(s.got_len, 16);
    s.then = NOTHING;
    conn_resume_reading(s.c);
    turns_until_got(&s, 40);
    saw(&s, "0123456789abcdef0123456789abcdefand more");
    close_tls(&s);
}

/* ---- a peer that does not read ---- */

static uint8_t pattern[BIG];

static void
fill_pattern(void)
{
    for (size_t i = 0; i < BIG; i++) {
        pattern[i] = byte_at(i);
    }
}

/* Sends on from where it is, in ranges of all sizes; returns bytes taken. */
static size_t
send_ranges(struct session *s, size_t at)
{
    struct iovec iov[PIECES];
    size_t total = 0;
    int count = 0;

    while (count < PIECES && at + total < BIG) {
        size_t n = 1 + (at + total + (size_t)count * 977) % 40000;

        n = n < BIG - at - total ? n : BIG - at - total;
        iov[count++] = (struct iovec){ pattern + at + total, n };
        total += n;
    }
    ssize_t sent = conn_writev(s->c, iov, count);

    assert_true(sent >= 0 && (size_t)sent <= total);
    return (size_t)sent;
}

/* Until the socket is full, or all is sent. */
static size_t
send_all_ranges(struct session *s, size_t at)
{
    size_t sent = 0, n;

    do {
        n = at + sent < BIG ? send_ranges(s, at + sent) : 0;
        sent += n;
    } while (n > 0);
    return sent;
}

static void
many_bytes_arrive_as_they_were(void **state)
{
    static uint8_t part[100000];
    size_t sent = 0, got = 0;
    struct session s;

    (void)state;
    fill_pattern();
    for (int i = 0; i < 2; i++) {
        open_tls(&s, versions[i], &wide);
        for (sent = got = 0; got < BIG;) {
            sent += send_all_ranges(&s, sent);
            size_t n = BIG - got < sizeof(part) ? BIG - got : sizeof(part);

            n = n < sent - got ? n : sent - got;
            hear(part, n);
            assert_memory_equal(part, pattern + got, n);
            got += n;
        }
        assert_true(s.writable_calls > 0);
        assert_int_equal(s.c->bytes_out, BIG);
        close_tls(&s);
    }
}

/* Until the socket is full; bytes taken. */
static size_t
fill_socket(struct session *s)
{
    size_t sent = 0, n;

    do {
        struct iovec iov = { pattern + sent, 30000 };
        ssize_t taken = conn_writev(s->c, &iov, 1);

        assert_true(taken >= 0);
        n = (size_t)taken;
        sent += n;
    } while (n == 30000);
    assert_true(s->c->held);
    return sent;
}

static void
hears_pattern(size_t n)
{
    static uint8_t got[BIG];

    hear(got, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(got[i], byte_at(i));
    }
}

/* Whoever wrote it may do with the memory what he wants. */
static void
what_was_taken_does_not_change_any_more(void **state)
{
    struct session s;

    (void)state;
    for (int i = 0; i < 2; i++) {
        open_tls(&s, versions[i], &wide);
        fill_pattern();

        size_t sent = fill_socket(&s);

        memset(pattern, 0xee, sizeof(pattern));
        hears_pattern(sent);
        close_tls(&s);
    }
}

/* A peer that wants new keys while the socket is full makes OpenSSL say
 * something of its own before the record that waits. */
static void
new_keys_while_nothing_can_be_sent(void **state)
{
    struct session s;

    (void)state;
    open_tls(&s, TLS1_3_VERSION, &wide);
    fill_pattern();

    size_t sent = fill_socket(&s);

    assert_int_equal(SSL_key_update(client, SSL_KEY_UPDATE_REQUESTED), 1);
    tell("hello", 5);
    turns_until_got(&s, 5);
    struct iovec iov = { pattern + sent, 30000 };

    assert_int_equal(conn_writev(s.c, &iov, 1), 0);
    hears_pattern(sent);
    for (int i = 0; i < 5; i++) {
        loop_turn(l, 0);
    }
    assert_false(s.c->held);
    /* Now with the answer to it due, and no room at all. */
    sent = fill_socket(&s);
    memset(pattern, 0xee, sizeof(pattern));
    tell("again", 5);
    turns_until_got(&s, 10);
    hears_pattern(sent);
    close_tls(&s);
}

static void
a_last_word_is_sent_when_there_is_room(void **state)
{
    uint8_t end;
    struct session s;

    (void)state;
    open_tls(&s, TLS1_3_VERSION, &wide);
    fill_pattern();

    size_t sent = fill_socket(&s);

    assert_int_equal(conn_write(s.c, pattern + sent, 1000), 0);
    conn_finish(s.c, 5000, "done");
    hears_pattern(sent + 1000);
    loop_turn(l, 0);
    int r = SSL_read(client, &end, 1);

    assert_int_equal(SSL_get_error(client, r), SSL_ERROR_ZERO_RETURN);
    assert_int_equal(s.close_calls, 0);
    shutdown(s.peer, SHUT_WR);
    loop_turn(l, 0);
    assert_string_equal(s.reason, "done");
    leave_closed(&s);
}

/* ---- the end ---- */

static void
turns_until_closed(const struct session *s)
{
    int64_t until = clock_ms() + PATIENCE_MS;

    while (s->close_calls == 0 && clock_ms() < until) {
        loop_turn(l, 1);
    }
    assert_int_equal(s->close_calls, 1);
}

/* Our side ends alone: the other one is still understood. */
static void
reads_on_behind_its_own_end(void **state)
{
    uint8_t end;
    struct session s;

    (void)state;
    open_tls(&s, TLS1_3_VERSION, &wide);
    assert_true(conn_end_sending(s.c));
    tell("still here", 10);
    turns_until_got(&s, 10);
    saw(&s, "still here");
    int r = SSL_read(client, &end, 1);

    assert_int_equal(SSL_get_error(client, r), SSL_ERROR_ZERO_RETURN);
    close_tls(&s);
}

static void
close_notify_is_the_end_of_a_side(void **state)
{
    uint8_t answer[3];
    struct session s;

    (void)state;
    open_tls(&s, TLS1_3_VERSION, &wide);
    tell("last", 4);
    assert_int_equal(SSL_shutdown(client), 0);
    turns_until_got(&s, 4);
    loop_turn(l, 0);
    assert_int_equal(s.eof_calls, 1);
    /* The other side still speaks. */
    assert_int_equal(conn_write(s.c, "yes", 3), 0);
    hear(answer, 3);
    assert_memory_equal(answer, "yes", 3);
    close_tls(&s);
}

static void
an_end_without_it_is_told_from_one_with_it(void **state)
{
    int64_t before = counted(NET_TLS_BROKEN, NET_TLS_TRUNCATED);
    struct session s;

    (void)state;
    open_tls(&s, TLS1_3_VERSION, &wide);
    tell("last", 4);
    turns_until_got(&s, 4);
    shutdown(s.peer, SHUT_WR);
    turns_until_closed(&s);
    assert_string_equal(s.reason,
                        "peer closed the connection without close_notify");
    assert_int_equal(s.eof_calls, 0);
    assert_int_equal(counted(NET_TLS_BROKEN, NET_TLS_TRUNCATED), before + 1);
    leave_closed(&s);
}

static void
garbage_within_is_the_end(void **state)
{
    static const uint8_t record[40] = { 23, 3, 3, 0, 35 };
    int64_t before = counted(NET_TLS_BROKEN, NET_TLS_ERROR);
    struct session s;

    (void)state;
    open_tls(&s, TLS1_3_VERSION, &wide);
    assert_int_equal(write(s.peer, record, sizeof(record)), sizeof(record));
    turns_until_closed(&s);
    assert_string_equal(s.reason, "decryption failed or bad record mac");
    assert_int_equal(s.got_len, 0);
    assert_int_equal(counted(NET_TLS_BROKEN, NET_TLS_ERROR), before + 1);
    leave_closed(&s);
}

/* As many as a peer can have sent while we looked elsewhere, or a few. */
static void
send_key_updates(const struct session *s, int count)
{
    BIO *kept = BIO_new(BIO_s_mem());
    BIO *socket = SSL_get_wbio(client);
    char *data;

    BIO_up_ref(socket);
    SSL_set0_wbio(client, kept);
    for (int i = 0; i < count; i++) {
        assert_int_equal(SSL_key_update(client, SSL_KEY_UPDATE_NOT_REQUESTED),
                         1);
        assert_int_equal(SSL_do_handshake(client), 1);
    }
    size_t len = (size_t)BIO_get_mem_data(kept, &data);

    assert_int_equal(write(s->peer, data, len), len);
    SSL_set0_wbio(client, socket);
}

/* Only words about the connection itself, for as long as it lasts. */
static void
a_flood_of_key_updates_is_the_end(void **state)
{
    struct session s;

    (void)state;
    open_tls(&s, TLS1_3_VERSION, &wide);
    send_key_updates(&s, 500); /* that is nothing */
    tell("hello", 5);
    turns_until_got(&s, 5);
    send_key_updates(&s, 5000);
    turns_until_closed(&s);
    assert_string_equal(s.reason,
                        "peer sends nothing but messages of TLS itself");
    leave_closed(&s);
}

static void
renegotiation_is_refused(void **state)
{
    struct session s;
    uint8_t byte;
    int reason = 0;

    (void)state;
    open_tls(&s, TLS1_2_VERSION, &wide);
    assert_int_equal(SSL_renegotiate(client), 1);
    /* It is told no by a warning, and gives up. */
    for (int i = 0; i < 1000 && s.close_calls == 0; i++) {
        SSL_read(client, &byte, 1);
        reason = reason != 0 ? reason : ERR_GET_REASON(ERR_peek_error());
        loop_turn(l, 1);
    }
    ERR_clear_error();
    assert_int_equal(reason, SSL_R_NO_RENEGOTIATION);
    assert_int_equal(s.data_calls, 0);
    assert_int_equal(SSL_is_init_finished(client), 0);
    leave_closed(&s);
}

#define TEST(name) cmocka_unit_test(name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bytes_go_both_ways),
        TEST(a_record_larger_than_the_buffer_is_read_in_steps),
        TEST(a_pause_holds_what_was_read_ahead),
        TEST(many_bytes_arrive_as_they_were),
        TEST(what_was_taken_does_not_change_any_more),
        TEST(new_keys_while_nothing_can_be_sent),
        TEST(a_last_word_is_sent_when_there_is_room),
        TEST(reads_on_behind_its_own_end),
        TEST(close_notify_is_the_end_of_a_side),
        TEST(an_end_without_it_is_told_from_one_with_it),
        TEST(garbage_within_is_the_end),
        TEST(a_flood_of_key_updates_is_the_end),
        TEST(renegotiation_is_refused),
    };

    return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}

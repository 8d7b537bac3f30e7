/*
 * A client whose remote is silent or does not read.
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

#include "remote.h"

#define SHORT 30 /* ms */
#define LONG 60000

/* A time-out is read when the timer is set, at the latest with the next
 * phase: it is shortened before the connection is made. */
static void
silent_at(void (*get_to)(void), int64_t *timeout, const char *reason)
{
    *timeout = SHORT;
    assert_int_equal(connect_again(), 0);
    get_to();
    assert_over(RTMP_CLIENT_SILENT, reason);
}

static void
no_handshake(void **state)
{
    (void)state;
    silent_at(take_hello, &owner.settings.handshake_timeout,
              "no answer to the handshake in time");
}

static void
half_a_handshake(void)
{
    take_hello();
    send(peer.fd, hello.answer, 1537, 0);
}

static void
no_s2(void **state)
{
    (void)state;
    silent_at(half_a_handshake, &owner.settings.handshake_timeout,
              "no answer to the handshake in time");
}

static void
no_answer_to_connect(void **state)
{
    (void)state;
    silent_at(get_to_connect, &owner.settings.connect_timeout,
              "no answer to connect in time");
}

static void
no_answer_to_create(void **state)
{
    (void)state;
    silent_at(get_to_create, &owner.settings.answer_timeout,
              "no answer to createStream in time");
}

/* Only the last answer has to be in haste. */
static void
create_then_silence(void)
{
    get_to_create();
    owner.settings.answer_timeout = SHORT;
    accept_create(1);
}

static void
no_answer_to_publish(void **state)
{
    (void)state;
    silent_at(create_then_silence, &owner.settings.handshake_timeout,
              "no answer to publish in time");
}

static void
no_answer_to_play(void **state)
{
    (void)state;
    silent_at(create_then_silence, &owner.settings.handshake_timeout,
              "no answer to play in time");
}

static void
with_pings(int64_t timeout)
{
    owner.settings.idle = SHORT;
    owner.settings.ping_timeout = timeout;
    assert_int_equal(connect_again(), 0);
    get_accepted();
}

/* Turns the loop until a ping was heard; its time. */
static uint32_t
wait_ping(void)
{
    int64_t end = clock_ms() + LONG;
    unsigned time = 0;

    while (strstr(peer.heard.at, "4/0 6 ") == NULL && clock_ms() < end) {
        loop_turn(peer.loop, 5);
        turns();
    }
    assert_int_equal(sscanf(peer.heard.at, "4/0 6 %u;", &time), 1);
    forget(&peer.heard);
    return time;
}

static void
pong(uint32_t time)
{
    uint8_t body[6] = { 0, 7 };

    put_be32(body + 2, time);
    put_message(2, 4, 0, 0, str_of(body, sizeof(body)));
    send_wire();
}

static void
a_silent_source_is_pinged_and_left(void **state)
{
    (void)state;
    with_pings(SHORT);
    wait_ping();
    assert_over(RTMP_CLIENT_SILENT, "it is silent, and answers no ping");
}

static void
a_source_that_answers_is_kept(void **state)
{
    (void)state;
    with_pings(LONG);
    for (int i = 0; i < 3; i++) {
        pong(wait_ping());
    }
    assert_non_null(owner.client);
    /* any byte will do */
    wait_ping();
    put_message(4, 8, 1, 7, STR("\xaf"));
    send_wire();
    wait_ping();
    assert_non_null(owner.client);
}

/* A server that never answers pings may be well: nothing else is to come from
 * it.  It is not pinged again before it says something. */
static void
a_target_need_not_answer(void **state)
{
    (void)state;
    with_pings(SHORT);
    wait_ping();
    int64_t end = clock_ms() + 4 * SHORT;
    while (clock_ms() < end) {
        loop_turn(peer.loop, 5);
    }
    turns();
    assert_non_null(owner.client);
    assert_string_equal(peer.heard.at, "");
    put_message(2, 3, 0, 0, STR("\0\0\0\1"));
    send_wire();
    wait_ping();
    assert_non_null(owner.client);
}

static void
a_target_that_did_has_to_go_on(void **state)
{
    (void)state;
    with_pings(LONG);
    uint32_t time = wait_ping();
    owner.settings.ping_timeout = SHORT;
    pong(time);
    wait_ping();
    assert_over(RTMP_CLIENT_SILENT, "it is silent, and answers no ping");
}

static void
a_target_that_does_not_read(void **state)
{
    static uint8_t much[30000];
    struct iovec iov = { much, sizeof(much) };

    (void)state;
    owner.settings.send_timeout = SHORT;
    assert_int_equal(connect_again(), 0);
    get_accepted();
    while (conn_writev(rtmp_client_conn(owner.client), &iov, 1) ==
           sizeof(much)) {
    }
    assert_over(RTMP_CLIENT_STUCK, "it takes no more bytes");
}

/* Words without end to one that takes none. */
static void
a_remote_that_only_asks(void **state)
{
    (void)state;
    get_accepted();
    for (int i = 0; i < 200000 && owner.client != NULL; i++) {
        put_message(2, 4, 0, 0, STR("\0\x06\0\0\0\1"));
        if (i % 500 == 499) {
            send(peer.fd, buf_data(&wire), buf_len(&wire), MSG_NOSIGNAL);
            buf_clear(&wire);
            for (int k = 0; k < 80; k++) {
                loop_turn(peer.loop, 0);
            }
        }
    }
    buf_clear(&wire);
    assert_over(RTMP_CLIENT_STUCK, "it does not read what it is told");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        PLAY(no_handshake),
        PLAY(no_s2),
        PLAY(no_answer_to_connect),
        PLAY(no_answer_to_create),
        PUBLISH(no_answer_to_publish),
        PLAY(no_answer_to_play),
        PLAY(a_silent_source_is_pinged_and_left),
        PLAY(a_source_that_answers_is_kept),
        PUBLISH(a_target_need_not_answer),
        PUBLISH(a_target_that_did_has_to_go_on),
        PUBLISH(a_target_that_does_not_read),
        PLAY(a_remote_that_only_asks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Large aggregates: a turn takes its share of one, nothing behind it
 * overtakes, and its session may end in the middle.
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

#include "peer.h"
#include "rtmp/session.h"

#define CASE(f) cmocka_unit_test_setup_teardown(f, start, stop)
#define SHARE 64 /* messages of one turn */

static unsigned
media_told(void)
{
    unsigned n = 0;

    for (const char *p = app.told.at; (p = strstr(p, "media ")) != NULL; p++) {
        n++;
    }
    return n;
}

/* An aggregate of so many empty messages of sound, a millisecond apart. */
static void
put_aggregate(unsigned parts)
{
    struct buf body;

    buf_init(&body, 1 << 20);
    for (unsigned i = 0; i < parts; i++) {
        uint8_t part[15] = { 8 };

        part[5] = (uint8_t)(i >> 8);
        part[6] = (uint8_t)i;
        assert_int_equal(buf_add(&body, part, sizeof(part)), 0);
    }
    put_message(6, 22, 1, 5000, buf_str(&body));
    buf_clear(&body);
}

static void
publish(void)
{
    get_ready();
    call("publish", 5, 1, "movie");
    forget(&peer.heard);
    forget(&app.told);
}

static void
send_at_once(void)
{
    assert_int_equal(
        send(peer.fd, buf_data(&wire), buf_len(&wire), MSG_NOSIGNAL),
        (ssize_t)buf_len(&wire));
    buf_clear(&wire);
}

/* Turns until so many messages were told; none tells more than its share. */
static void
turn_until(unsigned wanted)
{
    int64_t end = clock_ms() + 60000;
    unsigned before = media_told();

    while (before < wanted && clock_ms() < end) {
        loop_turn(peer.loop, 0);
        assert_true(media_told() - before <= SHARE);
        before = media_told();
    }
    assert_int_equal(before, wanted);
}

static void
a_turn_takes_its_share(void **state)
{
    struct text expected = { .len = 0 };

    (void)state;
    publish();
    put_aggregate(1024);
    put_message(4, 8, 1, 9999, STR("\xaf\x01"));
    send_at_once();
    turn_until(1025);
    for (unsigned i = 0; i < 1024; i++) {
        note(&expected, "media 1 8 %u 0 00;", 5000 + i);
    }
    note(&expected, "media 1 8 9999 2 af;");
    assert_string_equal(app.told.at, expected.at);
}

/* The one fills turns, the others none: nothing stays behind. */
static void
every_number_of_parts(void **state)
{
    (void)state;
    publish();
    for (unsigned parts = 1; parts <= 3 * SHARE + 1; parts++) {
        forget(&app.told);
        put_aggregate(parts);
        send_at_once();
        turn_until(parts);
    }
}

static void
too_many_parts(void **state)
{
    (void)state;
    publish();
    put_aggregate(1025);
    send_at_once();
    assert_true(wait_closed());
    assert_int_equal(media_told(), 0);
    assert_non_null(strstr(logged.at, "an aggregate of too many messages"));
}

static void
words_behind_it_wait(void **state)
{
    (void)state;
    publish();
    put_aggregate(1000);
    struct amf_writer *w = command("deleteStream", 0);
    amf_put_null(w);
    amf_put_number(w, 1);
    put_command(0);
    send_at_once();
    loop_turn(peer.loop, 0);
    assert_null(strstr(app.told.at, "end 1"));
    turn_until(1000);
    turns();
    assert_string_equal(strstr(app.told.at, "end 1"),
                        "end 1 movie: deleteStream;");
    assert_false(peer.closed);
}

static void
bytes_that_come_later_wait(void **state)
{
    (void)state;
    publish();
    put_aggregate(1000);
    send_at_once();
    loop_turn(peer.loop, 0);
    put_message(4, 8, 1, 9999, STR("\xaf\x01"));
    send_at_once();
    turn_until(1001);
    assert_string_equal(strstr(app.told.at, "media 1 8 9999"),
                        "media 1 8 9999 2 af;");
}

static void
its_stream_ends_in_the_middle(void **state)
{
    (void)state;
    publish();
    put_aggregate(1000);
    send_at_once();
    loop_turn(peer.loop, 0);
    rtmp_session_finish(&peer.session->streams[0]->r, "error",
                        "NetStream.Publish.BadName", "replaced");
    forget(&app.told);
    assert_true(wait_closed());
    assert_int_equal(media_told(), 0);
}

static void
its_session_is_closed_in_the_middle(void **state)
{
    (void)state;
    publish();
    put_aggregate(1000);
    send_at_once();
    loop_turn(peer.loop, 0);
    forget(&app.told);
    rtmp_session_close(peer.session, "enough");
    turns();
    assert_string_equal(app.told.at, "end 1 movie: enough;");
    assert_int_equal(rtmp_sessions(), 0);
}

static void
its_peer_leaves_in_the_middle(void **state)
{
    (void)state;
    publish();
    put_aggregate(1000);
    send_at_once();
    loop_turn(peer.loop, 0);
    shutdown(peer.fd, SHUT_RDWR);
    turns();
    assert_int_equal(rtmp_sessions(), 0);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        CASE(a_turn_takes_its_share),
        CASE(every_number_of_parts),
        CASE(too_many_parts),
        CASE(words_behind_it_wait),
        CASE(bytes_that_come_later_wait),
        CASE(its_stream_ends_in_the_middle),
        CASE(its_session_is_closed_in_the_middle),
        CASE(its_peer_leaves_in_the_middle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

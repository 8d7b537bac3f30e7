/*
 * A session as a peer sees it: handshake, acknowledgements, pings, time-outs,
 * media, the end.
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

static void
publish(const char *name)
{
    call("publish", 5, 1, name);
    forget(&peer.heard);
    forget(&app.told);
}

static void
play(const char *name)
{
    call("play", 0, 1, name);
    forget(&peer.heard);
    forget(&app.told);
}

/* ---- handshake ---- */

static void
handshake_byte_by_byte(void **state)
{
    (void)state;
    uint8_t byte = 3;
    uint8_t answer[HANDSHAKE_ANSWER];
    for (int i = 0; i < HANDSHAKE_ASK; i++) {
        assert_int_equal(recv(peer.fd, answer, 1, MSG_DONTWAIT), -1);
        send(peer.fd, &byte, 1, 0);
        byte = 0;
        loop_turn(peer.loop, 0);
    }
    assert_int_equal(recv(peer.fd, answer, sizeof(answer), MSG_DONTWAIT),
                     HANDSHAKE_ANSWER);
    for (int i = 0; i < HANDSHAKE_BLOCK; i++) {
        send(peer.fd, &byte, 1, 0);
        loop_turn(peer.loop, 0);
    }
    do_connect();
    assert_non_null(strstr(peer.heard.at, "NetConnection.Connect.Success"));
}

/* C2 and connect in one packet with the handshake's end, and so on: nothing
 * depends on where packets end. */
static void
everything_at_once(void **state)
{
    (void)state;
    uint8_t hello[HANDSHAKE_ASK + HANDSHAKE_BLOCK] = { 3 };
    add(hello, sizeof(hello));
    put_connect("live", "rtmp://h/live");
    command("createStream", 2);
    put_command(0);
    struct amf_writer *w = command("publish", 3);
    amf_put_null(w);
    amf_put_string(w, STR("movie"));
    put_command(1);
    put_message(4, 8, 1, 7, STR("\xaf\x01zz"));
    send(peer.fd, buf_data(&wire), buf_len(&wire), 0);
    for (int i = 0; i < 4; i++) {
        loop_turn(peer.loop, 0);
    }
    assert_string_equal(app.told.at, "connect 0 live||;live 1 live|movie|;"
                                     "media 1 8 7 4 af;");
}

static void
other_protocols_are_closed_at_once(void **state)
{
    (void)state;
    send(peer.fd, "GET / HTTP/1.1\r\n", 16, 0);
    turns();
    assert_true(peer.closed);
    assert_non_null(strstr(logged.at, "not RTMP"));
}

static void
rtmpe_is_refused_with_a_word_in_the_log(void **state)
{
    (void)state;
    send(peer.fd, "\x06", 1, 0);
    turns();
    assert_true(peer.closed);
    assert_non_null(strstr(logged.at, "RTMPE"));
}

/* ---- time-outs ---- */

static void
handshake_has_a_deadline(void **state)
{
    (void)state;
    peer.settings.handshake_timeout = 30;
    send(peer.fd, "\x03", 1, 0);
    session_touch_timer(peer.session);
    assert_true(wait_closed());
    assert_non_null(strstr(logged.at, "handshake takes too long"));
}

static void
connect_has_a_deadline(void **state)
{
    (void)state;
    peer.settings.connect_timeout = 30;
    do_handshake();
    assert_true(wait_closed());
    assert_non_null(strstr(logged.at, "no connect in time"));
}

static void
first_stream_has_a_deadline(void **state)
{
    (void)state;
    do_handshake();
    do_connect();
    peer.settings.connect_timeout = 30;
    peer.settings.send_timeout = 40;
    session_touch_timer(peer.session);
    assert_true(wait_closed());
    assert_non_null(strstr(logged.at, "neither publishes nor plays"));
}

static void
silent_peer_is_pinged_then_closed(void **state)
{
    (void)state;
    peer.settings.ping_interval = 20;
    peer.settings.ping_timeout = 30;
    get_ready();
    play("movie");
    assert_true(wait_closed());
    assert_non_null(strstr(peer.heard.at, "4/0 6 "));
    assert_null(strstr(strstr(peer.heard.at, "4/0 6 ") + 1, "4/0 6 "));
    assert_non_null(strstr(logged.at, "does not answer pings"));
    assert_true(app.through_say);
    assert_non_null(strstr(app.told.at, "end 1 movie: it does not"));
}

static void
answered_pings_keep_the_peer(void **state)
{
    (void)state;
    peer.settings.ping_interval = 10;
    peer.settings.ping_timeout = 60000;
    get_ready();
    play("movie");
    int pings = 0;
    int64_t end = clock_ms() + 60000;
    while (pings < 4 && clock_ms() < end && !peer.closed) {
        loop_turn(peer.loop, 10);
        turns();
        char *ping = strstr(peer.heard.at, "4/0 6 ");
        if (ping != NULL) {
            uint8_t pong[6] = { 0, 7 };
            put_be32(pong + 2, (uint32_t)strtoul(ping + 6, NULL, 10));
            forget(&peer.heard);
            put_message(2, 4, 0, 0, str_of(pong, 6));
            send_wire();
            pings++;
        }
    }
    assert_int_equal(pings, 4);
    assert_false(peer.closed);
}

static void
peer_that_takes_nothing_is_closed(void **state)
{
    (void)state;
    peer.settings.send_timeout = 50;
    get_ready();
    play("movie");
    /* Pings, whose answers are never read, until the socket is full. */
    uint8_t ping[6] = { 0, 6 };
    struct conn *c = rtmp_session_conn(peer.session);
    for (int i = 0; i < 5000 && !c->want_write; i++) {
        put_message(2, 4, 0, 0, str_of(ping, 6));
        send(peer.fd, buf_data(&wire), buf_len(&wire), MSG_DONTWAIT);
        buf_clear(&wire);
        loop_turn(peer.loop, 0);
    }
    assert_true(c->want_write);
    int64_t end = clock_ms() + 60000;
    while (rtmp_sessions() > 0 && clock_ms() < end) {
        loop_turn(peer.loop, 10);
    }
    assert_int_equal(rtmp_sessions(), 0);
    assert_non_null(strstr(logged.at, "takes no more bytes"));
}

/* ---- protocol control ---- */

static void
ping_is_answered_with_its_time(void **state)
{
    (void)state;
    get_ready();
    put_message(2, 4, 0, 0, STR("\0\x06\0\0\x01\x02"));
    send_wire();
    assert_string_equal(peer.heard.at, "4/0 7 258;\n");
}

static void
acknowledgements(void **state)
{
    (void)state;
    static const char media[1000] = { '\x27' };
    get_ready();
    publish("movie");
    struct conn *c = rtmp_session_conn(peer.session);
    send_number(5, 20000);
    assert_string_equal(peer.heard.at, "");
    uint64_t last = 0;
    int count = 0;
    for (int i = 0; i < 50; i++) {
        put_message(4, 9, 1, 0, str_of(media, sizeof(media)));
        send_wire();
        if (peer.heard.len > 0) {
            char want[64];
            snprintf(want, sizeof(want), "3/0 %llu;\n",
                     (unsigned long long)c->bytes_in);
            assert_string_equal(peer.heard.at, want);
            assert_in_range(c->bytes_in - last, 10000, 12000);
            last = c->bytes_in;
            forget(&peer.heard);
            count++;
        }
    }
    assert_in_range(count, 4, 6);
}

static void
acknowledgement_counts_wrap_at_32_bits(void **state)
{
    (void)state;
    static const char media[1000] = { '\x27' };
    get_ready();
    publish("movie");
    struct conn *c = rtmp_session_conn(peer.session);
    send_number(5, 4000);
    forget(&peer.heard);
    c->bytes_in = 0xfffffe00; /* as after 4 GiB less 512 bytes */
    peer.session->ch.acked = 0xfffffe00;
    for (int i = 0; i < 3; i++) {
        put_message(4, 9, 1, 0, str_of(media, sizeof(media)));
        send_wire();
    }
    assert_true(c->bytes_in > UINT32_MAX);
    assert_int_equal(strncmp(peer.heard.at, "3/0 ", 4), 0);
    assert_true(strtoul(peer.heard.at + 4, NULL, 10) < 4000);
}

static void
without_a_window_ours_counts(void **state)
{
    (void)state;
    static const char media[3000] = { '\x27' };
    peer.settings.window_ack = 8000;
    peer.session->ch.ack_window = 8000;
    get_ready();
    publish("movie");
    put_message(4, 9, 1, 0, str_of(media, sizeof(media)));
    send_wire();
    put_message(4, 9, 1, 0, str_of(media, sizeof(media)));
    send_wire();
    assert_int_equal(strncmp(peer.heard.at, "3/0 ", 4), 0);
}

static void
peer_bandwidth_is_answered_once(void **state)
{
    (void)state;
    get_ready();
    put_message(2, 6, 0, 0, STR("\0\0\x20\0\x02"));
    put_message(2, 6, 0, 0, STR("\0\0\x20\0\x02"));
    send_wire();
    assert_string_equal(peer.heard.at, "5/0 8192;\n");
}

static void
what_is_not_known_is_passed_over(void **state)
{
    (void)state;
    get_ready();
    put_message(2, 3, 0, 0, STR("\0\0\0\x09"));           /* acknowledgement */
    put_message(2, 4, 0, 0, STR("\0\x03\0\0\0\x01zzzz")); /* buffer length */
    put_message(2, 4, 0, 0, STR("\0"));
    put_message(2, 5, 0, 0, STR("\0"));
    put_message(7, 77, 9, 0, STR("what?"));
    put_message(7, 19, 1, 0, STR("shared object"));
    put_message(7, 8, 1, 0, STR("\xaf\x01")); /* media of no publisher */
    call("createStream", 9, 0, NULL);
    assert_string_equal(peer.heard.at, "20/0 _result 9 null 2;\n");
    assert_string_equal(app.told.at, "");
}

static void
chunk_size_of_zero_closes(void **state)
{
    (void)state;
    get_ready();
    send_number(1, 0);
    assert_true(wait_closed());
    assert_non_null(strstr(logged.at, "chunk size of 0"));
}

static void
message_over_the_cap_closes(void **state)
{
    (void)state;
    get_ready();
    fmt0(6, 0, (1 << 20) + 1, 9, 1);
    send_wire();
    assert_true(peer.closed);
    assert_non_null(strstr(logged.at, "1048577"));
}

/* ---- media ---- */

static void
media_reaches_the_application(void **state)
{
    (void)state;
    get_ready();
    publish("movie");
    put_message(4, 18, 1, 0, STR("\x02\x00\x0aonMetaData"));
    put_message(6, 9, 1, 40, STR("\x17\x01\0\0\0x"));
    put_message(4, 8, 1, 41, STR(""));
    put_message(4, 15, 1, 42, STR("\x00\x02\x00\x0aonMetaData"));
    put_message(4, 15, 1, 43, STR(""));
    send_wire();
    assert_string_equal(app.told.at, "media 1 18 0 13 02;media 1 9 40 6 17;"
                                     "media 1 8 41 0 00;media 1 18 42 13 02;"
                                     "media 1 18 43 0 00;");
}

/* Some encoders publish on one stream id and send on another. */
static void
media_with_another_id_belongs_to_the_only_publisher(void **state)
{
    (void)state;
    get_ready();
    publish("movie");
    put_message(4, 8, 0, 1, STR("\xaf\x01"));
    put_message(4, 8, 0x01000000, 2, STR("\xaf\x01"));
    send_wire();
    assert_string_equal(app.told.at, "media 1 8 1 2 af;media 1 8 2 2 af;");
    call("publish", 0, 2, "other");
    forget(&app.told);
    put_message(4, 8, 0, 3, STR("\xaf\x01")); /* whose? */
    put_message(4, 8, 2, 4, STR("\xaf\x01"));
    send_wire();
    assert_string_equal(app.told.at, "media 2 8 4 2 af;");
}

#define PART(type, time, data, size) \
    type "\0\0" size "\0\0" time "\0\0\0\0" data "\0\0\0\0"

static void
aggregates_are_taken_apart(void **state)
{
    (void)state;
    get_ready();
    publish("movie");
    put_message(6, 22, 1, 5000,
                STR(PART("\x08", "\x64", "\xaf\x01", "\x02")
                        PART("\x09", "\x6e", "\x27\x01z", "\x03")
                            PART("\x16", "\x6e", "zz", "\x02")
                                PART("\x12", "\x78", "", "\x00")));
    send_wire();
    assert_string_equal(app.told.at, "media 1 8 5000 2 af;media 1 9 5010 3 27;"
                                     "media 1 18 5020 0 00;");
}

static void
broken_aggregates_give_what_is_whole(void **state)
{
    (void)state;
    get_ready();
    publish("movie");
    put_message(6, 22, 1, 5000, STR(""));
    put_message(6, 22, 1, 5000, STR("\x08\0\0"));
    /* without the trailing length, and with a part that is cut off */
    put_message(6, 22, 1, 7, STR("\x08\0\0\x01\0\0\0\0\0\0\0\xaf"));
    put_message(6, 22, 1, 9,
                STR(PART("\x08", "\x64", "\xaf\x01", "\x02")
                        PART("\x08", "\x64", "\xaf\x01", "\xff")));
    send_wire();
    assert_string_equal(app.told.at, "media 1 8 7 1 af;media 1 8 9 2 af;");
}

/* ---- the end ---- */

static void
peer_leaves(void **state)
{
    (void)state;
    get_ready();
    publish("movie");
    assert_int_equal(rtmp_sessions(), 1);
    shutdown(peer.fd, SHUT_RDWR);
    turns();
    assert_string_equal(app.told.at,
                        "end 1 movie: peer closed the connection;");
    assert_int_equal(rtmp_sessions(), 0);
}

static void
application_closes(void **state)
{
    (void)state;
    get_ready();
    publish("movie");
    rtmp_session_close(peer.session, "enough");
    turns();
    assert_true(peer.closed);
    assert_string_equal(app.told.at, "end 1 movie: enough;");
}

static void
application_ends_a_publisher(void **state)
{
    (void)state;
    get_ready();
    publish("movie");
    rtmp_session_finish(&peer.session->streams[0]->r, "error",
                        "NetStream.Publish.BadName", "replaced");
    assert_string_equal(app.told.at, "end 1 movie: replaced;");
    put_message(4, 8, 1, 1, STR("\xaf\x01")); /* under way: not wanted */
    send_wire();
    assert_string_equal(app.told.at, "end 1 movie: replaced;");
    assert_string_equal(peer.heard.at,
                        "20/1 onStatus 0 null ( level error code "
                        "NetStream.Publish.BadName description replaced );\n");
    assert_true(peer.closed);
}

static void
application_says_goodbye(void **state)
{
    (void)state;
    get_ready();
    play("movie");
    struct rtmp_request *r = &peer.session->streams[0]->r;
    assert_int_equal(rtmp_session_control(r, RTMP_STREAM_EOF), 0);
    rtmp_session_finish(r, "status", "NetStream.Play.UnpublishNotify", "over");
    turns();
    assert_string_equal(peer.heard.at,
                        "4/0 1 1;\n20/1 onStatus 0 null ( level status code "
                        "NetStream.Play.UnpublishNotify description over );\n");
    assert_true(peer.closed);
    assert_string_equal(app.told.at, "end 1 movie: over;");
}

static void
chunk_size_is_said_once(void **state)
{
    (void)state;
    get_ready();
    play("movie");
    assert_int_equal(rtmp_session_chunk_size(peer.session, 60000), 0);
    turns();
    assert_string_equal(peer.heard.at, "");
    assert_int_equal(rtmp_session_chunk_size(peer.session, 128), 0);
    turns();
    assert_string_equal(peer.heard.at, "1/0 128;\n");
    forget(&peer.heard);
    /* Long words are cut in chunks of that size. */
    char text[400];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    rtmp_session_status(&peer.session->streams[0]->r, "status", "Code", text);
    turns();
    assert_non_null(strstr(peer.heard.at, text));
}

/* The whole of an idle player's session, without what the loop, the socket
 * and the stream cost: the promise is 4 KB for all of it. */
static void
idle_player_is_small(void **state)
{
    (void)state;
    get_ready();
    play("movie?token=x");
    const struct rtmp_session *s = peer.session;
    size_t total = sizeof(*s) + sizeof(*s->ch.conn) + sizeof(*s->streams[0]) +
                   s->ch.conn->in.size + s->ch.conn->out.size +
                   s->ch.reader.room * 48U + 200;
    assert_null(s->connect);
    assert_true(total < 2048);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(handshake_byte_by_byte),
        CASE(everything_at_once),
        CASE(other_protocols_are_closed_at_once),
        CASE(rtmpe_is_refused_with_a_word_in_the_log),
        CASE(handshake_has_a_deadline),
        CASE(connect_has_a_deadline),
        CASE(first_stream_has_a_deadline),
        CASE(silent_peer_is_pinged_then_closed),
        CASE(answered_pings_keep_the_peer),
        CASE(peer_that_takes_nothing_is_closed),
        CASE(ping_is_answered_with_its_time),
        CASE(acknowledgements),
        CASE(acknowledgement_counts_wrap_at_32_bits),
        CASE(without_a_window_ours_counts),
        CASE(peer_bandwidth_is_answered_once),
        CASE(what_is_not_known_is_passed_over),
        CASE(chunk_size_of_zero_closes),
        CASE(message_over_the_cap_closes),
        CASE(media_reaches_the_application),
        CASE(media_with_another_id_belongs_to_the_only_publisher),
        CASE(aggregates_are_taken_apart),
        CASE(broken_aggregates_give_what_is_whole),
        CASE(peer_leaves),
        CASE(application_closes),
        CASE(application_ends_a_publisher),
        CASE(application_says_goodbye),
        CASE(chunk_size_is_said_once),
        CASE(idle_player_is_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * A client as a remote sees it: the handshake, what it says until it plays or
 * publishes, media, statuses, the end.
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

/* ---- the way to the stream ---- */

#define CODECS                                                             \
    " capabilities 239 audioCodecs 4071 videoCodecs 252 videoFunction 1"   \
    " objectEncoding 0 fourCcList ( * avc1 hvc1 av01 vp09 vp08 Opus fLaC"  \
    " ac-3 ec-3 .mp3 mp4a ) videoFourCcInfoMap ( * 4 ) audioFourCcInfoMap" \
    " ( * 4 ) capsEx 6 );"

static void
publish_step_by_step(void **state)
{
    (void)state;
    take_hello();
    assert_int_equal(hello.kind, HANDSHAKE_DIGEST_1);
    answer_hello();
    assert_string_equal(peer.heard.at,
                        "1/0 60000;20/0 connect 1 ( app live type nonprivate"
                        " flashVer FMLE/3.0 (compatible; weir)"
                        " tcUrl rtmp://h:1935/live fpad false" CODECS);
    forget(&peer.heard);
    accept_connect();
    assert_string_equal(peer.heard.at,
                        "5/0 2500000;20/0 releaseStream 2 null movie?k=v;"
                        "20/0 FCPublish 3 null movie?k=v;"
                        "20/0 createStream 4 null;\n");
    forget(&peer.heard);
    accept_create(7);
    assert_string_equal(peer.heard.at, "20/7 publish 5 null movie?k=v live;\n");
    assert_string_equal(owner.told.at, "");
    accept_wish();
    assert_string_equal(owner.told.at, "ready 7;");
}

static void
play_step_by_step(void **state)
{
    (void)state;
    shake_hands();
    assert_string_equal(peer.heard.at,
                        "20/0 connect 1 ( app live type nonprivate"
                        " flashVer LNX 11,1,102,55 (compatible; weir)"
                        " tcUrl rtmp://h:1935/live fpad false" CODECS);
    forget(&peer.heard);
    accept_connect();
    assert_string_equal(peer.heard.at, "5/0 2500000;20/0 createStream 4 null;"
                                       "20/0 FCSubscribe 3 null movie?k=v;\n");
    forget(&peer.heard);
    accept_create(1);
    assert_string_equal(peer.heard.at,
                        "20/1 play 5 null movie?k=v -2000;4/0 3 1;\n");
    tell("onStatus", 0, "status", "NetStream.Play.Reset", "reset");
    assert_string_equal(owner.told.at, "");
    accept_wish();
    assert_string_equal(owner.told.at, "ready 1;");
}

static void
what_it_tells_of_itself(void **state)
{
    (void)state;
    owner.wanted.app = STR("live/inst?a=1");
    owner.wanted.flash_ver = STR("me");
    owner.wanted.page_url = STR("http://p/");
    owner.wanted.swf_url = STR("http://s/");
    owner.wanted.node = STR("node-1");
    owner.wanted.args = STR_NONE;
    assert_int_equal(connect_again(), 0);
    shake_hands();
    assert_non_null(strstr(peer.heard.at, " app live/inst?a=1 "));
    assert_non_null(
        strstr(peer.heard.at, " tcUrl rtmp://h:1935/live/inst?a=1 "));
    assert_non_null(strstr(peer.heard.at, " flashVer me "));
    assert_non_null(strstr(peer.heard.at, " pageUrl http://p/ "
                                          "swfUrl http://s/ weirNode node-1 "));
    forget(&peer.heard);
    accept_connect();
    assert_non_null(strstr(peer.heard.at, "FCSubscribe 3 null movie;"));
}

/* Nothing depends on where packets end. */
static void
byte_by_byte(void **state)
{
    (void)state;
    take_hello();
    for (size_t i = 0; i < sizeof(hello.answer) - 1; i++) {
        assert_int_equal(send(peer.fd, hello.answer + i, 1, 0), 1);
        loop_turn(peer.loop, 0);
    }
    turns();
    assert_string_equal(peer.heard.at, "");
    hello.answer[0] = hello.answer[sizeof(hello.answer) - 1];
    send(peer.fd, hello.answer, 1, 0);
    loop_turn(peer.loop, 0);
    assert_non_null(owner.client);
    assert_true(recv(peer.fd, hello.c2, sizeof(hello.c2), MSG_DONTWAIT) ==
                HANDSHAKE_BLOCK);
}

static void
all_answers_at_once(void **state)
{
    (void)state;
    take_hello();
    add(hello.answer, sizeof(hello.answer));
    command("_result", 1);
    put_command(0);
    struct amf_writer *w = command("_result", 4);
    amf_put_null(w);
    amf_put_number(w, 1);
    put_command(0);
    w = command("onStatus", 0);
    amf_put_null(w);
    amf_begin_object(w);
    amf_put_name(w, STR("code"));
    amf_put_string(w, STR("NetStream.Play.Start"));
    amf_end_object(w);
    put_command(1);
    put_message(4, 8, 1, 7, STR("\xaf\x01zz"));
    send(peer.fd, buf_data(&wire), buf_len(&wire), 0);
    buf_clear(&wire);
    for (int i = 0; i < 4; i++) {
        loop_turn(peer.loop, 0);
    }
    assert_string_equal(owner.told.at, "ready 1;media 8 7 4 af;");
}

/* ---- media ---- */

static void
media_in_all_forms(void **state)
{
    (void)state;
    get_accepted();
    put_message(4, 8, 1, 7, STR("\xaf\x01zz"));
    put_message(6, 9, 0, 8, STR("\x17"));
    put_message(6, 9, 16777216, 9, STR("")); /* a stream nobody made */
    put_message(5, 15, 1, 10, STR("\0\x02\0\x0aonMetaData"));
    put_message(5, 18, 1, 11, STR("\x02\0\x0aonMetaData"));
    send_wire();
    assert_string_equal(owner.told.at,
                        "media 8 7 4 af;media 9 8 1 17;media 9 9 0 00;"
                        "media 18 10 13 02;media 18 11 13 02;");
}

static void
aggregates_are_taken_apart(void **state)
{
    static const char parts[] = "\x08\0\0\x02\0\0\x64\0\0\0\0\xaf\x01\0\0\0\x0d"
                                "\x09\0\0\x01\0\0\x6e\0\0\0\0\x27\0\0\0\x0c";
    (void)state;
    get_accepted();
    put_message(4, 22, 1, 1000, str_of(parts, sizeof(parts) - 1));
    send_wire();
    assert_string_equal(owner.told.at, "media 8 1000 2 af;media 9 1010 1 27;");
}

static void
words_to_players_are_no_media(void **state)
{
    (void)state;
    get_accepted();
    put_message(5, 18, 1, 0, STR("\x02\0\x11|RtmpSampleAccess\x01\1\x01\1"));
    put_message(5, 18, 1, 0, STR("\x02\0\x08onStatus"));
    put_message(5, 18, 1, 0, STR("\x02\0\x0conPlayStatus"));
    send_wire();
    assert_string_equal(owner.told.at, "");
}

static void
media_may_come_without_a_word(void **state)
{
    (void)state;
    get_to_wish();
    put_message(4, 8, 1, 7, STR("\xaf\x01zz"));
    send_wire();
    accept_wish();
    assert_string_equal(owner.told.at, "ready 1;media 8 7 4 af;");
}

static void
media_before_play_or_to_a_publisher_is_passed_over(void **state)
{
    (void)state;
    get_to_create();
    put_message(4, 8, 1, 7, STR("\xaf\x01zz"));
    send_wire();
    accept_create(1);
    accept_wish();
    put_message(4, 8, 1, 7, STR("\xaf\x01zz"));
    send_wire();
    assert_string_equal(owner.told.at, "ready 1;");
    assert_non_null(owner.client);
}

/* More than a turn takes: the order is kept, nothing is lost. */
static void
a_flood_of_small_messages(void **state)
{
    struct text want = { .len = 0 };
    (void)state;
    get_accepted();
    for (uint32_t i = 0; i < 300; i++) {
        put_message(4, 8, 1, i, STR("\xaf"));
        note(&want, "media 8 %u 1 af;", i);
    }
    send_wire();
    for (int i = 0; i < 10; i++) {
        loop_turn(peer.loop, 0);
    }
    assert_string_equal(owner.told.at, want.at);
}

/* ---- protocol control ---- */

static void
a_chunk_size_told_late(void **state)
{
    static uint8_t body[3000];
    (void)state;
    get_accepted();
    put_message(6, 9, 1, 1, str_of(body, sizeof(body)));
    send_number(1, 4096);
    fmt0(6, 2, sizeof(body), 9, 1);
    add(body, sizeof(body));
    send_wire();
    assert_string_equal(owner.told.at, "media 9 1 3000 00;media 9 2 3000 00;");
}

static void
pings_windows_and_acknowledgements(void **state)
{
    static uint8_t body[3000];
    (void)state;
    get_accepted();
    put_message(2, 4, 0, 0, STR("\0\x06\0\0\x12\x34"));
    send_wire();
    assert_string_equal(peer.heard.at, "4/0 7 4660;\n");
    forget(&peer.heard);
    put_message(2, 6, 0, 0, STR("\0\0\x10\0\2"));
    send_wire();
    assert_string_equal(peer.heard.at, "5/0 4096;\n");
    forget(&peer.heard);
    uint64_t in = rtmp_client_conn(owner.client)->bytes_in;
    send_number(5, 2000);
    in += 12 + 4;
    assert_non_null(strstr(peer.heard.at, "3/0 "));
    forget(&peer.heard);
    put_message(6, 9, 1, 1, str_of(body, sizeof(body)));
    in += buf_len(&wire);
    send_wire();
    char want[32];
    snprintf(want, sizeof(want), "3/0 %llu;\n", (unsigned long long)in);
    assert_string_equal(peer.heard.at, want);
}

static void
calls_are_answered(void **state)
{
    (void)state;
    get_to_create();
    call("onBWDone", 0, 0, NULL);
    call("onBWDone", 0, 0, NULL);
    assert_string_equal(peer.heard.at, "20/0 _checkbw 6 null;\n");
    forget(&peer.heard);
    call("_onbwcheck", 9, 0, NULL);
    assert_string_equal(peer.heard.at, "20/0 _result 9 null null;\n");
    forget(&peer.heard);
    call("onSomething", 0, 0, NULL);
    assert_string_equal(peer.heard.at, "");
    /* in the envelope of AMF3 */
    command("_onbwcheck", 9);
    put_message(3, 17, 0, 0, STR("\0\x02\0\x01x\0\x40\x22\0\0\0\0\0\0"));
    send_wire();
    assert_string_equal(peer.heard.at, "20/0 _result 9 null null;\n");
}

/* ---- a publisher's words ---- */

static void
a_publishers_words_keep_their_order(void **state)
{
    (void)state;
    get_to_wish();
    assert_false(owner.through_say);
    accept_wish();
    put_message(2, 4, 0, 0, STR("\0\x06\0\0\0\1"));
    send_wire();
    assert_true(owner.through_say);
    forget(&peer.heard);
    assert_int_equal(rtmp_client_chunk_size(owner.client, 60000), 0);
    turns();
    assert_string_equal(peer.heard.at, "");
    assert_int_equal(rtmp_client_chunk_size(owner.client, 4096), 0);
    turns();
    assert_string_equal(peer.heard.at, "1/0 4096;\n");
}

static void
words_that_cannot_be_kept(void **state)
{
    (void)state;
    get_accepted();
    owner.refuse_words = true;
    assert_int_equal(rtmp_client_chunk_size(owner.client, 4096), -1);
    assert_over(RTMP_CLIENT_LOST, "the connection is broken");
}

static void
writable_is_passed_on(void **state)
{
    static uint8_t much[30000];
    struct iovec iov = { much, sizeof(much) };
    static uint8_t packet[sizeof(much)];
    (void)state;
    get_accepted();
    while (conn_writev(rtmp_client_conn(owner.client), &iov, 1) == 30000) {
    }
    while (recv(peer.fd, packet, sizeof(packet), MSG_DONTWAIT) > 0) {
    }
    loop_turn(peer.loop, 10);
    assert_string_equal(owner.told.at, "writable;");
}

/* ---- what it is told while it plays ---- */

static void
streams_stop_and_start(void **state)
{
    (void)state;
    get_accepted();
    put_message(2, 4, 0, 0, STR("\0\1\0\0\0\1"));
    send_wire();
    tell("onStatus", 0, "status", "NetStream.Play.UnpublishNotify", "gone");
    assert_string_equal(owner.told.at, "stopped StreamEOF;");
    forget(&owner.told);
    tell("onStatus", 0, "status", "NetStream.Play.PublishNotify", "here");
    put_message(2, 4, 0, 0, STR("\0\0\0\0\0\1"));
    send_wire();
    assert_string_equal(owner.told.at,
                        "started NetStream.Play.PublishNotify: here;");
    forget(&owner.told);
    tell("onStatus", 0, "status", "NetStream.Play.Stop", NULL);
    put_message(4, 8, 1, 7, STR("\xaf"));
    send_wire();
    assert_string_equal(owner.told.at, "stopped NetStream.Play.Stop;"
                                       "started media again;media 8 7 1 af;");
    forget(&owner.told);
    call("onFCUnsubscribe", 0, 0, NULL);
    put_message(2, 4, 0, 0, STR("\0\0\0\0\0\1"));
    send_wire();
    assert_string_equal(owner.told.at,
                        "stopped onFCUnsubscribe;started StreamBegin;");
}

static void
anything_else_is_told(void **state)
{
    (void)state;
    get_accepted();
    tell("onStatus", 0, "warning", "NetStream.Play.InsufficientBW", "slow");
    assert_string_equal(owner.told.at,
                        "told NetStream.Play.InsufficientBW: slow;");
}

/* ---- the end ---- */

static void
farewell_of_a_publisher(void **state)
{
    (void)state;
    get_accepted();
    rtmp_client_close(owner.client, "stopped");
    assert_over(RTMP_CLIENT_OWNER, "stopped");
    turns();
    assert_string_equal(peer.heard.at, "20/0 FCUnpublish 0 null movie?k=v;"
                                       "20/0 deleteStream 0 null 1;\n");
    assert_true(peer.closed);
    assert_int_equal(rtmp_clients(), 1);
    shutdown(peer.fd, SHUT_RDWR);
    turns();
    assert_int_equal(rtmp_clients(), 0);
}

static void
farewell_of_a_player(void **state)
{
    (void)state;
    get_accepted();
    rtmp_client_close(owner.client, "stopped");
    turns();
    assert_string_equal(peer.heard.at, "20/0 deleteStream 0 null 1;\n");
    /* What it still sends is nobody's any more. */
    put_message(4, 8, 1, 7, STR("\xaf\x01zz"));
    send_wire();
    assert_string_equal(owner.told.at, "");
    assert_int_equal(owner.closes, 1);
}

static void
closed_at_every_stage(void **state)
{
    static void (*const get_to[])(void) = { take_hello, get_to_connect,
                                            get_to_create, get_to_wish,
                                            get_accepted };
    (void)state;
    for (size_t i = 0; i < sizeof(get_to) / sizeof(get_to[0]); i++) {
        if (i > 0) {
            assert_int_equal(connect_again(), 0);
        }
        get_to[i]();
        rtmp_client_close(owner.client, "no");
        assert_null(owner.client);
        assert_int_equal(owner.closes, 1);
        turns();
        assert_true(peer.closed);
    }
}

static void
closed_within_a_handler(void **state)
{
    (void)state;
    owner.close_when_ready = true;
    get_accepted();
    assert_over(RTMP_CLIENT_OWNER, "not wanted");
    owner.close_when_ready = false;
    owner.close_when_media = true;
    assert_int_equal(connect_again(), 0);
    get_accepted();
    put_message(4, 8, 1, 7, STR("\xaf"));
    put_message(4, 8, 1, 8, STR("\xaf"));
    send_wire();
    assert_over(RTMP_CLIENT_OWNER, "enough");
    assert_string_equal(owner.told.at, "media 8 7 1 af;");
}

static void
all_are_closed(void **state)
{
    (void)state;
    get_accepted();
    rtmp_client_close_all("the process stops");
    assert_over(RTMP_CLIENT_OWNER, "the process stops");
    assert_int_equal(rtmp_clients(), 0);
    turns();
    assert_string_equal(peer.heard.at, "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        PUBLISH(publish_step_by_step),
        PLAY(play_step_by_step),
        PLAY(what_it_tells_of_itself),
        PLAY(byte_by_byte),
        PLAY(all_answers_at_once),
        PLAY(media_in_all_forms),
        PLAY(aggregates_are_taken_apart),
        PLAY(words_to_players_are_no_media),
        PLAY(media_may_come_without_a_word),
        PUBLISH(media_before_play_or_to_a_publisher_is_passed_over),
        PLAY(a_flood_of_small_messages),
        PLAY(a_chunk_size_told_late),
        PLAY(pings_windows_and_acknowledgements),
        PLAY(calls_are_answered),
        PUBLISH(a_publishers_words_keep_their_order),
        PUBLISH(words_that_cannot_be_kept),
        PUBLISH(writable_is_passed_on),
        PLAY(streams_stop_and_start),
        PLAY(anything_else_is_told),
        PUBLISH(farewell_of_a_publisher),
        PLAY(farewell_of_a_player),
        PLAY(closed_at_every_stage),
        PLAY(closed_within_a_handler),
        PUBLISH(all_are_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

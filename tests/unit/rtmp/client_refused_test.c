/*
 * A client whose remote refuses it, or talks nonsense.
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

/* ---- the handshake ---- */

static void
first_byte(uint8_t byte, const char *reason)
{
    take_hello();
    send(peer.fd, &byte, 1, 0);
    assert_over(RTMP_CLIENT_PROTOCOL, reason);
}

static void
a_web_server(void **state)
{
    (void)state;
    first_byte('H', "not RTMP: the first byte is 0x48");
}

static void
a_server_of_tls(void **state)
{
    (void)state;
    first_byte(21, "it speaks TLS (is it an rtmps:// address?)");
}

static void
a_server_of_rtmpe(void **state)
{
    (void)state;
    first_byte(6, "RTMPE (version 6) is not supported");
}

static void
a_wrong_s2(void **state)
{
    (void)state;
    take_hello();
    hello.answer[HANDSHAKE_ANSWER - 1] ^= 1;
    answer_hello();
    assert_over(RTMP_CLIENT_PROTOCOL,
                "its handshake (S2) does not answer ours");
}

/* S1 with a digest, S2 an echo of C1: nothing is wrong with it. */
static void
an_echo_for_s2(void **state)
{
    (void)state;
    take_hello();
    memcpy(hello.answer + 1 + HANDSHAKE_BLOCK, hello.ask + 1, HANDSHAKE_BLOCK);
    answer_hello();
    assert_non_null(strstr(peer.heard.at, "connect 1"));
}

/* A server that knows no digests gets its S1 back. */
static void
a_plain_server(void **state)
{
    (void)state;
    take_hello();
    memset(hello.answer + 1, 0, 8);
    memset(hello.answer + 1 + 776, 5, 700);
    answer_hello();
    assert_non_null(strstr(peer.heard.at, "connect 1"));
    assert_memory_equal(hello.c2, hello.answer + 1, HANDSHAKE_BLOCK);
    /* version told, but nothing signed */
    assert_int_equal(connect_again(), 0);
    take_hello();
    memset(hello.answer + 1, 9, HANDSHAKE_BLOCK);
    answer_hello();
    assert_memory_equal(hello.c2, hello.answer + 1, HANDSHAKE_BLOCK);
}

/* ---- refusals ---- */

static void
connect_is_refused(void **state)
{
    (void)state;
    get_to_connect();
    tell("_error", 1, "error", "NetConnection.Connect.Rejected", "no app");
    assert_over(RTMP_CLIENT_REFUSED,
                "connect was refused: NetConnection.Connect.Rejected: no app");
}

static void
connect_is_refused_by_a_result(void **state)
{
    (void)state;
    get_to_connect();
    tell("_result", 1, "error", "NetConnection.Connect.InvalidApp", NULL);
    assert_over(RTMP_CLIENT_REFUSED,
                "connect was refused: NetConnection.Connect.InvalidApp");
}

static void
connect_is_refused_without_a_word(void **state)
{
    (void)state;
    get_to_connect();
    call("_error", 1, 0, NULL);
    assert_over(RTMP_CLIENT_REFUSED, "connect was refused: no reason is given");
}

static void
the_connection_is_closed_by_onstatus(void **state)
{
    (void)state;
    get_to_connect();
    tell("onStatus", 0, "status", "NetConnection.Connect.AppShutdown", "bye");
    assert_over(
        RTMP_CLIENT_REFUSED,
        "the connection was refused: NetConnection.Connect.AppShutdown: bye");
}

static void
close_is_said(void **state)
{
    (void)state;
    get_to_connect();
    call("close", 0, 0, NULL);
    assert_over(RTMP_CLIENT_LOST, "the remote said \"close\"");
}

static void
create_is_refused(void **state)
{
    (void)state;
    get_to_create();
    tell("_error", 4, "error", "NetConnection.Call.Failed", "too many");
    assert_over(RTMP_CLIENT_REFUSED, "createStream was refused: "
                                     "NetConnection.Call.Failed: too many");
}

static void
create_is_answered_by_no_stream(void **state)
{
    static const double ids[] = { 0, -1, 4294967296.0, 1e300 };
    (void)state;
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        if (i > 0) {
            assert_int_equal(connect_again(), 0);
        }
        get_to_create();
        accept_create(ids[i]);
        assert_over(RTMP_CLIENT_PROTOCOL,
                    "createStream was answered by what is no stream");
    }
}

static void
what_nobody_needs_may_be_refused(void **state)
{
    (void)state;
    get_to_create();
    tell("_error", 2, "error", "NetConnection.Call.Failed", "releaseStream?");
    tell("_error", 3, "error", "NetConnection.Call.Failed", "FCPublish?");
    tell("_error", 77, "error", "NetConnection.Call.Failed", "what?");
    call("_result", 99, 0, NULL);
    call("_result", 1, 0, NULL);
    accept_create(1);
    accept_wish();
    assert_string_equal(owner.told.at, "ready 1;");
}

static void
publish_is_refused(void **state)
{
    (void)state;
    get_to_wish();
    tell("onStatus", 0, "error", "NetStream.Publish.BadName", "in use");
    assert_over(RTMP_CLIENT_REFUSED,
                "publish was refused: NetStream.Publish.BadName: in use");
    assert_string_equal(owner.told.at, "");
}

static void
publish_is_refused_by_an_error(void **state)
{
    (void)state;
    get_to_wish();
    tell("_error", 5, NULL, "NetStream.Publish.Denied", "no");
    assert_over(RTMP_CLIENT_REFUSED,
                "publish was refused: NetStream.Publish.Denied: no");
}

static void
publish_is_refused_by_fcpublish(void **state)
{
    (void)state;
    get_to_wish();
    tell("onFCPublish", 0, "status", "NetStream.Publish.Start", "movie");
    assert_non_null(owner.client);
    tell("onFCPublish", 0, "status", "NetStream.Publish.BadName", "no");
    assert_over(RTMP_CLIENT_REFUSED,
                "publish was refused: NetStream.Publish.BadName: no");
}

static void
play_is_refused(void **state)
{
    (void)state;
    get_to_wish();
    tell("onStatus", 0, "status", "NetStream.Play.StreamNotFound", "where?");
    assert_over(RTMP_CLIENT_REFUSED,
                "play was refused: NetStream.Play.StreamNotFound: where?");
}

static void
it_is_ended_later(void **state)
{
    (void)state;
    get_accepted();
    tell("onStatus", 0, "error", "NetStream.Publish.BadName", "another came");
    assert_over(RTMP_CLIENT_ENDED,
                "publish was ended: NetStream.Publish.BadName: another came");
    assert_int_equal(connect_again(), 0);
    get_accepted();
    tell("onStatus", 0, "status", "NetStream.Unpublish.Success", NULL);
    assert_over(RTMP_CLIENT_ENDED,
                "publish was ended: NetStream.Unpublish.Success");
}

static void
it_closes_at_every_stage(void **state)
{
    static void (*const get_to[])(void) = { take_hello, get_to_connect,
                                            get_to_create, get_to_wish,
                                            get_accepted };
    static const char *const reasons[] = {
        "in the handshake: peer closed the connection",
        "instead of an answer to connect: peer closed the connection",
        "instead of an answer to createStream: peer closed the connection",
        "instead of an answer to publish: peer closed the connection",
        "peer closed the connection",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(get_to) / sizeof(get_to[0]); i++) {
        if (i > 0) {
            assert_int_equal(connect_again(), 0);
        }
        get_to[i]();
        shutdown(peer.fd, SHUT_RDWR);
        assert_over(RTMP_CLIENT_LOST, reasons[i]);
    }
}

static void
it_closes_in_the_middle_of_a_message(void **state)
{
    (void)state;
    get_accepted();
    fmt0(6, 1, 100, 9, 1);
    add("half", 4);
    send_wire();
    shutdown(peer.fd, SHUT_RDWR);
    assert_over(RTMP_CLIENT_LOST, "peer closed the connection");
    assert_string_equal(owner.told.at, "");
}

/* ---- nonsense ---- */

static void
garbage(void **state)
{
    (void)state;
    get_to_connect();
    fmt0(3, 0, 0xffffff, 20, 0);
    send_wire();
    assert_true(wait_over());
    assert_int_equal(owner.fate, RTMP_CLIENT_PROTOCOL);
}

static void
commands_that_cannot_be(void **state)
{
    (void)state;
    get_to_connect();
    put_message(3, 20, 0, 0, STR("\x05\x05"));
    send_wire();
    assert_over(RTMP_CLIENT_PROTOCOL, "a command without a name");
    static uint8_t long_one[70000];
    assert_int_equal(connect_again(), 0);
    get_to_connect();
    put_message(3, 20, 0, 0, str_of(long_one, sizeof(long_one)));
    send_wire();
    assert_over(RTMP_CLIENT_PROTOCOL, "a command of more than 64 KB");
    assert_int_equal(connect_again(), 0);
    get_to_connect();
    send_number(1, 0);
    assert_true(wait_over());
    assert_int_equal(owner.fate, RTMP_CLIENT_PROTOCOL);
}

static void
a_message_over_the_limit(void **state)
{
    (void)state;
    owner.settings.max_message = 200000;
    get_accepted();
    fmt0(6, 1, 200001, 9, 1);
    send_wire();
    assert_true(wait_over());
    assert_int_equal(owner.fate, RTMP_CLIENT_PROTOCOL);
}

static void
what_is_wanted_cannot_be(void **state)
{
    static char much[5000];
    struct rtmp_wanted wanted = owner.wanted;
    struct errmsg err;
    struct conn_socket socket = { .fd = dup(peer.fd) };
    (void)state;
    wanted.args = str_of(much, sizeof(much));
    assert_null(rtmp_client_new(peer.loop, &wanted, &owner_handlers, &owner,
                                &socket, &err));
    assert_string_equal(err.text, "the URL is too long");
    wanted.args = wanted.name = STR_NONE;
    socket.fd = dup(peer.fd);
    assert_null(rtmp_client_new(peer.loop, &wanted, &owner_handlers, &owner,
                                &socket, &err));
    assert_non_null(strstr(err.text, "may be empty"));
    assert_int_equal(owner.closes, 0);
    assert_int_equal(rtmp_clients(), 1);
}

static void
a_socket_that_is_dead(void **state)
{
    struct errmsg err;
    int fds[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds),
                     0);
    close(fds[1]);
    assert_null(rtmp_client_new(peer.loop, &owner.wanted, &owner_handlers,
                                &owner, &(struct conn_socket){ .fd = fds[0] },
                                &err));
    assert_string_equal(err.text, "the connection is broken");
    assert_int_equal(owner.closes, 0);
    assert_int_equal(rtmp_clients(), 1);
}

/* ---- secrets ---- */

static void
what_a_remote_repeats_is_masked(void **state)
{
    (void)state;
    owner.wanted.name = STR("sekretkey");
    owner.wanted.app = STR("live?token=app-token");
    owner.wanted.password = STR("hunter22");
    assert_int_equal(connect_again(), 0);
    get_to_wish();
    tell("onStatus", 0, "error", "NetStream.Publish.BadName",
         "sekretkey sekretkey?k=v token=app-token hunter22\n\x01\xff");
    assert_over(RTMP_CLIENT_REFUSED,
                "publish was refused: NetStream.Publish.BadName: ********* "
                "************* *************** ********???");
}

/* Servers check a token and say that this one is wrong. */
static void
a_value_that_is_repeated_is_masked(void **state)
{
    (void)state;
    owner.wanted.args = STR("user=ab&token=s3cret&sign=0123456789");
    owner.wanted.app = STR("live?ticket=app-ticket");
    assert_int_equal(connect_again(), 0);
    get_to_wish();
    tell("onStatus", 0, "error", "NetStream.Play.Failed",
         "bad s3cret, 0123456789 of app-ticket");
    assert_over(RTMP_CLIENT_REFUSED,
                "play was refused: NetStream.Play.Failed: bad ******, "
                "********** of **********");
}

/* A public name may be a word that remotes use for something else. */
static void
a_name_that_is_played_is_no_secret(void **state)
{
    (void)state;
    owner.wanted.name = STR("self");
    owner.wanted.args = STR("token=s3cret");
    assert_int_equal(connect_again(), 0);
    get_to_wish();
    tell("onStatus", 0, "error", "NetStream.Play.Failed",
         "self?token=s3cret is a relay of a stream to itself");
    assert_over(RTMP_CLIENT_REFUSED,
                "play was refused: NetStream.Play.Failed: self?************ "
                "is a relay of a stream to itself");
}

static void
no_secret_is_cut_in_two(void **state)
{
    char long_one[1000];
    (void)state;
    owner.wanted.name = STR("sekretkey");
    assert_int_equal(connect_again(), 0);
    get_to_wish();
    memset(long_one, 'x', sizeof(long_one));
    size_t at = 255 - strlen("NetStream.Failed: ") - 4;
    snprintf(long_one + at, sizeof(long_one) - at, "sekretkey");
    tell("onStatus", 0, "error", "NetStream.Failed", long_one);
    assert_true(wait_over());
    assert_non_null(strstr(owner.reason, "xx****"));
    assert_null(strstr(owner.reason, "sekr"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        PLAY(a_web_server),
        PLAY(a_server_of_tls),
        PLAY(a_server_of_rtmpe),
        PLAY(a_wrong_s2),
        PLAY(an_echo_for_s2),
        PLAY(a_plain_server),
        PLAY(connect_is_refused),
        PLAY(connect_is_refused_by_a_result),
        PLAY(connect_is_refused_without_a_word),
        PLAY(the_connection_is_closed_by_onstatus),
        PLAY(close_is_said),
        PLAY(create_is_refused),
        PLAY(create_is_answered_by_no_stream),
        PUBLISH(what_nobody_needs_may_be_refused),
        PUBLISH(publish_is_refused),
        PUBLISH(publish_is_refused_by_an_error),
        PUBLISH(publish_is_refused_by_fcpublish),
        PLAY(play_is_refused),
        PUBLISH(it_is_ended_later),
        PUBLISH(it_closes_at_every_stage),
        PLAY(it_closes_in_the_middle_of_a_message),
        PLAY(garbage),
        PLAY(commands_that_cannot_be),
        PLAY(a_message_over_the_limit),
        PLAY(what_is_wanted_cannot_be),
        PLAY(a_socket_that_is_dead),
        PUBLISH(what_a_remote_repeats_is_masked),
        PLAY(a_value_that_is_repeated_is_masked),
        PLAY(a_name_that_is_played_is_no_secret),
        PUBLISH(no_secret_is_cut_in_two),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

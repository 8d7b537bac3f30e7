/*
 * Decisions: what a client sees of them, whenever they come.
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

#define CASE(f) cmocka_unit_test_setup_teardown(f, start, stop)

static void
told(const char *want)
{
    assert_string_equal(app.told.at, want);
    forget(&app.told);
}

static void
a_refused_publish_is_told_why_and_closed(void **state)
{
    (void)state;
    app.publish = RTMP_REFUSE;
    app.code = "NetStream.Publish.Denied";
    app.reason = "the key is not known";
    get_ready();
    call("publish", 5, 1, "movie?token=secret");
    assert_string_equal(peer.heard.at,
                        "20/1 onStatus 0 null ( level error code "
                        "NetStream.Publish.Denied description the key is not "
                        "known );\n");
    assert_true(peer.closed);
    told("live 1 live|movie|token=secret;end 1 movie: the key is not known;");
    assert_non_null(
        strstr(logged.at, "publish live/movie refused: the key is not known"));
    assert_null(strstr(logged.at, "secret"));
}

static void
a_refused_play_is_told_why_and_closed(void **state)
{
    (void)state;
    app.play = RTMP_REFUSE;
    app.reason = "not from there";
    get_ready();
    call("play", 0, 1, "movie");
    assert_string_equal(peer.heard.at,
                        "20/1 onStatus 0 null ( level error code "
                        "NetStream.Play.Failed description not from there "
                        ");\n");
    assert_true(peer.closed);
}

static void
names_in_the_log_are_escaped(void **state)
{
    (void)state;
    app.publish = RTMP_REFUSE;
    app.reason = "no";
    get_ready();
    call("publish", 5, 1, "a\"b");
    assert_non_null(strstr(logged.at, "publish live/a"));
    assert_null(strstr(logged.at, "a\"b"));
}

/* Nothing is promised, and nothing more is read, before the decision. */
static void
what_comes_before_the_decision_waits(void **state)
{
    (void)state;
    app.publish = RTMP_WAIT;
    get_ready();
    struct amf_writer *w = command("publish", 5);
    amf_put_null(w);
    amf_put_string(w, STR("movie"));
    put_command(1);
    put_message(4, 8, 1, 7, STR("\xaf\x01"));
    send_wire();
    put_message(4, 8, 1, 8, STR("\xaf\x01"));
    send_wire();
    told("live 1 live|movie|;");
    assert_string_equal(peer.heard.at, "");

    rtmp_session_decide(app.asked, RTMP_DONE, NULL);
    turns();
    assert_non_null(strstr(peer.heard.at, "NetStream.Publish.Start"));
    told("media 1 8 7 2 af;media 1 8 8 2 af;");
}

static void
a_late_refusal(void **state)
{
    (void)state;
    struct rtmp_refusal no = { .code = "NetStream.Publish.BadName" };
    errmsg_set(&no.reason, "taken");
    app.publish = RTMP_WAIT;
    get_ready();
    call("publish", 5, 1, "movie");
    rtmp_session_decide(app.asked, RTMP_REFUSE, &no);
    turns();
    assert_non_null(strstr(peer.heard.at, "BadName description taken"));
    assert_true(peer.closed);
}

static void
connect_may_wait_too(void **state)
{
    (void)state;
    app.connect = RTMP_WAIT;
    do_handshake();
    put_connect("live", "rtmp://h/live");
    command("createStream", 2);
    put_command(0);
    send_wire();
    assert_string_equal(peer.heard.at, "");
    rtmp_session_decide(app.asked, RTMP_DONE, NULL);
    turns();
    assert_non_null(strstr(peer.heard.at, "Connect.Success"));
    assert_non_null(strstr(peer.heard.at, "20/0 _result 2 null 1;"));
    told("connect 0 live||;"); /* and no end: it went well */
}

static void
play_may_wait_too(void **state)
{
    (void)state;
    app.play = RTMP_WAIT;
    get_ready();
    call("play", 0, 1, "movie");
    assert_string_equal(peer.heard.at, "");
    rtmp_session_decide(app.asked, RTMP_DONE, NULL);
    turns();
    assert_non_null(strstr(peer.heard.at, "NetStream.Play.Start"));
}

static void
decided_within_the_question(void **state)
{
    (void)state;
    app.decide_within = true;
    do_handshake();
    do_connect();
    assert_non_null(strstr(peer.heard.at, "Connect.Success"));
    call("createStream", 2, 0, NULL);
    call("publish", 5, 1, "movie");
    assert_non_null(strstr(peer.heard.at, "NetStream.Publish.Start"));
    put_message(4, 8, 1, 7, STR("\xaf\x01"));
    send_wire();
    assert_non_null(strstr(app.told.at, "media 1 8 7"));
}

static void
peer_leaves_while_it_waits(void **state)
{
    (void)state;
    app.publish = RTMP_WAIT;
    get_ready();
    call("publish", 5, 1, "movie");
    struct rtmp_request *r = app.asked;
    told("live 1 live|movie|;");
    rtmp_session_close(peer.session, "gone");
    told("end 1 movie: gone;");
    rtmp_session_decide(r, RTMP_DONE, NULL); /* too late, does nothing */
    told("");
}

static void
application_closes_within_the_question(void **state)
{
    struct rtmp_refusal no = { .code = NULL };

    (void)state;
    app.publish = RTMP_WAIT;
    get_ready();
    call("publish", 5, 1, "movie");
    errmsg_set(&no.reason, "no more");
    rtmp_session_decide(app.asked, RTMP_REFUSE, &no);
    told("live 1 live|movie|;end 1 movie: no more;");
    turns();
    assert_non_null(
        strstr(peer.heard.at, "NetStream.Publish.BadName description no more"));
    assert_true(peer.closed);
}

static void
count_request(struct rtmp_request *r, void *arg)
{
    *(unsigned *)arg += r->stream_id;
}

static void
each_stream_in_use(void **state)
{
    unsigned each_count = 0;

    (void)state;
    get_ready();
    call("createStream", 2, 0, NULL); /* 2: not used */
    call("publish", 0, 1, "a");
    call("play", 0, 4, "b");
    rtmp_session_each(peer.session, count_request, &each_count);
    assert_int_equal(each_count, 5);
}

static void
all_are_closed(void **state)
{
    (void)state;
    get_ready();
    call("publish", 0, 1, "a");
    forget(&app.told);
    rtmp_close_all("weir stops");
    assert_int_equal(rtmp_sessions(), 0);
    told("end 1 a: weir stops;");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_refused_publish_is_told_why_and_closed),
        CASE(a_refused_play_is_told_why_and_closed),
        CASE(names_in_the_log_are_escaped),
        CASE(what_comes_before_the_decision_waits),
        CASE(a_late_refusal),
        CASE(connect_may_wait_too),
        CASE(play_may_wait_too),
        CASE(decided_within_the_question),
        CASE(peer_leaves_while_it_waits),
        CASE(application_closes_within_the_question),
        CASE(each_stream_in_use),
        CASE(all_are_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

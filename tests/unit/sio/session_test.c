/*
 * Sessions of Engine.IO: heartbeat, bounds, ends.
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

#include "engine_help.h"

static struct client_request q;

static void
is(int status, const char *body)
{
    assert_int_equal(q.status, status);
    assert_string_equal(q.body, body);
}

static void
is_unknown(const char *sid)
{
    poll(&q, sid);
    is(400, "{\"code\":1,\"message\":\"Session ID unknown\"}");
}

/* ---- heartbeat ---- */

static void
test_heartbeat_of_polling(void **state)
{
    const char *sid = open_polling();

    (void)state;
    poll(&q, sid);
    for (int i = 0; i < 3; i++) {
        wait_ms(24999);
        assert_int_equal(q.status, 0);
        wait_ms(1);
        is(200, "2");
        wait_ms(19999);
        poll(&q, sid);
        assert_int_equal(post(sid, "3"), 200);
    }
    assert_string_equal(noted(), "");
}

/* A reload changes them in place, for sessions that follow. */
static void
test_a_session_keeps_the_times_that_its_client_was_told(void **state)
{
    const char *sid = open_polling();

    (void)state;
    settings.ping_interval = 400000;
    settings.ping_timeout = 100;
    poll(&q, sid);
    wait_ms(24999);
    assert_int_equal(q.status, 0);
    wait_ms(1);
    is(200, "2");
    wait_ms(19999);
    assert_string_equal(noted(), "");
    assert_int_equal(post(sid, "3"), 200);
    poll(&q, sid);
    wait_ms(25000);
    is(200, "2");
    wait_ms(20000);
    assert_string_equal(noted(), "close:ping timeout");
}

static void
test_heartbeat_of_a_websocket(void **state)
{
    (void)state;
    open_websocket();
    wait_ms(24999);
    assert_string_equal(ws_sent(adopted), "");
    wait_ms(1);
    assert_string_equal(ws_sent(adopted), "2");
    wait_ms(5000);
    ws_says(adopted, "3");
    wait_ms(20000);
    assert_string_equal(ws_sent(adopted), "");
    wait_ms(5000);
    assert_string_equal(ws_sent(adopted), "2");
    wait_ms(19999);
    assert_string_equal(noted(), "");
    wait_ms(1);
    assert_string_equal(noted(), "close:ping timeout");
    assert_int_equal(adopted->code, WS_POLICY);
    ws_ends(&adopted, WS_POLICY);
}

static void
test_the_timer_needs_no_poll(void **state)
{
    const char *sid = open_polling();

    (void)state;
    wait_ms(25000);
    wait_ms(20000);
    assert_string_equal(noted(), "close:ping timeout");
    is_unknown(sid);
}

static void
test_a_poll_waits_at_the_timeout(void **state)
{
    const char *sid = open_polling();

    (void)state;
    wait_ms(25000);
    poll(&q, sid);
    is(200, "2");
    poll(&q, sid);
    wait_ms(20000);
    is(200, "1");
    is_unknown(sid);
}

static void
test_a_ping_overtakes_what_waits(void **state)
{
    const char *sid = open_polling();

    (void)state;
    send_text(last, "4a", 0);
    wait_ms(25000);
    send_text(last, "4b", 0);
    poll(&q, sid);
    is(200, "2\x1e"
            "4a\x1e"
            "4b");
    open_websocket();
    adopted->room = 0;
    send_text(last, "4a", 0);
    wait_ms(25000);
    ws_gets_room(adopted, 9);
    assert_string_equal(ws_sent(adopted), "2|4a");
    ws_ends(&adopted, WS_NONE);
}

/* Else a client could put off the question for ever. */
static void
test_a_pong_that_nobody_asked_for(void **state)
{
    (void)state;
    open_websocket();
    wait_ms(20000);
    ws_says(adopted, "3");
    wait_ms(5000);
    assert_string_equal(ws_sent(adopted), "2");
    ws_ends(&adopted, WS_NONE);
}

/* Neither a full queue nor a full connection keeps a ping back. */
static void
test_a_ping_needs_no_room(void **state)
{
    (void)state;
    settings.max_queue = 128;
    open_websocket();
    adopted->room = 0;
    send_text(last, "4a", 0);
    send_text(last, "4b", 0);
    wait_ms(25000);
    assert_string_equal(noted(), "");
    ws_gets_room(adopted, 9);
    assert_string_equal(ws_sent(adopted), "2|4a|4b");
    ws_ends(&adopted, WS_NONE);
}

/* ---- the queue's bound ---- */

static void
test_too_slow(void **state)
{
    const char *sid = open_polling();
    unsigned n = 0;

    (void)state;
    while (send_text(last, "4a", 0) == 0) {
        n++;
    }
    assert_int_equal(n, 2000 / 64);
    assert_int_equal(send_text(last, "4a", 0), -1);
    assert_string_equal(noted(), ""); /* callers walk their sessions */
    assert_int_equal(engine_sessions(e), 0);
    assert_int_equal(frames_alive, 2); /* the engine's own */
    wait_ms(0);
    assert_string_equal(noted(), "close:too slow");
    is_unknown(sid);
}

static void
test_a_slow_websocket(void **state)
{
    char text[301] = "4";

    (void)state;
    memset(text + 1, 'x', 299);
    open_websocket();
    adopted->room = 1;
    for (int i = 0; i < 7; i++) { /* one is sent, six wait: 6 * 304 */
        assert_int_equal(send_text(last, text, 0), 0);
    }
    assert_int_equal(session_queued(last), 6 * 304);
    assert_int_equal(send_text(last, text, 0), -1);
    wait_ms(0);
    assert_string_equal(noted(), "close:too slow");
    assert_int_equal(adopted->code, WS_POLICY);
    ws_ends(&adopted, WS_POLICY);
}

static void
test_base64_counts(void **state)
{
    char bytes[300] = "";

    (void)state;
    open_polling();
    for (int i = 0; i < 4; i++) { /* 402 each */
        assert_int_equal(send_bytes(last, bytes, sizeof(bytes)), 0);
    }
    assert_int_equal(session_queued(last), 4 * 402);
    assert_int_equal(send_bytes(last, bytes, sizeof(bytes)), -1);
}

static void
test_the_connection_ends_before_the_slow_end(void **state)
{
    (void)state;
    open_websocket();
    adopted->room = 0;
    while (send_text(last, "4a", 0) == 0) {
    }
    ws_says(adopted, "4late");
    ws_ends(&adopted, WS_ABNORMAL);
    wait_ms(0);
    assert_string_equal(noted(), "close:too slow");
}

static void
test_slow_and_closed(void **state)
{
    const char *sid = open_polling();

    (void)state;
    while (send_text(last, "4a", 0) == 0) {
    }
    assert_int_equal(post(sid, "4a"), 400);
    session_close(last, SESSION_KICKED);
    assert_string_equal(noted(), "close:too slow");
    wait_ms(0);
    assert_string_equal(noted(), "");
}

static void
test_a_key_replaces(void **state)
{
    const char *sid = open_polling();

    (void)state;
    for (int i = 0; i < 1000; i++) { /* far more than its queue takes */
        assert_int_equal(send_text(last, i < 999 ? "4old" : "4new", 7), 0);
        assert_int_equal(send_text(last, i < 999 ? "4older" : "4newer", 8), 0);
        if (i == 500) {
            send_text(last, "4between", 0);
        }
    }
    poll(&q, sid);
    is(200, "4between\x1e"
            "4new\x1e"
            "4newer");
    send_text(last, "4a", 7);
    poll(&q, sid);
    is(200, "4a");
    open_websocket();
    adopted->room = 0;
    send_text(last, "4a", 7);
    send_text(last, "4b", 7);
    ws_gets_room(adopted, 9);
    assert_string_equal(ws_sent(adopted), "4b");
    ws_ends(&adopted, WS_NONE);
}

static void
test_what_is_held(void **state)
{
    struct ws_frame *f = frame_of("4a");

    (void)state;
    open_polling();
    session_send(last, f, 0);
    assert_true(session_holds(last, f));
    poll(&q, last->id);
    assert_false(session_holds(last, f));
    ws_frame_let_go(&f);
}

/* Callers walk their sessions also when there is no memory for an answer. */
static void
test_an_answer_without_memory(void **state)
{
    const size_t much = (size_t)1 << 60;
    struct ws_frame *f = frame_of_bytes("", 0);

    (void)state;
    open_polling();
    poll(&q, last->id);
    settings.max_queue = 2 * much;
    f->len = much;
    assert_int_equal(session_send(last, f, 0), 0);
    assert_int_equal(session_send(last, f, 0), -1);
    assert_int_equal(q.status, 503);
    assert_string_equal(noted(), "");
    assert_int_equal(engine_sessions(e), 0);
    wait_ms(0);
    assert_string_equal(noted(), "close:transport error");
    ws_frame_let_go(&f);
}

/* The socket took a byte of it: the queue has it no more. */
static void
test_what_is_half_sent_is_held(void **state)
{
    struct ws_frame *f = frame_of("4a");

    (void)state;
    open_websocket();
    assert_int_equal(session_send(last, f, 0), 0);
    assert_int_equal(session_queued(last), 0);
    assert_false(session_holds(last, f));
    assert_true(session_is_idle(last));
    adopted->part = f;
    assert_true(session_holds(last, f));
    assert_false(session_is_idle(last));
    ws_frame_let_go(&f);
    ws_ends(&adopted, WS_NONE);
}

/* ---- ends ---- */

static void
test_a_close_waits_for_the_next_poll(void **state)
{
    const char *sid = open_polling();

    (void)state;
    send_text(last, "4bye", 0);
    session_close(last, SESSION_SERVER_CLOSED);
    assert_string_equal(noted(), "close:server closed");
    assert_int_equal(engine_sessions(e), 0);
    assert_null(engine_find(e, str_from(sid)));
    assert_int_equal(post(sid, "4late"), 200);
    assert_int_equal(upgrade(sid), ENGINE_SESSION_UNKNOWN);
    wait_ms(29999);
    poll(&q, sid);
    is(200, "4bye\x1e"
            "1");
    assert_string_equal(noted(), "");
    is_unknown(sid);
}

static void
test_no_poll_comes(void **state)
{
    const char *sid = open_polling();

    (void)state;
    session_close(last, SESSION_SERVER_CLOSED);
    wait_ms(30000);
    is_unknown(sid);
    assert_string_equal(noted(), "close:server closed");
}

/* Ends that the client is to blame for take nothing more out. */
static void
test_ends_at_once(void **state)
{
    static const enum session_end ends[] = { SESSION_CLIENT_CLOSED,
                                             SESSION_TRANSPORT_LOST,
                                             SESSION_PING_TIMEOUT,
                                             SESSION_PARSE_ERROR };

    (void)state;
    for (int i = 0; i < 4; i++) {
        const char *sid = open_polling();

        send_text(last, "4a", 0);
        session_close(last, ends[i]);
        is_unknown(sid);
        open_websocket();
        adopted->room = 0;
        send_text(last, "4a", 0);
        session_close(last, ends[i]);
        assert_int_not_equal(adopted->code, 0);
        ws_ends(&adopted, WS_NORMAL);
    }
}

static void
test_a_waiting_poll_is_told(void **state)
{
    static const enum session_end ends[] = {
        SESSION_NOT_JOINED, SESSION_SERVER_CLOSED, SESSION_KICKED,
        SESSION_ENDPOINT_GONE, SESSION_STOPPING
    };

    (void)state;
    for (int i = 0; i < 5; i++) {
        const char *sid = open_polling();

        poll(&q, sid);
        session_close(last, ends[i]);
        is(200, "1");
        session_close(last, ends[i]);
        is_unknown(sid);
    }
}

static void
test_codes_of_the_close(void **state)
{
    static const unsigned codes[SESSION_ENDS] = {
        [SESSION_CLIENT_CLOSED] = WS_NORMAL,
        [SESSION_TRANSPORT_LOST] = WS_NORMAL,
        [SESSION_PING_TIMEOUT] = WS_POLICY,
        [SESSION_PARSE_ERROR] = WS_PROTOCOL,
        [SESSION_TOO_SLOW] = WS_POLICY,
        [SESSION_NOT_JOINED] = WS_POLICY,
        [SESSION_SERVER_CLOSED] = WS_NORMAL,
        [SESSION_KICKED] = WS_NORMAL,
        [SESSION_REFUSED] = WS_POLICY,
        [SESSION_ENDPOINT_GONE] = WS_GOING_AWAY,
        [SESSION_STOPPING] = WS_GOING_AWAY,
    };

    (void)state;
    for (enum session_end why = 0; why < SESSION_ENDS; why++) {
        open_websocket();
        session_close(last, why);
        assert_int_equal(adopted->code, codes[why]);
        ws_ends(&adopted, codes[why]);
        assert_non_null(session_end_text(why));
    }
}

/* ---- within callbacks ---- */

static void
close_it(struct session *s)
{
    session_close(s, SESSION_REFUSED);
}

static void
test_on_open_may_end_it(void **state)
{
    static const struct engine_protocol closing = { .on_open = close_it,
                                                    .on_close = note_close };
    struct engine_request r = request_of("GET", "");

    (void)state;
    r.protocol = &closing;
    ask(&q, &r);
    is(200, "1");
    assert_string_equal(noted(), "close:too many sessions");
    assert_int_equal(engine_sessions(e), 0);
}

static void
try_to_send(struct session *s, enum session_end why)
{
    assert_int_equal(send_text(s, "4a", 0), -1);
    session_close(s, why);
    note_close(s, why);
}

static void
test_on_close_cannot_send(void **state)
{
    static const struct engine_protocol sending = { .on_close = try_to_send };
    struct engine_request r = request_of("GET", "");

    (void)state;
    r.protocol = &sending;
    ask(&q, &r);
    r.query.sid = str_from(q.x.session->id);
    r.method = STR("POST");
    r.body = STR("1");
    ask(&q, &r);
    is(200, "ok");
    assert_string_equal(noted(), "close:transport close");
}

static void
test_a_protocol_without_handlers(void **state)
{
    static const struct engine_protocol none = { .on_open = NULL };
    struct engine_request r = request_of("GET", "");

    (void)state;
    r.protocol = &none;
    ask(&q, &r);
    r.query.sid = str_from(q.x.session->id);
    r.method = STR("POST");
    r.body = STR("4a\x1e"
                 "bQUJD\x1e"
                 "1");
    ask(&q, &r);
    is(200, "ok");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_heartbeat_of_polling),
        TEST(test_a_session_keeps_the_times_that_its_client_was_told),
        TEST(test_heartbeat_of_a_websocket),
        TEST(test_the_timer_needs_no_poll),
        TEST(test_a_poll_waits_at_the_timeout),
        TEST(test_a_ping_overtakes_what_waits),
        TEST(test_a_pong_that_nobody_asked_for),
        TEST(test_a_ping_needs_no_room),
        TEST(test_too_slow),
        TEST(test_a_slow_websocket),
        TEST(test_base64_counts),
        TEST(test_the_connection_ends_before_the_slow_end),
        TEST(test_slow_and_closed),
        TEST(test_a_key_replaces),
        TEST(test_what_is_held),
        TEST(test_what_is_half_sent_is_held),
#ifndef __SANITIZE_ADDRESS__ /* it ends the process instead */
        TEST(test_an_answer_without_memory),
#endif
        TEST(test_a_close_waits_for_the_next_poll),
        TEST(test_no_poll_comes),
        TEST(test_ends_at_once),
        TEST(test_a_waiting_poll_is_told),
        TEST(test_codes_of_the_close),
        TEST(test_on_open_may_end_it),
        TEST(test_on_close_cannot_send),
        TEST(test_a_protocol_without_handlers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

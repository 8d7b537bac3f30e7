/*
 * Engine.IO: the upgrade from polling to WebSocket, and its races.
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

static const char *
begin(void)
{
    const char *sid = open_polling();

    assert_int_equal(upgrade(sid), ENGINE_OK);
    return sid;
}

static void
is(int status, const char *body)
{
    assert_int_equal(q.status, status);
    assert_string_equal(q.body, body);
}

/* The session goes on by polling, and may be upgraded again. */
static void
goes_on(const char *sid)
{
    assert_string_equal(noted(), "");
    send_text(last, "4on", 0);
    poll(&q, sid);
    is(200, "4on");
    assert_int_equal(post(sid, "4x"), 200);
    assert_string_equal(noted(), "4:x");
    assert_int_equal(upgrade(sid), ENGINE_OK);
    ws_says(adopted, "2probe");
    ws_says(adopted, "5");
    assert_true(session_is_websocket(last));
    session_close(last, SESSION_SERVER_CLOSED);
    ws_ends(&adopted, WS_NORMAL);
    noted();
}

static void
test_upgrade(void **state)
{
    const char *sid = begin();

    (void)state;
    assert_string_equal(ws_sent(adopted), "");
    ws_says(adopted, "2probe");
    assert_string_equal(ws_sent(adopted), "3probe");
    assert_false(session_is_websocket(last));
    ws_says(adopted, "5");
    assert_true(session_is_websocket(last));
    assert_string_equal(ws_sent(adopted), "");
    poll(&q, sid);
    is(400, "{\"code\":3,\"message\":\"Bad request\"}");
    assert_int_equal(post(sid, "4a"), 400);
    ws_says(adopted, "4a");
    send_text(last, "4b", 0);
    assert_string_equal(noted(), "4:a");
    assert_string_equal(ws_sent(adopted), "4b");
    ws_ends(&adopted, WS_NONE);
    assert_string_equal(noted(), "close:transport close");
    poll(&q, sid);
    is(400, "{\"code\":1,\"message\":\"Session ID unknown\"}");
}

/* A client says all of it at once, and polls. */
static void
test_a_poll_right_behind_the_upgrade(void **state)
{
    const char *sid = begin();

    (void)state;
    adopted->coming[0] = "2probe";
    adopted->coming[1] = "5";
    poll(&q, sid);
    is(400, "{\"code\":3,\"message\":\"Bad request\"}");
    assert_true(session_is_websocket(last));
    ws_ends(&adopted, WS_NONE);
    assert_string_equal(noted(), "close:transport close");
}

static void
test_a_waiting_poll_gets_a_noop(void **state)
{
    const char *sid = begin();

    (void)state;
    poll(&q, sid);
    wait_ms(200);
    assert_int_equal(q.status, 0); /* no probe yet */
    ws_says(adopted, "2probe");
    wait_ms(0);
    is(200, "6");
    for (int i = 0; i < 3; i++) { /* the client has not seen "3probe" yet */
        poll(&q, sid);
        wait_ms(99);
        assert_int_equal(q.status, 0);
        wait_ms(1);
        is(200, "6");
    }
    wait_ms(500);
    poll(&q, sid);
    wait_ms(0);
    is(200, "6");
    ws_says(adopted, "5");
    ws_ends(&adopted, WS_NONE);
}

/* Packets that come between go to the one who waits for them, once. */
static void
test_messages_during_the_upgrade(void **state)
{
    const char *sid = begin();

    (void)state;
    send_text(last, "4a", 0);
    ws_says(adopted, "2probe");
    send_text(last, "4b", 0);
    poll(&q, sid);
    is(200, "4a\x1e"
            "4b");
    poll(&q, sid);
    send_text(last, "4c", 0);
    wait_ms(0);
    is(200, "4c");
    assert_int_equal(post(sid, "4in"), 200);
    assert_string_equal(noted(), "4:in");
    send_text(last, "4d", 0);
    send_bytes(last, "e", 1);
    assert_string_equal(ws_sent(adopted), "3probe");
    ws_says(adopted, "5");
    assert_string_equal(ws_sent(adopted), "4d|<e>");
    ws_ends(&adopted, WS_NONE);
}

static void
test_a_poll_that_waits_at_the_switch(void **state)
{
    const char *sid = begin();

    (void)state;
    ws_says(adopted, "2probe");
    wait_ms(10);
    poll(&q, sid);
    wait_ms(0);
    is(200, "6");
    poll(&q, sid);
    send_text(last, "4a", 0); /* the answer would come at the turn's end */
    ws_says(adopted, "5");
    is(200, "6");
    assert_string_equal(ws_sent(adopted), "3probe|4a");
    wait_ms(0);
    ws_ends(&adopted, WS_NONE);
}

static void
test_a_switch_to_a_full_connection(void **state)
{
    (void)state;
    begin();
    ws_says(adopted, "2probe");
    ws_sent(adopted);
    send_text(last, "4a", 0);
    send_bytes(last,
               "a longer message than sixty-four bytes, which counts "
               "differently",
               63);
    assert_int_equal(session_queued(last), 64 + 1 + 84 + 1);
    adopted->room = 0;
    ws_says(adopted, "5");
    assert_int_equal(session_queued(last), 64 + 65);
    send_text(last, "4b", 0);
    ws_gets_room(adopted, 9);
    assert_string_equal(ws_sent(adopted),
                        "4a|<a longer message than sixty-four bytes, which "
                        "counts differentl>|4b");
    ws_ends(&adopted, WS_NONE);
}

static void
test_text_alone_after_the_upgrade(void **state)
{
    static const struct ws_handshake h = { .key = { "", 0 } };
    struct engine_request r = request_of("GET", open_polling());

    (void)state;
    r.query.transport = STR("websocket");
    r.query.base64 = true;
    assert_int_equal(engine_upgrade(e, &r, NULL, &h), ENGINE_OK);
    ws_says(adopted, "2probe");
    send_bytes(last, "two", 3);
    ws_says(adopted, "5");
    assert_string_equal(ws_sent(adopted), "3probe|bdHdv");
    ws_ends(&adopted, WS_NONE);
}

static void
is_no_probe(const char *first, const char *second, bool binary)
{
    const char *sid = begin();
    struct ws *w = adopted;

    w->handlers->on_message(w->arg, str_from(first), binary);
    if (second != NULL) {
        assert_int_equal(w->code, 0);
        ws_says(w, second);
    }
    assert_int_equal(w->code, WS_NORMAL);
    ws_says(w, "2probe"); /* was on its way */
    ws_says(w, "5");
    goes_on(sid);
    ws_ends(&w, WS_NORMAL);
}

static void
test_other_first_packets(void **state)
{
    (void)state;
    is_no_probe("5", NULL, false); /* before the probe */
    is_no_probe("2", NULL, false);
    is_no_probe("2probes", NULL, false);
    is_no_probe("4hello", NULL, false);
    is_no_probe("", NULL, false);
    is_no_probe("2probe", NULL, true);
    is_no_probe("2probe", "4hello", false);
    is_no_probe("2probe", "50", false);
}

static void
test_a_repeated_probe(void **state)
{
    (void)state;
    begin();
    ws_says(adopted, "2probe");
    ws_says(adopted, "2probe");
    assert_string_equal(ws_sent(adopted), "3probe|3probe");
    ws_says(adopted, "5");
    assert_true(session_is_websocket(last));
    ws_ends(&adopted, WS_NONE);
}

static void
test_no_upgrade_in_time(void **state)
{
    const char *sid = begin();
    struct ws *w = adopted;

    (void)state;
    ws_says(w, "2probe");
    wait_ms(9999);
    assert_int_equal(w->code, 0);
    wait_ms(1);
    assert_int_equal(w->code, WS_NORMAL);
    ws_ends(&w, WS_NORMAL);
    goes_on(sid);
}

static void
test_nothing_in_time(void **state)
{
    const char *sid = begin();
    struct ws *w = adopted;

    (void)state;
    wait_ms(10000);
    assert_int_equal(w->code, WS_NORMAL);
    ws_ends(&w, WS_NORMAL);
    goes_on(sid);
}

static void
test_the_websocket_breaks(void **state)
{
    const char *sid = begin();

    (void)state;
    ws_says(adopted, "2probe");
    ws_ends(&adopted, WS_ABNORMAL);
    wait_ms(10000);
    goes_on(sid);
}

static void
test_no_room_for_the_answer(void **state)
{
    const char *sid = begin();
    struct ws *w = adopted;

    (void)state;
    w->room = 0;
    ws_says(w, "2probe");
    assert_int_equal(w->code, WS_NORMAL);
    ws_ends(&w, WS_NORMAL);
    goes_on(sid);
}

static void
is_second(const char *sid)
{
    struct ws *first = adopted;

    assert_int_equal(upgrade(sid), ENGINE_OK);
    assert_ptr_not_equal(adopted, first);
    assert_int_equal(adopted->code, WS_POLICY);
    ws_says(adopted, "4a");
    ws_ends(&adopted, WS_POLICY);
    adopted = first;
    assert_int_equal(first->code, 0);
}

static void
test_a_second_websocket(void **state)
{
    const char *sid = begin();

    (void)state;
    is_second(sid);
    ws_says(adopted, "2probe");
    is_second(sid);
    ws_says(adopted, "5");
    is_second(sid);
    ws_says(adopted, "4a");
    assert_string_equal(noted(), "4:a");
    ws_ends(&adopted, WS_NONE);
    sid = open_websocket();
    is_second(sid);
    ws_ends(&adopted, WS_NONE);
}

static void
test_the_layer_below_has_no_room(void **state)
{
    const char *sid = open_polling();

    (void)state;
    adopt_fails = true;
    assert_int_equal(upgrade(sid), ENGINE_OK);
    adopt_fails = false;
    goes_on(sid);
}

static void
test_the_session_ends_before(void **state)
{
    const char *sid;

    (void)state;
    for (int i = 0; i < 2; i++) {
        sid = begin();
        if (i == 1) {
            ws_says(adopted, "2probe");
        }
        assert_int_equal(post(sid, "1"), 200);
        assert_string_equal(noted(), "close:transport close");
        assert_int_equal(adopted->code, WS_NORMAL);
        ws_says(adopted, "5");
        ws_ends(&adopted, WS_NORMAL);
    }
    begin();
    session_close(last, SESSION_KICKED);
    assert_int_equal(adopted->code, WS_NORMAL);
    ws_ends(&adopted, WS_NORMAL);
}

static void
test_it_is_slow_before(void **state)
{
    (void)state;
    begin();
    ws_says(adopted, "2probe");
    while (send_text(last, "4a", 0) == 0) {
    }
    ws_says(adopted, "5");
    wait_ms(0);
    assert_string_equal(noted(), "close:too slow");
    assert_int_equal(adopted->code, WS_NORMAL);
    ws_ends(&adopted, WS_NORMAL);
}

/* A ping that was sent by polling is answered on the WebSocket. */
static void
test_the_heartbeat_goes_along(void **state)
{
    const char *sid = open_polling();

    (void)state;
    wait_ms(25000);
    assert_int_equal(upgrade(sid), ENGINE_OK);
    ws_says(adopted, "2probe");
    ws_says(adopted, "5");
    assert_string_equal(ws_sent(adopted), "3probe|2");
    ws_says(adopted, "3");
    wait_ms(25000);
    assert_string_equal(ws_sent(adopted), "2");
    wait_ms(20000);
    assert_string_equal(noted(), "close:ping timeout");
    ws_ends(&adopted, WS_POLICY);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_upgrade),
        TEST(test_a_poll_right_behind_the_upgrade),
        TEST(test_a_waiting_poll_gets_a_noop),
        TEST(test_messages_during_the_upgrade),
        TEST(test_a_poll_that_waits_at_the_switch),
        TEST(test_a_switch_to_a_full_connection),
        TEST(test_text_alone_after_the_upgrade),
        TEST(test_other_first_packets),
        TEST(test_a_repeated_probe),
        TEST(test_no_upgrade_in_time),
        TEST(test_nothing_in_time),
        TEST(test_the_websocket_breaks),
        TEST(test_no_room_for_the_answer),
        TEST(test_a_second_websocket),
        TEST(test_the_layer_below_has_no_room),
        TEST(test_the_session_ends_before),
        TEST(test_it_is_slow_before),
        TEST(test_the_heartbeat_goes_along),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Engine.IO over WebSocket: sessions that begin there.
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

static void
test_opening(void **state)
{
    char expected[300];

    (void)state;
    assert_int_equal(upgrade(""), ENGINE_OK);
    snprintf(expected, sizeof(expected),
             "0{\"sid\":\"%s\",\"upgrades\":[],"
             "\"pingInterval\":25000,\"pingTimeout\":20000,"
             "\"maxPayload\":1000}",
             last->id);
    assert_string_equal(ws_sent(adopted), expected);
    assert_string_equal(noted(), "open");
    assert_int_equal(adopted->message_max, 1000);
    assert_false(adopted->deflate);
    assert_true(session_is_websocket(last));
    ws_ends(&adopted, WS_NONE);
}

static void
test_compression_where_it_is_allowed(void **state)
{
    (void)state;
    settings.deflate = true;
    open_websocket();
    assert_true(adopted->deflate);
    ws_ends(&adopted, WS_NONE);
}

static void
test_refused_openings(void **state)
{
    static const struct ws_handshake h = { .key = { "", 0 } };
    struct engine_request r = request_of("GET", "");

    (void)state;
    adopted = NULL;
    assert_int_equal(engine_upgrade(e, &r, NULL, &h), ENGINE_BAD_REQUEST);
    r.query.transport = STR("websocket");
    r.query.eio = STR("3");
    assert_int_equal(engine_upgrade(e, &r, NULL, &h), ENGINE_BAD_VERSION);
    r.query.eio = STR("4");
    r.method = STR("POST");
    assert_int_equal(engine_upgrade(e, &r, NULL, &h), ENGINE_BAD_METHOD);
    assert_int_equal(upgrade("nobody"), ENGINE_SESSION_UNKNOWN);
    settings.websocket = false;
    assert_int_equal(upgrade(""), ENGINE_TRANSPORT_UNKNOWN);
    assert_null(adopted);
    assert_int_equal(engine_sessions(e), 0);
}

static void
test_no_room_in_the_layer_below(void **state)
{
    const char *sid = open_polling();

    (void)state;
    host_is_full = true;
    adopted = NULL;
    assert_int_equal(upgrade(""), ENGINE_FULL);
    assert_int_equal(upgrade(sid), ENGINE_FULL);
    assert_null(adopted);
    assert_int_equal(engine_sessions(e), 1);
    assert_string_equal(noted(), "");
}

static void
test_the_client_goes_within_the_handshake(void **state)
{
    (void)state;
    adopt_fails = true;
    assert_int_equal(upgrade(""), ENGINE_OK); /* the connection is closed */
    assert_int_equal(engine_sessions(e), 0);
    assert_string_equal(noted(), "");
}

static void
test_messages(void **state)
{
    (void)state;
    open_websocket();
    ws_says(adopted, "4hello");
    adopted->handlers->on_message(adopted->arg, STR("\x01\x02"), true);
    adopted->handlers->on_message(adopted->arg, STR_NONE, true);
    ws_says(adopted, "bAQID");
    assert_string_equal(noted(), "4:hello <\x01\x02> <> <\x01\x02\x03>");
    send_text(last, "4a", 0);
    send_bytes(last, "two", 3);
    assert_string_equal(ws_sent(adopted), "4a|<two>");
    assert_int_equal(last->packets[METRIC_OUT], 3);
    ws_ends(&adopted, WS_NONE);
}

/* b64: the client takes text alone. */
static void
test_binary_as_text(void **state)
{
    static const struct ws_handshake h = { .key = { "", 0 } };
    struct engine_request r = request_of("GET", "");

    (void)state;
    r.query.transport = STR("websocket");
    r.query.base64 = true;
    assert_int_equal(engine_upgrade(e, &r, NULL, &h), ENGINE_OK);
    ws_sent(adopted);
    send_bytes(last, "two", 3);
    send_text(last, "4a", 0);
    assert_string_equal(ws_sent(adopted), "bdHdv|4a");
    adopted->room = 0;
    send_bytes(last, "four", 4);
    ws_gets_room(adopted, 1);
    assert_string_equal(ws_sent(adopted), "bZm91cg==");
    ws_ends(&adopted, WS_NONE);
}

/* Else what waits would stand for ever: nobody calls on_room. */
static void
test_binary_as_text_without_memory(void **state)
{
    static const struct ws_handshake h = { .key = { "", 0 } };
    struct engine_request r = request_of("GET", "");
    struct ws_frame *f = frame_of_bytes("two", 3);

    (void)state;
    r.query.transport = STR("websocket");
    r.query.base64 = true;
    for (int waits = 0; waits < 2; waits++) {
        assert_int_equal(engine_upgrade(e, &r, NULL, &h), ENGINE_OK);
        noted();
        if (waits) {
            adopted->room = 0;
            assert_int_equal(session_send(last, f, 0), 0);
            no_frames = true;
            ws_gets_room(adopted, 9);
        } else {
            no_frames = true;
            assert_int_equal(session_send(last, f, 0), -1);
        }
        no_frames = false;
        assert_int_equal(session_queued(last), 0);
        assert_string_equal(noted(), "");
        wait_ms(0);
        assert_string_equal(noted(), "close:transport error");
        ws_ends(&adopted, WS_NORMAL);
    }
    ws_frame_let_go(&f);
}

static void
test_what_waits_keeps_its_order(void **state)
{
    (void)state;
    open_websocket();
    adopted->room = 1;
    send_text(last, "4a", 0);
    send_text(last, "4b", 0);
    send_text(last, "4c", 0);
    assert_string_equal(ws_sent(adopted), "4a");
    assert_int_equal(session_queued(last), 2 * 64);
    adopted->room = 5; /* on_room comes later */
    send_text(last, "4d", 0);
    assert_string_equal(ws_sent(adopted), "");
    ws_gets_room(adopted, 2);
    assert_string_equal(ws_sent(adopted), "4b|4c");
    ws_gets_room(adopted, 9);
    assert_string_equal(ws_sent(adopted), "4d");
    assert_int_equal(session_queued(last), 0);
    send_text(last, "4e", 0);
    assert_string_equal(ws_sent(adopted), "4e");
    ws_ends(&adopted, WS_NONE);
}

static void
is_parse_error(const char *text)
{
    open_websocket();
    ws_says(adopted, text);
    assert_string_equal(noted(), "close:parse error");
    assert_int_equal(adopted->code, WS_PROTOCOL);
    ws_says(adopted, "4a"); /* was on its way */
    assert_string_equal(noted(), "");
    ws_ends(&adopted, WS_PROTOCOL);
    assert_string_equal(noted(), "");
}

static void
test_parse_errors(void **state)
{
    (void)state;
    is_parse_error("");
    is_parse_error("abc");
    is_parse_error("7");
    is_parse_error("2");
    is_parse_error("2probe");
    is_parse_error("b*");
}

static void
test_packets_without_a_meaning_here(void **state)
{
    (void)state;
    open_websocket();
    ws_says(adopted, "3");
    ws_says(adopted, "5");
    ws_says(adopted, "6");
    ws_says(adopted, "0");
    ws_says(adopted, "4a");
    assert_string_equal(noted(), "4:a");
    ws_ends(&adopted, WS_NONE);
}

static void
test_the_client_closes(void **state)
{
    (void)state;
    open_websocket();
    ws_says(adopted, "1");
    assert_string_equal(noted(), "close:transport close");
    assert_int_equal(adopted->code, WS_NORMAL);
    wait_ms(0);
    ws_ends(&adopted, WS_NORMAL);
}

static void
ends_as(unsigned code, const char *why)
{
    open_websocket();
    ws_ends(&adopted, code);
    assert_string_equal(noted(), why);
    assert_int_equal(engine_sessions(e), 0);
}

static void
test_ends_of_the_connection(void **state)
{
    (void)state;
    ends_as(WS_NONE, "close:transport close");
    ends_as(WS_NORMAL, "close:transport close");
    ends_as(WS_GOING_AWAY, "close:transport close");
    ends_as(WS_ABNORMAL, "close:transport error");
    ends_as(WS_INTERNAL, "close:transport error");
    ends_as(WS_TRY_LATER, "close:transport error");
    ends_as(WS_TOO_BIG, "close:parse error");
    ends_as(WS_NOT_UTF8, "close:parse error");
    ends_as(WS_PROTOCOL, "close:parse error");
}

static void
test_a_handler_ends_it(void **state)
{
    (void)state;
    open_websocket();
    send_text(last, "4bye", 0);
    session_close(last, SESSION_SERVER_CLOSED);
    assert_string_equal(noted(), "close:server closed");
    assert_string_equal(ws_sent(adopted), "4bye");
    assert_int_equal(adopted->code, WS_NORMAL);
    ws_ends(&adopted, WS_NORMAL);
    assert_string_equal(noted(), "");
}

/* What waits is sent before the close. */
static void
test_the_end_waits_for_room(void **state)
{
    (void)state;
    open_websocket();
    adopted->room = 0;
    send_text(last, "4a", 0);
    send_text(last, "4b", 0);
    session_close(last, SESSION_KICKED);
    assert_string_equal(noted(), "close:kicked");
    assert_int_equal(engine_sessions(e), 0);
    ws_gets_room(adopted, 1);
    assert_int_equal(adopted->code, 0);
    wait_ms(4999);
    assert_int_equal(adopted->code, 0);
    ws_gets_room(adopted, 5);
    assert_string_equal(ws_sent(adopted), "4a|4b");
    assert_int_equal(adopted->code, WS_NORMAL);
    wait_ms(10000);
    ws_ends(&adopted, WS_NORMAL);
}

static void
test_the_end_does_not_wait_for_ever(void **state)
{
    (void)state;
    open_websocket();
    adopted->room = 0;
    send_text(last, "4a", 0);
    session_close(last, SESSION_STOPPING);
    wait_ms(4999);
    assert_int_equal(adopted->code, 0);
    wait_ms(1);
    assert_int_equal(adopted->code, WS_GOING_AWAY);
    assert_int_equal(frames_alive, 2); /* the engine's own */
    ws_ends(&adopted, WS_GOING_AWAY);
}

static void
test_the_connection_breaks_while_it_ends(void **state)
{
    (void)state;
    open_websocket();
    adopted->room = 0;
    send_text(last, "4a", 0);
    session_close(last, SESSION_STOPPING);
    ws_ends(&adopted, WS_ABNORMAL);
    assert_string_equal(noted(), "close:server shutting down");
    wait_ms(5000);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_opening),
        TEST(test_compression_where_it_is_allowed),
        TEST(test_refused_openings),
        TEST(test_no_room_in_the_layer_below),
        TEST(test_the_client_goes_within_the_handshake),
        TEST(test_messages),
        TEST(test_binary_as_text),
        TEST(test_binary_as_text_without_memory),
        TEST(test_what_waits_keeps_its_order),
        TEST(test_parse_errors),
        TEST(test_packets_without_a_meaning_here),
        TEST(test_the_client_closes),
        TEST(test_ends_of_the_connection),
        TEST(test_a_handler_ends_it),
        TEST(test_the_end_waits_for_room),
        TEST(test_the_end_does_not_wait_for_ever),
        TEST(test_the_connection_breaks_while_it_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

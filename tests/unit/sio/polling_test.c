/*
 * Engine.IO over polling.
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

#define UNKNOWN "{\"code\":1,\"message\":\"Session ID unknown\"}"
#define BAD "{\"code\":3,\"message\":\"Bad request\"}"

static void
is(const struct client_request *q, int status, const char *body)
{
    assert_int_equal(q->status, status);
    assert_string_equal(q->body, body);
}

static void
is_unknown(const char *sid)
{
    static struct client_request q;

    poll(&q, sid);
    is(&q, 400, UNKNOWN);
    assert_string_equal(q.type, "application/json");
    assert_int_equal(post(sid, "4a"), 400);
    assert_int_equal(upgrade(sid), ENGINE_SESSION_UNKNOWN);
}

static void
test_opening(void **state)
{
    static struct client_request q;
    char expected[300];

    (void)state;
    poll(&q, "");
    snprintf(expected, sizeof(expected),
             "0{\"sid\":\"%s\",\"upgrades\":[\"websocket\"],"
             "\"pingInterval\":25000,\"pingTimeout\":20000,"
             "\"maxPayload\":1000}",
             last->id);
    is(&q, 200, expected);
    assert_string_equal(q.type, "text/plain; charset=UTF-8");
    assert_true(q.x.opened && q.x.session == last);
    assert_string_equal(noted(), "open");
    assert_int_equal(engine_sessions(e), 1);
    settings.websocket = false;
    poll(&q, "");
    assert_non_null(strstr(q.body, "\"upgrades\":[]"));
}

static void
test_refused_openings(void **state)
{
    struct engine_request r = request_of("GET", "");
    static struct client_request q;

    (void)state;
    r.query.eio = STR("3");
    ask(&q, &r);
    is(&q, 400, "{\"code\":5,\"message\":\"Unsupported protocol version\"}");
    r = request_of("POST", "");
    ask(&q, &r);
    is(&q, 400, "{\"code\":2,\"message\":\"Bad handshake method\"}");
    r = request_of("GET", "");
    r.query.transport = STR("websocket");
    ask(&q, &r);
    is(&q, 400, BAD);
    settings.polling = false;
    poll(&q, "");
    is(&q, 400, "{\"code\":0,\"message\":\"Transport unknown\"}");
    assert_int_equal(engine_sessions(e), 0);
    assert_string_equal(noted(), "");
}

static void
test_messages_of_the_client(void **state)
{
    const char *sid = open_polling();

    (void)state;
    assert_int_equal(post(sid, "4one"), 200);
    assert_int_equal(post(sid, "4two\x1e"
                               "bAQID\x1e"
                               "4\x1e"
                               "4\xe2\x82\xac"),
                     200);
    assert_string_equal(noted(),
                        "4:one 4:two <\x01\x02\x03> 4: 4:\xe2\x82\xac");
    assert_int_equal(last->packets[METRIC_IN], 5);
    assert_int_equal(last->bytes[METRIC_IN], 4 + 4 + 5 + 1 + 4);
}

static void
test_an_answer_has_all_that_waits(void **state)
{
    const char *sid = open_polling();
    static struct client_request q;

    (void)state;
    send_text(last, "4a", 0);
    send_bytes(last, "two", 3);
    send_text(last, "4c", 0);
    poll(&q, sid);
    is(&q, 200,
       "4a\x1e"
       "bdHdv\x1e"
       "4c");
    assert_int_equal(session_queued(last), 0);
    send_bytes(last, "", 0);
    poll(&q, sid);
    is(&q, 200, "b");
}

static void
test_a_poll_waits(void **state)
{
    const char *sid = open_polling();
    static struct client_request q;

    (void)state;
    poll(&q, sid);
    assert_int_equal(q.status, 0);
    assert_true(q.x.session == last);
    send_text(last, "4a", 0);
    send_text(last, "4b", 0);
    wait_ms(0);
    is(&q, 200,
       "4a\x1e"
       "4b");
    assert_null(q.x.session);
}

static void
test_a_shared_frame_is_never_copied(void **state)
{
    struct ws_frame *f = frame_of("4news");
    static struct client_request q[20];
    size_t made;

    (void)state;
    for (int i = 0; i < 20; i++) {
        poll(&q[i], open_polling());
    }
    made = frames_made;
    for (int i = 0; i < 20; i++) {
        const char *sid = open_polling();

        (void)sid;
        session_send(last, f, 0);
    }
    assert_int_equal(frames_made - made, 20); /* open packets */
    assert_int_equal(f->holders, 21);
    ws_frame_let_go(&f);
}

static void
test_long_queues_take_several_answers(void **state)
{
    static char text[100 * 1024];
    const char *sid;
    static struct client_request q;
    size_t lengths[3];

    (void)state;
    settings.max_queue = 2000000;
    sid = open_polling();
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    for (char c = 'a'; c <= 'g'; c++) {
        text[0] = '4';
        text[1] = c;
        send_text(last, text, 0);
    }
    for (int i = 0; i < 3; i++) {
        poll(&q, sid);
        assert_int_equal(q.status, 200);
        assert_int_equal(q.body[1], "ace"[i]);
        lengths[i] = q.len;
        assert_true(q.len <= (size_t)256 * 1024);
    }
    assert_int_equal(lengths[0], 2 * sizeof(text) - 1);
    poll(&q, sid);
    assert_int_equal(q.body[1], 'g');
    poll(&q, sid);
    assert_int_equal(q.status, 0);
}

static void
test_a_larger_packet_goes_alone(void **state)
{
    static char text[400 * 1024];
    const char *sid;
    static struct client_request q;

    (void)state;
    settings.max_queue = 2000000;
    sid = open_polling();
    memset(text, '4', sizeof(text) - 1);
    send_text(last, "4a", 0);
    send_text(last, text, 0);
    send_bytes(last, text, sizeof(text));
    send_text(last, "4b", 0);
    poll(&q, sid);
    is(&q, 200, "4a");
    poll(&q, sid);
    assert_int_equal(q.len, sizeof(text) - 1);
    poll(&q, sid);
    assert_int_equal(q.len, 1 + (sizeof(text) + 2) / 3 * 4);
    poll(&q, sid);
    is(&q, 200, "4b");
}

static void
test_a_second_poll_ends_it(void **state)
{
    const char *sid = open_polling();
    static struct client_request first, second;

    (void)state;
    poll(&first, sid);
    poll(&second, sid);
    is(&first, 200, "1");
    is(&second, 400, BAD);
    assert_string_equal(noted(), "close:parse error");
    is_unknown(sid);
}

static void
test_a_cancelled_poll_ends_it(void **state)
{
    const char *sid = open_polling();
    static struct client_request q;

    (void)state;
    poll(&q, sid);
    engine_poll_gone(e, &q.x);
    assert_int_equal(q.status, 0);
    assert_string_equal(noted(), "close:transport error");
    is_unknown(sid);
    engine_poll_gone(e, &q.x); /* one that nobody holds */
}

static void
test_the_client_closes(void **state)
{
    const char *sid = open_polling();
    static struct client_request q;

    (void)state;
    poll(&q, sid);
    assert_int_equal(post(sid, "4a\x1e"
                               "1\x1e"
                               "4b"),
                     200);
    is(&q, 200, "6");
    assert_string_equal(noted(), "4:a close:transport close");
    is_unknown(sid);
}

static void
is_parse_error(struct str body, const char *before)
{
    const char *sid = open_polling();
    static struct client_request q;
    char expected[100];

    poll(&q, sid);
    assert_int_equal(post_bytes(sid, body), 400);
    is(&q, 200, "1");
    snprintf(expected, sizeof(expected), "%sclose:parse error", before);
    assert_string_equal(noted(), expected);
    is_unknown(sid);
}

static void
test_parse_errors(void **state)
{
    (void)state;
    is_parse_error(STR_NONE, "");
    is_parse_error(STR("abc"), "");
    is_parse_error(STR("7"), "");
    is_parse_error(STR("\x1e"), "");
    is_parse_error(STR("4a\x1e"), "4:a ");
    is_parse_error(STR("4a\x1e"
                       "x\x1e"
                       "4b"),
                   "4:a ");
    is_parse_error(STR("b*"), "");
    is_parse_error(STR("bQQ"), "");
    is_parse_error(STR("4\xff"), ""); /* no UTF-8 */
    is_parse_error(STR("4\xe2\x82"), "");
    is_parse_error(STR("2"), ""); /* the server asks */
    is_parse_error(STR("2probe"), "");
}

static void
test_packets_without_a_meaning_here(void **state)
{
    const char *sid = open_polling();

    (void)state;
    assert_int_equal(post(sid, "0\x1e"
                               "5\x1e"
                               "6\x1e"
                               "3\x1e"
                               "3probe\x1e"
                               "4a"),
                     200);
    assert_string_equal(noted(), "4:a");
}

static void
test_bodies_of_revision_3(void **state)
{
    static const char *const types[] = { "application/octet-stream",
                                         "Application/Octet-Stream; x=y" };
    static struct client_request q;

    (void)state;
    for (int i = 0; i < 2; i++) {
        const char *sid = open_polling();
        struct engine_request r = request_of("POST", sid);

        r.content_type = str_from(types[i]);
        r.body = STR("4a");
        ask(&q, &r);
        is(&q, 400, BAD);
        assert_string_equal(noted(), "close:parse error");
        is_unknown(sid);
    }
}

static void
test_a_body_has_a_bound(void **state)
{
    static char body[1002];
    const char *sid = open_polling();
    static struct client_request q;

    (void)state;
    memset(body, '4', 1001);
    assert_int_equal(post(sid, body), 413);
    assert_string_equal(noted(), "");
    poll(&q, sid);
    assert_int_equal(q.status, 0);
    body[1000] = '\0';
    assert_int_equal(post(sid, body), 200);
}

static void
test_other_methods(void **state)
{
    static const char *const others[] = { "HEAD", "OPTIONS", "PUT", "DELETE" };
    const char *sid = open_polling();
    static struct client_request q;

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct engine_request r = request_of(others[i], sid);

        ask(&q, &r);
        is(&q, 400, BAD);
        r = request_of(others[i], "nobody");
        ask(&q, &r);
        is(&q, 400, UNKNOWN);
    }
    assert_int_equal(engine_sessions(e), 1);
}

static void
test_another_transport(void **state)
{
    const char *sid = open_polling();
    struct engine_request r = request_of("GET", sid);
    static struct client_request q;

    (void)state;
    r.query.transport = STR("websocket");
    ask(&q, &r);
    is(&q, 400, BAD);
    r.query.transport = STR("smoke");
    ask(&q, &r);
    is(&q, 400, "{\"code\":0,\"message\":\"Transport unknown\"}");
    sid = open_websocket();
    poll(&q, sid);
    is(&q, 400, BAD);
    assert_int_equal(post(sid, "4a"), 400);
    assert_string_equal(noted(), "");
    assert_int_equal(engine_sessions(e), 2);
    ws_ends(&adopted, WS_NONE);
}

/* The filters of one endpoint, or of one user, say nothing of others. */
static void
test_sessions_of_others(void **state)
{
    const char *sid = open_polling();
    struct engine_request r = request_of("GET", sid);
    static struct client_request q;

    (void)state;
    r.endpoint = &settings;
    ask(&q, &r);
    is(&q, 400, UNKNOWN);
    r = request_of("GET", sid);
    r.client.user = STR("eve");
    ask(&q, &r);
    is(&q, 400, UNKNOWN);
}

static void
test_many_at_once_do_not_make_a_client_slow(void **state)
{
    const char *sid = open_polling();
    static struct client_request q;

    (void)state;
    settings.max_queue = 640;
    poll(&q, sid);
    for (int i = 0; i < 15; i++) {
        assert_int_equal(send_text(last, "4a", 0), 0);
    }
    assert_int_equal(q.status, 200);
    wait_ms(0);
    assert_string_equal(noted(), "");
    poll(&q, sid);
    assert_int_equal(q.len, 5 * 3 - 1);
}

/* A handler that sends and ends within a payload. */
static void
end_it(struct session *s, struct str data, bool binary)
{
    (void)data;
    (void)binary;
    send_text(s, "4bye", 0);
    session_close(s, SESSION_SERVER_CLOSED);
    assert_int_equal(send_text(s, "4more", 0), -1);
}

static void
test_a_handler_ends_it(void **state)
{
    static const struct engine_protocol ending = { .on_open = note_open,
                                                   .on_message = end_it };
    struct engine_request r = request_of("GET", "");
    static struct client_request q, p;
    char sid[ENGINE_ID + 1];

    (void)state;
    r.protocol = &ending;
    ask(&q, &r);
    str_copy(sid, sizeof(sid), str_from(last->id));
    r.query.sid = str_from(sid);
    ask(&q, &r);
    r.method = STR("POST");
    r.body = STR("4a\x1e"
                 "4b");
    ask(&p, &r);
    is(&p, 200, "ok");
    assert_string_equal(p.type, "text/html");
    is(&q, 200,
       "4bye\x1e"
       "1");
    is_unknown(sid);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_opening),
        TEST(test_refused_openings),
        TEST(test_messages_of_the_client),
        TEST(test_an_answer_has_all_that_waits),
        TEST(test_a_poll_waits),
        TEST(test_a_shared_frame_is_never_copied),
        TEST(test_long_queues_take_several_answers),
        TEST(test_a_larger_packet_goes_alone),
        TEST(test_a_second_poll_ends_it),
        TEST(test_a_cancelled_poll_ends_it),
        TEST(test_the_client_closes),
        TEST(test_parse_errors),
        TEST(test_packets_without_a_meaning_here),
        TEST(test_bodies_of_revision_3),
        TEST(test_a_body_has_a_bound),
        TEST(test_other_methods),
        TEST(test_another_transport),
        TEST(test_sessions_of_others),
        TEST(test_many_at_once_do_not_make_a_client_slow),
        TEST(test_a_handler_ends_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

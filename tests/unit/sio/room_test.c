/*
 * Queues that are full, and sessions that have room again.
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
drop_group(struct session *s)
{
    note("full", STR_NONE, "");
    session_drop(s, 1);
}

static void
hear_of_room(struct session *s)
{
    note("room", STR_NONE, "");
    send_text(s, "4again", 0);
}

static const struct engine_protocol dropping = {
    .on_open = note_open,
    .on_close = note_close,
    .on_full = drop_group,
    .on_room = hear_of_room,
};

static int
start(void **state)
{
    spoken = &dropping;
    return set_up(state);
}

/* ---- a group that can be told again ---- */

static int
offer(const char *text, uint32_t bits)
{
    const struct engine_mark mark = { .group = 1, .bits = bits };
    struct ws_frame *f = frame_of(text);
    int result = session_offer(last, f, &mark);

    ws_frame_let_go(&f);
    return result;
}

static void
test_an_offer_without_room_changes_nothing(void **state)
{
    (void)state;
    settings.max_queue = 128;
    open_polling();
    assert_int_equal(offer("4a", 1), 0);
    assert_int_equal(send_text(last, "4b", 0), 0);
    assert_int_equal(offer("4c", 4), 1);
    wait_ms(0);
    assert_string_equal(noted(), "");
    assert_int_equal(session_drop(last, 1), 1);
    assert_int_equal(session_queued(last), 64);
    assert_int_equal(offer("4d", 2), 0);
    assert_string_equal(poll(&q, last->id), "4b\x1e"
                                            "4d");
    assert_int_equal(session_drop(last, 1), 0);
    session_close(last, SESSION_KICKED);
    assert_int_equal(offer("4e", 2), -1);
}

static void
test_what_cannot_be_told_again_has_the_room(void **state)
{
    (void)state;
    settings.max_queue = 128;
    open_polling();
    offer("4a", 1);
    offer("4b", 1);
    assert_int_equal(send_text(last, "4c", 0), 0);
    assert_string_equal(noted(), "full");
    assert_int_equal(send_text(last, "4d", 0), 0);
    assert_int_equal(send_text(last, "4e", 0), -1);
    wait_ms(0);
    assert_string_equal(noted(), "full close:too slow");
}

/* ---- room ---- */

static void
test_a_poll_has_room_when_nothing_waits(void **state)
{
    const char *sid = open_polling();

    (void)state;
    send_text(last, "4a", 0);
    session_await_room(last);
    wait_ms(0);
    assert_string_equal(poll(&q, sid), "4a");
    assert_string_equal(noted(), ""); /* this one has its answer */
    poll(&q, sid);
    assert_string_equal(noted(), "room");
    wait_ms(0);
    assert_string_equal(q.body, "4again");
    poll(&q, sid);
    assert_string_equal(noted(), ""); /* once */
    session_await_room(last);
    assert_string_equal(noted(), ""); /* not at once */
    wait_ms(0);
    assert_string_equal(noted(), "room");
}

/* Neither what waits nor a half of a frame is left. */
static void
test_a_websocket_has_room_when_all_is_taken(void **state)
{
    struct ws_frame *f = frame_of("4half");

    (void)state;
    open_websocket();
    adopted->room = 0;
    adopted->part = f;
    send_text(last, "4a", 0);
    session_await_room(last);
    wait_ms(0);
    ws_gets_room(adopted, 0);
    assert_string_equal(noted(), "");
    adopted->part = NULL;
    ws_gets_room(adopted, 1); /* for what waits alone */
    assert_string_equal(noted(), "");
    ws_gets_room(adopted, 1);
    assert_string_equal(noted(), "room");
    assert_string_equal(ws_sent(adopted), "4a|4again");
    ws_frame_let_go(&f);
    ws_ends(&adopted, WS_NONE);
}

static void
test_an_upgrade_may_bring_room(void **state)
{
    const char *sid = open_polling();

    (void)state;
    send_text(last, "4a", 0);
    session_await_room(last);
    assert_int_equal(upgrade(sid), ENGINE_OK);
    ws_says(adopted, "2probe");
    ws_says(adopted, "5");
    assert_string_equal(ws_sent(adopted), "3probe|4a|4again");
    assert_string_equal(noted(), "room");
    ws_ends(&adopted, WS_NONE);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_offer_without_room_changes_nothing),
        TEST(test_what_cannot_be_told_again_has_the_room),
        TEST(test_a_poll_has_room_when_nothing_waits),
        TEST(test_a_websocket_has_room_when_all_is_taken),
        TEST(test_an_upgrade_may_bring_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * A WebSocket's life: handshake, messages both ways, room, close.
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

#include "ws_session.h"

static void
messages_go_both_ways(void **state)
{
    struct session s;

    (void)state;
    open_session(&s);
    say_frame(&s, FIN | TEXT, STR("hello"));
    has_given(&s, "thello\n");
    say_frame(&s, FIN | BINARY, STR("\x00\xff"));
    wait_until(&s, s.messages == 2);
    assert_int_equal(s.last_len, 2);
    send_text(&s, STR("from us"), false, true);
    hears(&s, FIN | TEXT, STR("from us"));
    send_text(&s, STR(""), true, true);
    hears(&s, FIN | BINARY, STR(""));
    done(&s);
    assert_int_equal(s.code, WS_ABNORMAL);
}

static void
frames_behind_the_request_are_read(void **state)
{
    struct session s;
    struct conn *c = new_conn(&s);
    struct buf early;

    (void)state;
    buf_init(&early, 100);
    put_frame(&early, FIN | TEXT, STR("early"), (struct form){ 0 });
    put_frame(&early, FIN | TEXT, STR("too"), (struct form){ 0 });
    adopt(&s, c, buf_str(&early), false);
    has_given(&s, "tearly\nttoo\n");
    say_frame(&s, FIN | TEXT, STR("later"));
    has_given(&s, "tlater\n");
    buf_clear(&early);
    done(&s);
}

static void
the_peer_closes(void **state)
{
    struct session s;

    (void)state;
    open_session(&s);
    say_frame(&s, FIN | CLOSE,
              STR("\x03\xe8"
                  "bye"));
    hears(&s, FIN | CLOSE,
          STR("\x03\xe8"
              "bye"));
    wait_until(&s, s.w == NULL);
    assert_int_equal(s.code, WS_NORMAL);
    assert_string_equal(s.reason, "bye");
    done(&s);
}

static void
we_close(void **state)
{
    struct session s;

    (void)state;
    open_session(&s);
    ws_close(s.w, WS_GOING_AWAY, "draining");
    ws_close(s.w, WS_NORMAL, "again");
    send_text(&s, STR("too late"), false, false);
    assert_int_equal(s.closes, 0);
    hears(&s, FIN | CLOSE,
          STR("\x03\xe9"
              "draining"));
    say_frame(&s, FIN | TEXT, STR("not given"));
    say_frame(&s, FIN | CLOSE, STR("\x03\xe9"));
    wait_until(&s, s.w == NULL);
    assert_int_equal(s.code, WS_GOING_AWAY);
    assert_string_equal(s.reason, "draining");
    assert_int_equal(s.messages, 0);
    done(&s);
}

static void
a_peer_that_does_not_read_has_no_room(void **state)
{
    char data[8000];
    struct session s;
    size_t sent = 0;
    struct ws_frame *f = ws_frame_new(sizeof(data), true);

    (void)state;
    open_session(&s);
    memset(f->data, 'x', f->len);
    while (ws_send(s.w, f)) {
        assert_true(++sent < 10000);
    }
    loop_turn(l, 0);
    assert_false(ws_send(s.w, f));
    assert_int_equal(s.rooms, 0);
    wait_until(&s, s.rooms == 1);
    assert_true(ws_send(s.w, f));
    wait_until(&s, buf_len(&s.in) == (sent + 1) * (f->len + 4));
    ws_frame_let_go(&f);
    done(&s);
}

/* Of many that never finish, the one that holds most ends; the others go on. */
static void
unfinished_messages_have_a_bound_in_common(void **state)
{
    static char piece[90000];
    struct session s[4];

    (void)state;
    memset(piece, 'x', sizeof(piece));
    for (size_t i = 0; i < 4; i++) {
        open_session(&s[i]);
    }
    say_frame(&s[0], TEXT, str_of(piece, 70000));
    say_frame(&s[1], TEXT, str_of(piece, 90000));
    say_frame(&s[2], TEXT, str_of(piece, 80000));
    say_frame(&s[0], FIN | PING, STR_NONE);
    hears(&s[0], FIN | PONG, STR_NONE);
    say_frame(&s[2], FIN | PING, STR_NONE);
    hears(&s[2], FIN | PONG, STR_NONE);
    say_frame(&s[1], FIN | PING, STR_NONE);
    hears(&s[1], FIN | PONG, STR_NONE);
    say_frame(&s[3], FIN | TEXT, str_of(piece, 85000));
    wait_until(&s[3], s[3].messages == 1);
    hears_close(&s[1], WS_TRY_LATER);
    say_frame(&s[0], FIN | CONT, str_of(piece, 10000));
    say_frame(&s[2], FIN | CONT, str_of(piece, 10000));
    wait_until(&s[0], s[0].messages == 1);
    wait_until(&s[2], s[2].messages == 1);
    for (size_t i = 0; i < 4; i++) {
        done(&s[i]);
    }
}

/* What ends, finished or not, is not counted any more. */
static void
what_is_forgotten_is_not_counted(void **state)
{
    static char piece[60000];
    struct session s;

    (void)state;
    memset(piece, 'x', sizeof(piece));
    for (int i = 0; i < 20; i++) {
        open_session(&s);
        say_frame(&s, FIN | TEXT, str_of(piece, sizeof(piece)));
        say_frame(&s, TEXT, str_of(piece, sizeof(piece)));
        wait_until(&s, s.messages == 1);
        if (i % 2 == 0) {
            ws_close(s.w, WS_NORMAL, "");
        }
        done(&s);
    }
}

static void
a_full_host_is_told(void **state)
{
    struct session s[100];

    (void)state;
    for (size_t i = 0; i < 100; i++) {
        assert_false(ws_host_is_full(host));
        open_session(&s[i]);
    }
    assert_true(ws_host_is_full(host));
    for (size_t i = 0; i < 100; i++) {
        done(&s[i]);
    }
    assert_false(ws_host_is_full(host));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(messages_go_both_ways, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(frames_behind_the_request_are_read,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_peer_closes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(we_close, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_peer_that_does_not_read_has_no_room,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            unfinished_messages_have_a_bound_in_common, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_forgotten_is_not_counted,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_host_is_told, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

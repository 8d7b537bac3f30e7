/*
 * What RFC 6455 says of frames, case by case: what is taken, and with which
 * code what is not.
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

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Bytes that a peer sends are answered with a close of that code, and nothing
 * is delivered.  The peer then ends its side. */
static void
refuses(struct str bytes, unsigned code)
{
    struct session s;

    open_session(&s);
    say(&s, bytes.ptr, bytes.len);
    hears_close(&s, code);
    assert_int_equal(s.messages, 0);
    done(&s);
    assert_int_equal(s.code, code);
}

/* One frame, as refuses(). */
static void
refuses_frame(unsigned first, struct str data, struct form form, unsigned code)
{
    struct buf out;

    buf_init(&out, ANSWER_MAX);
    put_frame(&out, first, data, form);
    refuses(buf_str(&out), code);
    buf_clear(&out);
}

static void
fragments_are_put_together(void **state)
{
    struct session s;

    (void)state;
    open_session(&s);
    say_frame(&s, TEXT, STR("one "));
    say_frame(&s, CONT, STR(""));
    say_frame(&s, CONT, STR("two "));
    say_frame(&s, FIN | CONT, STR("three"));
    say_frame(&s, BINARY, STR(""));
    say_frame(&s, FIN | CONT, STR(""));
    say_frame(&s, TEXT, STR(""));
    say_frame(&s, FIN | CONT, STR("x"));
    has_given(&s, "tone two three\nb\ntx\n");
    done(&s);
}

static void
control_frames_come_between_fragments(void **state)
{
    struct session s;

    (void)state;
    open_session(&s);
    say_frame(&s, TEXT, STR("a"));
    say_frame(&s, FIN | PING, STR("\xff first"));
    say_frame(&s, FIN | PONG, STR("\xfe nobody asked"));
    say_frame(&s, CONT, STR("b"));
    say_frame(&s, FIN | PING, STR(""));
    say_frame(&s, FIN | CONT, STR("c"));
    has_given(&s, "tabc\n");
    hears(&s, FIN | PONG, STR("\xff first"));
    hears(&s, FIN | PONG, STR(""));
    done(&s);
}

static void
a_close_between_fragments_is_a_close(void **state)
{
    struct session s;

    (void)state;
    open_session(&s);
    say_frame(&s, TEXT, STR("never whole"));
    say_frame(&s, FIN | CLOSE, STR("\x03\xe8"));
    hears(&s, FIN | CLOSE, STR("\x03\xe8"));
    done(&s);
    assert_int_equal(s.messages, 0);
    assert_int_equal(s.code, WS_NORMAL);
}

static void
every_ping_is_answered(void **state)
{
    char longest[126];
    struct session s;

    (void)state;
    memset(longest, 'p', sizeof(longest));
    open_session(&s);
    for (int i = 0; i < 10; i++) {
        longest[0] = (char)('0' + i);
        say_frame(&s, FIN | PING, str_of(longest, 125));
    }
    for (int i = 0; i < 10; i++) {
        longest[0] = (char)('0' + i);
        hears(&s, FIN | PONG, str_of(longest, 125));
    }
    done(&s);
    refuses_frame(FIN | PING, str_of(longest, 126), (struct form){ 0 },
                  WS_PROTOCOL);
}

static void
control_frames_are_short_and_whole(void **state)
{
    static const unsigned control[] = { CLOSE, PING, PONG };

    (void)state;
    for (size_t i = 0; i < COUNT(control); i++) {
        struct form longer = { SIXTEEN, false }, longest = { SIXTYFOUR, false };

        refuses_frame(control[i], STR("x"), (struct form){ 0 }, WS_PROTOCOL);
        refuses_frame(FIN | control[i], STR("x"), longer, WS_PROTOCOL);
        refuses_frame(FIN | control[i], STR("x"), longest, WS_PROTOCOL);
    }
}

static void
reserved_bits_and_opcodes_are_refused(void **state)
{
    static const unsigned bits[] = { RSV1, RSV2, RSV3, RSV1 | RSV2 | RSV3 };
    static const unsigned opcodes[] = { 3, 4, 5, 6, 7, 11, 12, 13, 14, 15 };

    (void)state;
    for (size_t i = 0; i < COUNT(bits); i++) {
        refuses_frame(FIN | bits[i] | TEXT, STR("x"), (struct form){ 0 },
                      WS_PROTOCOL);
        refuses_frame(FIN | bits[i] | PING, STR(""), (struct form){ 0 },
                      WS_PROTOCOL);
        refuses_frame(bits[i] | BINARY, STR(""), (struct form){ 0 },
                      WS_PROTOCOL);
    }
    for (size_t i = 0; i < COUNT(opcodes); i++) {
        refuses_frame(FIN | opcodes[i], STR("x"), (struct form){ 0 },
                      WS_PROTOCOL);
        refuses_frame(FIN | opcodes[i], STR(""), (struct form){ 0 },
                      WS_PROTOCOL);
    }
}

static void
frames_without_a_mask_are_refused(void **state)
{
    static const unsigned kinds[] = { TEXT, BINARY, PING, PONG, CLOSE };
    static char much[70000];

    (void)state;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        refuses_frame(FIN | kinds[i], STR(""), (struct form){ 0, true },
                      WS_PROTOCOL);
        refuses_frame(FIN | kinds[i], STR("ab"), (struct form){ 0, true },
                      WS_PROTOCOL);
    }
    refuses_frame(FIN | TEXT, str_of(much, 200), (struct form){ 0, true },
                  WS_PROTOCOL);
    refuses_frame(FIN | TEXT, str_of(much, sizeof(much)),
                  (struct form){ 0, true }, WS_PROTOCOL);
}

static void
fragments_have_an_order(void **state)
{
    (void)state;
    refuses_frame(FIN | CONT, STR("x"), (struct form){ 0 }, WS_PROTOCOL);
    refuses_frame(CONT, STR("x"), (struct form){ 0 }, WS_PROTOCOL);
    refuses(STR("\x01\x80"
                "\0\0\0\0"
                "\x81\x80"
                "\0\0\0\0"),
            WS_PROTOCOL);
    refuses(STR("\x02\x80"
                "\0\0\0\0"
                "\x02\x80"
                "\0\0\0\0"),
            WS_PROTOCOL);
}

/* ---- lengths ---- */

static void
every_length_is_taken(void **state)
{
    static const size_t lengths[] = { 0,     1,     2,     124,        125,
                                      126,   127,   128,   65534,      65535,
                                      65536, 65537, 99999, MESSAGE_MAX };
    static char data[MESSAGE_MAX];
    struct session s;

    (void)state;
    for (size_t i = 0; i < sizeof(data); i++) {
        data[i] = (char)(i * 7 + i / 251);
    }
    open_session(&s);
    s.echo = true;
    for (size_t i = 0; i < COUNT(lengths); i++) {
        say_frame(&s, FIN | BINARY, str_of(data, lengths[i]));
        hears(&s, FIN | BINARY, str_of(data, lengths[i]));
    }
    assert_int_equal(s.messages, COUNT(lengths));
    done(&s);
}

static void
lengths_have_their_shortest_form(void **state)
{
    static char data[65535];

    (void)state;
    memset(data, 'x', sizeof(data));
    refuses_frame(FIN | TEXT, STR(""), (struct form){ SIXTEEN, false },
                  WS_PROTOCOL);
    refuses_frame(FIN | TEXT, str_of(data, 125),
                  (struct form){ SIXTEEN, false }, WS_PROTOCOL);
    refuses_frame(FIN | TEXT, str_of(data, 126),
                  (struct form){ SIXTYFOUR, false }, WS_PROTOCOL);
    refuses_frame(FIN | TEXT, str_of(data, 65535),
                  (struct form){ SIXTYFOUR, false }, WS_PROTOCOL);
    refuses(STR("\x82\xff\x80\0\0\0\0\0\0\1"
                "abcd"),
            WS_PROTOCOL);
    refuses(STR("\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff"
                "abcd"),
            WS_PROTOCOL);
}

static void
what_is_too_big_is_refused_at_once(void **state)
{
    static char data[MESSAGE_MAX + 1];
    struct session s;

    (void)state;
    refuses(STR("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff"
                "abcd"),
            WS_TOO_BIG);
    refuses(STR("\x82\xff\0\0\0\0\0\1\x86\xa1"
                "abcd"),
            WS_TOO_BIG);
    open_session(&s);
    say_frame(&s, BINARY, str_of(data, MESSAGE_MAX));
    say_frame(&s, FIN | CONT, STR("x"));
    hears_close(&s, WS_TOO_BIG);
    done(&s);
    /* A close is heard behind it. */
    open_session(&s);
    say_frame(&s, FIN | BINARY, str_of(data, sizeof(data)));
    hears_close(&s, WS_TOO_BIG);
    say_frame(&s, FIN | CLOSE, STR("\x03\xf1"));
    wait_until(&s, s.w == NULL);
    assert_int_equal(s.messages, 0);
    done(&s);
}

/* ---- UTF-8 ---- */

static void
texts_are_utf8(void **state)
{
    static const char *const bad[] = {
        "\xff",
        "a\x80",
        "\xc0\xaf",
        "\xe0\x80\xaf",
        "\xed\xa0\x80",
        "\xf4\x90\x80\x80",
        "\xf8\x88\x80\x80\x80",
        "\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xed\xa0\x80 end",
        "\xc3",            /* cut */
        "\xe2\x82",        /* cut */
        "ok \xf0\x9f\x98", /* cut */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        refuses_frame(FIN | TEXT, str_from(bad[i]), (struct form){ 0 },
                      WS_NOT_UTF8);
    }
}

static void
a_character_may_cross_fragments(void **state)
{
    struct session s;

    (void)state;
    open_session(&s);
    say_frame(&s, TEXT, STR("\xf0"));
    say_frame(&s, CONT, STR("\x9f"));
    say_frame(&s, FIN | PING, STR("\xff"));
    say_frame(&s, CONT, STR("\x98"));
    say_frame(&s, FIN | CONT, STR("\x80!"));
    has_given(&s, "t\xf0\x9f\x98\x80!\n");
    say_frame(&s, FIN | BINARY, STR("\xff\xfe"));
    has_given(&s, "b\xff\xfe\n");
    hears(&s, FIN | PONG, STR("\xff"));
    say_frame(&s, TEXT, STR("\xe2"));
    say_frame(&s, FIN | CONT, STR("\x28\xa1"));
    hears_close(&s, WS_NOT_UTF8);
    done(&s);
}

/* ---- closes ---- */

static void
close_with(const char *body, size_t len, unsigned answer)
{
    struct session s;

    open_session(&s);
    say_frame(&s, FIN | CLOSE, str_of(body, len));
    hears_close(&s, answer);
    done(&s);
    assert_int_equal(s.code, answer);
}

static void
close_with_code(unsigned code, unsigned answer)
{
    char body[2] = { (char)(code >> 8), (char)code };

    close_with(body, 2, answer);
}

static void
close_codes_are_those_that_there_are(void **state)
{
    static const unsigned good[] = { 1000, 1001, 1002, 1003, 1007, 1008,
                                     1009, 1010, 1011, 1012, 1013, 1014,
                                     3000, 3999, 4000, 4999 };
    static const unsigned bad[] = { 0,    1,    999,  1004, 1005, 1006, 1015,
                                    1016, 1100, 2000, 2999, 5000, 65535 };

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        close_with_code(good[i], good[i]);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        close_with_code(bad[i], WS_PROTOCOL);
    }
}

static void
close_bodies_are_checked(void **state)
{
    char longest[126];

    (void)state;
    memset(longest, 'r', sizeof(longest));
    longest[0] = 0x03;
    longest[1] = (char)0xe8;
    close_with("", 0, WS_NONE);
    close_with("\x03", 1, WS_PROTOCOL);
    close_with("\x03\xe8\xff", 3, WS_NOT_UTF8);
    close_with("\x03\xe8ok\xe2\x82", 6, WS_NOT_UTF8);
    close_with("\x03\xe8\xe2\x82\xac", 5, WS_NORMAL);
    close_with(longest, 125, WS_NORMAL);
    close_with(longest, 126, WS_PROTOCOL);
}

static void
nothing_counts_behind_a_close(void **state)
{
    struct session s;
    struct buf out;

    (void)state;
    buf_init(&out, 1000);
    put_frame(&out, FIN | CLOSE, STR("\x03\xe8"), (struct form){ 0 });
    put_frame(&out, FIN | TEXT, STR("late"), (struct form){ 0 });
    put_frame(&out, FIN | PING, STR("late"), (struct form){ 0 });
    open_session(&s);
    say(&s, buf_data(&out), buf_len(&out));
    hears(&s, FIN | CLOSE, STR("\x03\xe8"));
    wait_until(&s, s.eof);
    assert_int_equal(buf_len(&s.in), 0);
    assert_int_equal(s.messages, 0);
    buf_clear(&out);
    done(&s);
}

static void
a_close_waits_for_what_is_being_sent(void **state)
{
    struct ws_frame *f = ws_frame_new(8000, true);
    struct session s;
    size_t sent = 0;

    (void)state;
    memset(f->data, 'x', f->len);
    open_session(&s);
    while (ws_send(s.w, f)) {
        sent++;
    }
    ws_close(s.w, WS_GOING_AWAY, "bye");
    loop_turn(l, 0);
    for (size_t i = 0; i < sent; i++) {
        hears(&s, FIN | BINARY, ws_frame_str(f));
    }
    hears(&s, FIN | CLOSE,
          STR("\x03\xe9"
              "bye"));
    say_frame(&s, FIN | CLOSE, STR("\x03\xe9"));
    wait_until(&s, s.w == NULL);
    assert_int_equal(s.code, WS_GOING_AWAY);
    assert_int_equal(s.rooms, 0);
    ws_frame_let_go(&f);
    done(&s);
}

static void
a_ping_waits_for_what_is_being_sent(void **state)
{
    struct ws_frame *f = ws_frame_new(8000, true);
    struct session s;
    size_t sent = 0;

    (void)state;
    memset(f->data, 'x', f->len);
    open_session(&s);
    while (ws_send(s.w, f)) {
        sent++;
    }
    say_frame(&s, FIN | PING, STR("old"));
    say_frame(&s, FIN | PING, STR("new"));
    say_frame(&s, FIN | TEXT, STR("last"));
    for (int i = 0; s.messages == 0; i++) { /* none of ours is read */
        assert_true(i < TURNS);
        loop_turn(l, 10);
    }
    for (size_t i = 0; i < sent; i++) {
        hears(&s, FIN | BINARY, ws_frame_str(f));
    }
    hears(&s, FIN | PONG, STR("new"));
    ws_frame_let_go(&f);
    done(&s);
}

/* Each send() takes of the socket's room far more than a pong's bytes. */
static void
the_pings_of_one_read_are_answered_at_once(void **state)
{
    struct session s;
    struct buf out;

    (void)state;
    buf_init(&out, ANSWER_MAX);
    for (int i = 0; i < 1500; i++) {
        put_frame(&out, FIN | PING, STR(""), (struct form){ 0 });
    }
    open_session(&s);
    say(&s, buf_data(&out), buf_len(&out));
    wait_until(&s, buf_len(&s.in) == 1500 * 2);
    buf_clear(&out);
    done(&s);
}

/* Longer than what waits for one send(): the last one is answered. */
static void
pongs_have_a_bound(void **state)
{
    char longest[125];
    struct session s;
    struct buf out;
    uint8_t *end;

    (void)state;
    buf_init(&out, ANSWER_MAX);
    memset(longest, 'p', sizeof(longest));
    for (int i = 0; i < 100; i++) {
        put_frame(&out, FIN | PING, str_of(longest, sizeof(longest)),
                  (struct form){ 0 });
    }
    put_frame(&out, FIN | PING, STR("last"), (struct form){ 0 });
    open_session(&s);
    say(&s, buf_data(&out), buf_len(&out));
    wait_until(&s,
               buf_len(&s.in) >= 6 && (end = s.in.mem + s.in.tail - 6,
                                       memcmp(end, "\x8a\x04last", 6) == 0));
    buf_clear(&out);
    done(&s);
}

/* ---- how bytes arrive ---- */

static void
bytes_may_come_one_by_one(void **state)
{
    struct session s;
    struct buf out;

    (void)state;
    buf_init(&out, 1000);
    put_frame(&out, TEXT, STR("sl"), (struct form){ 0 });
    put_frame(&out, FIN | PING, STR("p"), (struct form){ 0 });
    put_frame(&out, FIN | CONT, STR("ow"), (struct form){ 0 });
    put_frame(&out, FIN | BINARY, STR(""), (struct form){ 0 });
    open_session(&s);
    for (size_t i = 0; i < buf_len(&out); i++) {
        say(&s, buf_data(&out) + i, 1);
        loop_turn(l, 0);
    }
    has_given(&s, "tslow\nb\n");
    hears(&s, FIN | PONG, STR("p"));
    buf_clear(&out);
    done(&s);
}

int
main(void)
{
#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ROW(fragments_are_put_together),
        ROW(control_frames_come_between_fragments),
        ROW(a_close_between_fragments_is_a_close),
        ROW(every_ping_is_answered),
        ROW(control_frames_are_short_and_whole),
        ROW(reserved_bits_and_opcodes_are_refused),
        ROW(frames_without_a_mask_are_refused),
        ROW(fragments_have_an_order),
        ROW(every_length_is_taken),
        ROW(lengths_have_their_shortest_form),
        ROW(what_is_too_big_is_refused_at_once),
        ROW(texts_are_utf8),
        ROW(a_character_may_cross_fragments),
        ROW(close_codes_are_those_that_there_are),
        ROW(close_bodies_are_checked),
        ROW(nothing_counts_behind_a_close),
        ROW(a_close_waits_for_what_is_being_sent),
        ROW(a_ping_waits_for_what_is_being_sent),
        ROW(the_pings_of_one_read_are_answered_at_once),
        ROW(pongs_have_a_bound),
        ROW(bytes_may_come_one_by_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

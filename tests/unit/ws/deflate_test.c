/*
 * permessage-deflate: RFC 7692, with zlib at the peer.
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

#include <zlib.h>

#include "ws_session.h"

#define BOMB (100 << 20)

/* Opens a session whose client offered it. */
static void
open_deflated(struct session *s, bool granted)
{
    struct conn *c = new_conn(s);

    adopt(s, c, STR_NONE, true);
    assert_int_equal(s->deflated, granted);
}

/* ---- the peer's zlib ---- */

static z_stream deflater, inflater;

static void
begin_peer(void)
{
    memset(&deflater, 0, sizeof(deflater));
    memset(&inflater, 0, sizeof(inflater));
    assert_int_equal(
        deflateInit2(&deflater, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY),
        Z_OK);
    assert_int_equal(inflateInit2(&inflater, -15), Z_OK);
}

static void
end_peer(void)
{
    deflateEnd(&deflater);
    inflateEnd(&inflater);
}

/* Compresses text to out, without its tail. */
static struct str
squeeze(struct str text, char *out, size_t room)
{
    deflater.next_in = (unsigned char *)(uintptr_t)text.ptr;
    deflater.avail_in = (uInt)text.len;
    deflater.next_out = (unsigned char *)out;
    deflater.avail_out = (uInt)room;
    assert_int_equal(deflate(&deflater, Z_SYNC_FLUSH), Z_OK);
    assert_true(deflater.avail_out > 0);
    return str_of(out, room - deflater.avail_out - 4);
}

/* The next frame is compressed and says text. */
static void
hears_deflated(struct session *s, struct str text)
{
    static char plain[MESSAGE_MAX];
    struct frame f;
    struct buf in;

    wait_until(s, peek_frame(s).size > 0 || s->eof);
    f = peek_frame(s);
    assert_int_equal(f.first, FIN | RSV1 | TEXT);
    assert_true(f.data.len < text.len);
    buf_init(&in, ANSWER_MAX);
    assert_int_equal(buf_add_str(&in, f.data), 0);
    assert_int_equal(buf_add(&in, "\0\0\xff\xff", 4), 0);
    inflater.next_in = (unsigned char *)(uintptr_t)buf_data(&in);
    inflater.avail_in = (uInt)buf_len(&in);
    inflater.next_out = (unsigned char *)plain;
    inflater.avail_out = sizeof(plain);
    assert_int_equal(inflate(&inflater, Z_SYNC_FLUSH), Z_OK);
    assert_int_equal(sizeof(plain) - inflater.avail_out, text.len);
    assert_memory_equal(plain, text.ptr, text.len);
    buf_clear(&in);
    buf_take(&s->in, f.size);
}

static struct str
lines(size_t n)
{
    static char text[MESSAGE_MAX];

    for (size_t i = 0; i < n; i++) {
        text[i] = "a line of text, and another "[i % 28];
    }
    return str_of(text, n);
}

/* ---- tests ---- */

static void
messages_inflate_whatever_their_size(void **state)
{
    static const size_t sizes[] = { 0,    1,     100,   3000,  3500,
                                    5000, 16384, 16385, 60000, MESSAGE_MAX };
    static char out[MESSAGE_MAX];
    struct session s;

    (void)state;
    begin_peer();
    open_deflated(&s, true);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct str text = squeeze(lines(sizes[i]), out, sizeof(out));

        say_frame(&s, FIN | RSV1 | TEXT, text);
        wait_until(&s, s.messages == i + 1);
        assert_int_equal(s.last_len, sizes[i]);
    }
    done(&s);
    end_peer();
}

static void
fragments_are_one_compressed_message(void **state)
{
    static char out[2000];
    struct session s;
    struct str all;

    (void)state;
    begin_peer();
    open_deflated(&s, true);
    all = squeeze(STR("hello, hello, hello"), out, sizeof(out));
    say_frame(&s, RSV1 | TEXT, str_first(all, 3));
    say_frame(&s, FIN | PING, STR("between"));
    say_frame(&s, FIN | CONT, str_skip(all, 3));
    has_given(&s, "thello, hello, hello\n");
    say_frame(&s, FIN | TEXT, STR("not compressed"));
    has_given(&s, "tnot compressed\n");
    all = squeeze(STR("hello, hello"), out, sizeof(out));
    say_frame(&s, FIN | RSV1 | TEXT, all); /* refers to the first */
    has_given(&s, "thello, hello\n");
    done(&s);
    end_peer();
}

/* RFC 7692 7.2.3.4, and several final blocks in one message. */
static void
final_blocks_end_no_message(void **state)
{
    const struct str final = STR("\xf3\x48\xcd\xc9\xc9\x07\x00\x00");
    const struct str plain = STR("\xf2\x48\xcd\xc9\xc9\x07\x00");
    struct session s;
    struct buf twice;

    (void)state;
    open_deflated(&s, true);
    for (int i = 0; i < 2; i++) {
        say_frame(&s, FIN | RSV1 | TEXT, final);
        has_given(&s, "tHello\n");
        say_frame(&s, FIN | RSV1 | TEXT, plain);
        has_given(&s, "tHello\n");
    }
    buf_init(&twice, 100);
    assert_int_equal(buf_add_str(&twice, str_first(final, 7)), 0);
    assert_int_equal(buf_add_str(&twice, final), 0);
    say_frame(&s, FIN | RSV1 | TEXT, buf_str(&twice));
    has_given(&s, "tHelloHello\n");
    say_frame(&s, FIN | RSV1 | TEXT, plain);
    has_given(&s, "tHello\n");
    buf_clear(&twice);
    done(&s);
}

static void
long_messages_go_compressed_and_short_ones_do_not(void **state)
{
    struct session s;

    (void)state;
    begin_peer();
    open_deflated(&s, true);
    for (int i = 0; i < 3; i++) {
        send_text(&s, lines(1023), false, true);
        hears(&s, FIN | TEXT, lines(1023));
        send_text(&s, lines(1024), false, true);
        hears_deflated(&s, lines(1024));
        send_text(&s, lines(90000), false, true);
        hears_deflated(&s, lines(90000));
    }
    done(&s);
    end_peer();
}

static void
one_frame_goes_to_both_kinds(void **state)
{
    struct session plain, small;
    struct ws_frame *f = ws_frame_new(5000, false);

    (void)state;
    begin_peer();
    memcpy(f->data, lines(5000).ptr, 5000);
    open_session(&plain);
    open_deflated(&small, true);
    for (int i = 0; i < 2; i++) {
        assert_true(ws_send(small.w, f));
        assert_true(ws_send(plain.w, f));
        hears(&plain, FIN | TEXT, lines(5000));
        hears_deflated(&small, lines(5000));
    }
    ws_frame_let_go(&f);
    done(&plain);
    done(&small);
    end_peer();
}

/* It is the frame that was given which is held, not what it was squeezed to. */
static void
what_is_being_sent_is_known(void **state)
{
    struct session s;
    struct ws_frame *f = NULL, *other = ws_frame_new(2000, true);
    int sent = 0;

    (void)state;
    open_deflated(&s, true);
    do {
        ws_frame_let_go(&f);
        f = ws_frame_new(MESSAGE_MAX, true);
        memcpy(f->data, lines(MESSAGE_MAX).ptr, f->len);
        assert_true(sent++ < 10000);
    } while (ws_send(s.w, f) && !ws_is_sending(s.w, f));
    assert_non_null(f->deflated);
    assert_true(ws_is_sending(s.w, f));
    assert_false(ws_is_sending(s.w, other));
    assert_int_equal(f->holders, 2);
    assert_false(ws_send(s.w, other));
    wait_until(&s, s.rooms == 1);
    assert_false(ws_is_sending(s.w, f));
    assert_int_equal(f->holders, 1);
    ws_frame_let_go(&f);
    ws_frame_let_go(&other);
    done(&s);
}

static void
noise_goes_as_it_is(void **state)
{
    static char noise[4000];
    struct session s;
    uint32_t x = 1;

    (void)state;
    for (size_t i = 0; i < sizeof(noise); i++) {
        x = x * 1664525 + 1013904223;
        noise[i] = (char)(x >> 24);
    }
    open_deflated(&s, true);
    send_text(&s, str_of(noise, sizeof(noise)), true, true);
    hears(&s, FIN | BINARY, str_of(noise, sizeof(noise)));
    done(&s);
}

static void
a_bomb_is_refused(void **state)
{
    static char out[ANSWER_MAX];
    static char zeros[1 << 16];
    struct session s;
    size_t n;

    (void)state;
    begin_peer();
    deflater.next_out = (unsigned char *)out;
    deflater.avail_out = sizeof(out);
    for (size_t done = 0; done < BOMB; done += sizeof(zeros)) {
        deflater.next_in = (unsigned char *)zeros;
        deflater.avail_in = sizeof(zeros);
        assert_int_equal(deflate(&deflater, Z_NO_FLUSH), Z_OK);
    }
    assert_int_equal(deflate(&deflater, Z_SYNC_FLUSH), Z_OK);
    n = sizeof(out) - deflater.avail_out - 4;
    assert_true(BOMB / n >= 1000);
    open_deflated(&s, true);
    say_frame(&s, FIN | RSV1 | BINARY, str_of(out, 90000));
    hears_close(&s, WS_TOO_BIG);
    assert_int_equal(s.messages, 0);
    done(&s);
    assert_int_equal(s.code, WS_TOO_BIG);
    end_peer();
}

static void
what_does_not_inflate_is_refused(void **state)
{
    struct session s;

    (void)state;
    open_deflated(&s, true);
    say_frame(&s, FIN | RSV1 | TEXT, STR("\xff\xff\xff\xff"));
    hears_close(&s, WS_NOT_UTF8);
    done(&s);
}

static void
texts_are_utf8_after_inflation(void **state)
{
    char out[100];
    struct session s;

    (void)state;
    begin_peer();
    open_deflated(&s, true);
    say_frame(&s, FIN | RSV1 | TEXT, squeeze(STR("cut \xe2\x82"), out, 100));
    hears_close(&s, WS_NOT_UTF8);
    done(&s);
    end_peer();
}

static void
the_reserved_bit_stands_on_first_frames_only(void **state)
{
    static const unsigned bad[] = { FIN | RSV1 | PING, FIN | RSV1 | CLOSE,
                                    FIN | RSV2 | TEXT, RSV1 | CONT };
    struct session s;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        open_deflated(&s, true);
        say_frame(&s, bad[i], STR(""));
        hears_close(&s, WS_PROTOCOL);
        done(&s);
    }
}

static void
only_so_many_have_it(void **state)
{
    struct session s[3];

    (void)state;
    open_deflated(&s[0], true);
    open_deflated(&s[1], true);
    open_deflated(&s[2], false);
    done(&s[0]);
    done(&s[2]);
    open_deflated(&s[0], true);
    done(&s[0]);
    done(&s[1]);
}

int
main(void)
{
#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ROW(messages_inflate_whatever_their_size),
        ROW(fragments_are_one_compressed_message),
        ROW(final_blocks_end_no_message),
        ROW(long_messages_go_compressed_and_short_ones_do_not),
        ROW(one_frame_goes_to_both_kinds),
        ROW(what_is_being_sent_is_known),
        ROW(noise_goes_as_it_is),
        ROW(a_bomb_is_refused),
        ROW(what_does_not_inflate_is_refused),
        ROW(texts_are_utf8_after_inflation),
        ROW(the_reserved_bit_stands_on_first_frames_only),
        ROW(only_so_many_have_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

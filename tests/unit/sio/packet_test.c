/*
 * Packets of Engine.IO in text, and their sizes.
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

#include <string.h>

#include "engine_help.h"
#include "sio/engine/packet.h"

static void
test_types(void **state)
{
    struct packet p = packet_read(STR("4hello"));

    (void)state;
    assert_int_equal(p.type, PACKET_MESSAGE);
    assert_true(str_eq(p.data, STR("hello")));
    p = packet_read(STR("b"));
    assert_int_equal(p.type, PACKET_BINARY);
    assert_int_equal(p.data.len, 0);
    for (char c = '0'; c <= '6'; c++) {
        assert_int_equal(packet_read(str_of(&c, 1)).type, c);
    }
}

static void
test_what_is_no_packet(void **state)
{
    (void)state;
    assert_int_equal(packet_read(STR_NONE).type, PACKET_BAD);
    for (int c = 0; c < 256; c++) {
        char text[2] = { (char)c, '4' };

        if ((c < '0' || c > '6') && c != 'b') {
            assert_int_equal(packet_read(str_of(text, 2)).type, PACKET_BAD);
        }
    }
}

static void
is_cut(const char *payload, const char *packets)
{
    struct str rest = str_from(payload), text;
    char out[100] = "";
    bool more = true;

    while (more) {
        more = packet_cut(&rest, &text);
        snprintf(out + strlen(out), sizeof(out) - strlen(out), "[%.*s]",
                 STR_ARGS(text));
    }
    assert_string_equal(out, packets);
}

static void
test_payloads(void **state)
{
    (void)state;
    is_cut("4a", "[4a]");
    is_cut("4a\x1e"
           "b\x1e"
           "1",
           "[4a][b][1]");
    is_cut("", "[]");
    is_cut("4a\x1e", "[4a][]");
    is_cut("\x1e\x1e", "[][][]");
}

static void
test_base64(void **state)
{
    uint8_t *bytes;
    size_t n;

    (void)state;
    assert_int_equal(packet_decode(STR("AQID/w=="), &bytes, &n), 0);
    assert_int_equal(n, 4);
    assert_memory_equal(bytes, "\x01\x02\x03\xff", 4);
    mem_free(&bytes);
    assert_int_equal(packet_decode(STR_NONE, &bytes, &n), 0);
    assert_int_equal(n, 0);
    mem_free(&bytes);
    assert_int_equal(packet_decode(STR("AQID/w"), &bytes, &n), -1);
    assert_int_equal(packet_decode(STR("AQI*"), &bytes, &n), -1);
    assert_int_equal(packet_decode(STR("====="), &bytes, &n), -1);
}

static void
is_size(size_t len, bool binary, enum packet_form form, size_t size)
{
    struct ws_frame *f = ws_frame_new(len, binary);

    assert_int_equal(packet_size(f, form), size);
    ws_frame_let_go(&f);
}

static void
test_sizes(void **state)
{
    (void)state;
    is_size(5, false, PACKET_PAYLOAD, 6);
    is_size(5, true, PACKET_PAYLOAD, 1 + 8 + 1);
    is_size(5, true, PACKET_FRAME, 7);
    is_size(5, true, PACKET_FRAME_BASE64, 11);
    is_size(0, true, PACKET_FRAME, 2);
    is_size(125, false, PACKET_FRAME, 127);
    is_size(126, false, PACKET_FRAME, 130);
    is_size(65535, true, PACKET_FRAME, 65539);
    is_size(65536, true, PACKET_FRAME, 65546);
}

static void
test_writing(void **state)
{
    struct ws_frame *text = frame_of("4hi"), *bytes = frame_of_bytes("ABCD", 4);
    char out[32];

    (void)state;
    assert_int_equal(packet_write(text, out), 3);
    assert_memory_equal(out, "4hi", 3);
    assert_int_equal(packet_write(bytes, out), 9);
    assert_memory_equal(out, "bQUJDRA==", 9);
    assert_int_equal(packet_length(bytes, PACKET_PAYLOAD), 9);
    ws_frame_let_go(&text);
    ws_frame_let_go(&bytes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_what_is_no_packet),
        cmocka_unit_test(test_payloads),
        cmocka_unit_test(test_base64),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_writing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

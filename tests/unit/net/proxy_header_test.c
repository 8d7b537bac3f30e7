/*
 * PROXY protocol headers: right ones, every malformed one, byte after byte.
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

#include "base/bytes.h"
#include "net/proxy_header.h"

#define SIGNATURE "\x0d\x0a\x0d\x0a\x00\x0d\x0a\x51\x55\x49\x54\x0a"

/* A header of version 2 in one piece of memory of its own size. */
struct v2 {
    uint8_t bytes[PROXY_HEADER_MAX + 100];
    size_t len;
};

static void
add(struct v2 *v, const void *data, size_t n)
{
    memcpy(v->bytes + v->len, data, n);
    v->len += n;
    put_be16(v->bytes + 14, (uint32_t)v->len - 16);
}

static struct v2
v2_begin(unsigned version_command, unsigned family)
{
    struct v2 v = { .len = 16 };

    memcpy(v.bytes, SIGNATURE, 12);
    v.bytes[12] = (uint8_t)version_command;
    v.bytes[13] = (uint8_t)family;
    return v;
}

static struct v2
v2_tcp4(void)
{
    struct v2 v = v2_begin(0x21, 0x11);

    add(&v, "\xc0\x00\x02\x01\x0a\x00\x00\x01\x9c\x40\x07\x8f", 12);
    return v;
}

static void
add_tlv(struct v2 *v, unsigned type, const void *data, size_t n)
{
    uint8_t head[3] = { (uint8_t)type, (uint8_t)(n >> 8), (uint8_t)n };

    add(v, head, 3);
    add(v, data, n);
}

/* Parses ever longer beginnings: none may be whole or wrong before all of it
 * is there.  Bytes behind the header change nothing. */
static void
check_right(const void *data, size_t n, struct proxy_header *h)
{
    uint8_t copy[PROXY_HEADER_MAX + 110];
    const char *why = NULL;

    for (size_t i = 0; i < n; i++) {
        assert_int_equal(proxy_parse(data, i, h, &why), 0);
    }
    memcpy(copy, data, n);
    memcpy(copy + n, "\r\nGET / ", 8);
    assert_int_equal(proxy_parse(copy, n + 8, h, &why), n);
    assert_int_equal(proxy_parse(data, n, h, &why), n);
}

static void
check_wrong(const void *data, size_t n)
{
    struct proxy_header h;
    const char *why = NULL;

    assert_int_equal(proxy_parse(data, n, &h, &why), -1);
    assert_non_null(why);
}

static void
check_addr(const struct addr *a, const char *text)
{
    char is[ADDR_TEXT];

    assert_string_equal(addr_text(a, is), text);
}

static void
lines(void **state)
{
    const char *s = "PROXY TCP4 192.0.2.1 10.0.0.1 40000 1935\r\n";
    struct proxy_header h;

    (void)state;
    check_right(s, strlen(s), &h);
    assert_int_equal(h.version, 1);
    assert_false(h.local);
    check_addr(&h.client, "192.0.2.1:40000");
    check_addr(&h.server, "10.0.0.1:1935");

    s = "PROXY TCP6 2001:db8::1 ::1 0 65535\r\n";
    check_right(s, strlen(s), &h);
    check_addr(&h.client, "[2001:db8::1]:0");
    check_addr(&h.server, "[::1]:65535");

    s = "PROXY TCP6 ::ffff:192.0.2.1 ::1 1 2\r\n";
    check_right(s, strlen(s), &h);
    check_addr(&h.client, "192.0.2.1:1");

    s = "PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n";
    check_right(s, strlen(s), &h);
}

static void
unknown_lines_are_local(void **state)
{
    char s[120] = "PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
                  "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n";
    struct proxy_header h;

    (void)state;
    assert_int_equal(strlen(s), 107); /* the longest there is */
    check_right(s, 107, &h);
    assert_true(h.local);
    check_right("PROXY UNKNOWN\r\n", 15, &h);
    assert_true(h.local);
    memmove(s + 20, s + 19, 90);
    check_wrong(s, 108);
}

static void
malformed_lines(void **state)
{
    static const char *const all[] = {
        "GET / HTTP/1.1\r\n",
        "proxy TCP4 1.2.3.4 1.2.3.4 1 2\r\n",
        " PROXY TCP4 1.2.3.4 1.2.3.4 1 2\r\n",
        "PROXY  TCP4 1.2.3.4 1.2.3.4 1 2\r\n",
        "PROXY TCP4 1.2.3.4 1.2.3.4 1 2\n",
        "PROXY TCP4 1.2.3.4 1.2.3.4 1 2\rX",
        "PROXY TCP4 1.2.3.4 1.2.3.4 1 2 \r\n",
        "PROXY TCP4 1.2.3.4 1.2.3.4 1 2 3\r\n",
        "PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n",
        "PROXY TCP4 1.2.3.4 1.2.3.4\r\n",
        "PROXY TCP4 1.2.3.4  1.2.3.4 1 2\r\n",
        "PROXY TCP4 1.2.3.4\t1.2.3.4 1 2\r\n",
        "PROXY TCP4\r\n",
        "PROXY \r\n",
        "PROXY TCP5 1.2.3.4 1.2.3.4 1 2\r\n",
        "PROXY tcp4 1.2.3.4 1.2.3.4 1 2\r\n",
        "PROXY UDP4 1.2.3.4 1.2.3.4 1 2\r\n",
        "PROXY UNKNOWNX\r\n",
        "PROXY TCP4 ::1 ::1 1 2\r\n",
        "PROXY TCP6 1.2.3.4 1.2.3.4 1 2\r\n",
        "PROXY TCP4 1.2.3.04 1.2.3.4 1 2\r\n",
        "PROXY TCP4 1.2.3 1.2.3.4 1 2\r\n",
        "PROXY TCP4 1.2.3.256 1.2.3.4 1 2\r\n",
        "PROXY TCP4 0x1020304 1.2.3.4 1 2\r\n",
        "PROXY TCP6 ::1%lo ::1 1 2\r\n",
        "PROXY TCP6 [::1] ::1 1 2\r\n",
        "PROXY TCP6 1::2::3 ::1 1 2\r\n",
        "PROXY TCP4 1.2.3.4 1.2.3.4 01 2\r\n",
        "PROXY TCP4 1.2.3.4 1.2.3.4 00 2\r\n",
        "PROXY TCP4 1.2.3.4 1.2.3.4 65536 2\r\n",
        "PROXY TCP4 1.2.3.4 1.2.3.4 -1 2\r\n",
        "PROXY TCP4 1.2.3.4 1.2.3.4 +1 2\r\n",
        "PROXY TCP4 1.2.3.4 1.2.3.4 1 x\r\n",
        "PROXY TCP4 host 1.2.3.4 1 2\r\n",
    };
    struct proxy_header h;
    const char *why;

    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (proxy_parse((const uint8_t *)all[i], strlen(all[i]), &h, &why) !=
            -1) {
            fail_msg("%s", all[i]);
        }
    }
    check_wrong("PROXY TCP4 1.2.3.4\0 1.2.3.4 1 2\r\n", 34);
}

static void
binary(void **state)
{
    struct proxy_header h;
    struct v2 v = v2_tcp4();

    (void)state;
    check_right(v.bytes, v.len, &h);
    assert_int_equal(h.version, 2);
    assert_false(h.local);
    check_addr(&h.client, "192.0.2.1:40000");
    check_addr(&h.server, "10.0.0.1:1935");

    v = v2_begin(0x21, 0x21);
    add(&v,
        "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01"
        "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\x01\x00\x50\x01\xbb",
        36);
    check_right(v.bytes, v.len, &h);
    check_addr(&h.client, "[2001:db8::1]:80");
    check_addr(&h.server, "10.0.0.1:443");

    v = v2_begin(0x21, 0x31);
    add(&v, (uint8_t[216]){ "/run/client" }, 216);
    check_right(v.bytes, v.len, &h);
    check_addr(&h.client, "unix:");
}

static void
binary_local(void **state)
{
    struct v2 v = v2_begin(0x20, 0x00);
    struct proxy_header h;

    (void)state;
    check_right(v.bytes, v.len, &h); /* haproxy's health check */
    assert_true(h.local);

    v = v2_begin(0x20, 0x11); /* what it says besides means nothing */
    add(&v, "rubbish", 7);
    check_right(v.bytes, v.len, &h);
    assert_true(h.local);

    v = v2_begin(0x21, 0x00); /* UNSPEC */
    add(&v, "whatever", 8);
    check_right(v.bytes, v.len, &h);
    assert_true(h.local);
}

static void
malformed_binary(void **state)
{
    static const struct {
        unsigned version_command, family;
    } all[] = {
        { 0x11, 0x11 }, { 0x31, 0x11 }, { 0x01, 0x11 }, { 0x22, 0x11 },
        { 0x2f, 0x11 }, { 0x21, 0x12 }, { 0x21, 0x10 }, { 0x21, 0x13 },
        { 0x21, 0x22 }, { 0x21, 0x32 }, { 0x21, 0x41 }, { 0x21, 0xf1 },
        { 0x21, 0x01 }, { 0x21, 0xff },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        struct v2 v = v2_begin(all[i].version_command, all[i].family);

        add(&v, (uint8_t[216]){ 1 }, 216);
        check_wrong(v.bytes, v.len);
    }
    struct v2 v = v2_begin(0x21, 0x11);

    add(&v, "\x01\x02\x03\x04\x01\x02\x03\x04\0\x01\0", 11);
    check_wrong(v.bytes, v.len); /* a byte of the addresses is missing */
    v = v2_tcp4();
    v.bytes[11] = 0x0b;
    check_wrong(v.bytes, v.len);
    check_wrong(v.bytes, 12);
    v = v2_tcp4();
    put_be16(v.bytes + 14, PROXY_HEADER_MAX - 15);
    check_wrong(v.bytes, 16); /* at once, not when it has come */
}

static void
fields(void **state)
{
    struct v2 v = v2_tcp4();
    struct proxy_header h;

    (void)state;
    add_tlv(&v, 0x02, "media.example", 13);
    add_tlv(&v, 0x04, "\0\0\0", 3);
    add_tlv(&v, 0x05, "abc-123", 7);
    add_tlv(&v, 0xea, "\x01vpce-1", 7);
    add_tlv(&v, 0x20, "\x01\0\0\0\0\x21\0\x07TLSv1.3", 15);
    check_right(v.bytes, v.len, &h);
    assert_true(str_eq(h.authority, STR("media.example")));
    assert_true(str_eq(h.unique_id, STR("abc-123")));
    assert_true(h.secure);

    v = v2_tcp4();
    add_tlv(&v, 0x20, "\0\0\0\0\0", 5);
    check_right(v.bytes, v.len, &h);
    assert_false(h.secure);

    v = v2_tcp4();
    add_tlv(&v, 0x04, (uint8_t[PROXY_HEADER_MAX]){ 0 },
            PROXY_HEADER_MAX - 28 - 3);
    assert_int_equal(v.len, PROXY_HEADER_MAX);
    check_right(v.bytes, v.len, &h);
}

static void
malformed_fields(void **state)
{
    struct v2 v = v2_tcp4();

    (void)state;
    add(&v, "\x04\0", 2);
    check_wrong(v.bytes, v.len);
    v = v2_tcp4();
    add(&v, "\x04\0\x01", 3);
    check_wrong(v.bytes, v.len);
    v = v2_tcp4();
    add_tlv(&v, 0x05, (uint8_t[129]){ 1 }, 129);
    check_wrong(v.bytes, v.len);
    v = v2_tcp4();
    add_tlv(&v, 0x20, "\x01\0\0\0", 4);
    check_wrong(v.bytes, v.len);
    v = v2_tcp4();
    add_tlv(&v, 0x20, "\x01\0\0\0\0\x21\0\x08TLSv1.3", 15);
    check_wrong(v.bytes, v.len);
}

/* The value was computed apart from this code, bit by bit. */
static void
checksums(void **state)
{
    struct v2 v = v2_tcp4();
    struct proxy_header h;

    (void)state;
    add_tlv(&v, 0x03, "\0\0\0\0", 4);
    add_tlv(&v, 0x02, "media.example", 13);
    check_wrong(v.bytes, v.len);
    put_be32(v.bytes + 31, 0x5e46ef02);
    check_right(v.bytes, v.len, &h);
    v.bytes[17] ^= 1;
    check_wrong(v.bytes, v.len);
    v = v2_tcp4();
    add_tlv(&v, 0x03, "\0\0\0", 3);
    check_wrong(v.bytes, v.len);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),
        cmocka_unit_test(unknown_lines_are_local),
        cmocka_unit_test(malformed_lines),
        cmocka_unit_test(binary),
        cmocka_unit_test(binary_local),
        cmocka_unit_test(malformed_binary),
        cmocka_unit_test(fields),
        cmocka_unit_test(malformed_fields),
        cmocka_unit_test(checksums),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

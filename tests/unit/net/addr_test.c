/*
 * Addresses: texts, sockets, kinds.
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

#include <netinet/in.h>
#include <string.h>

#include "net/addr.h"

static void
listens(const char *text, const char *shown, bool any)
{
    struct addr_listen where;
    struct errmsg err;
    char shows[ADDR_TEXT];

    assert_int_equal(addr_parse_listen(str_from(text), &where, &err), 0);
    assert_string_equal(addr_text(&where.addr, shows), shown);
    assert_int_equal(where.any, any);
}

static void
listen_addresses(void **state)
{
    (void)state;
    listens("1935", "[::]:1935", true);
    listens("0", "[::]:0", true);
    listens("65535", "[::]:65535", true);
    listens("*:80", "[::]:80", true);
    listens("127.0.0.1:80", "127.0.0.1:80", false);
    listens("0.0.0.0:80", "0.0.0.0:80", false);
    listens("[::1]:80", "[::1]:80", false);
    listens("[::]:80", "[::]:80", false);
    listens("[2001:db8::1]:443", "[2001:db8::1]:443", false);
    listens("[::ffff:10.1.2.3]:80", "10.1.2.3:80", false);
    listens("unix:run/weir.sock", "unix:", false);
}

static void
unix_paths(void **state)
{
    struct addr_listen where;
    struct errmsg err;
    char text[256];

    (void)state;
    assert_int_equal(addr_parse_listen(STR("unix:a b"), &where, &err), 0);
    assert_true(str_eq(where.path, STR("a b")));
    assert_int_equal(where.addr.family, AF_UNIX);
    assert_int_equal(where.addr.port, 0);

    memset(text, 'x', sizeof(text));
    memcpy(text, "unix:", 5);
    assert_int_equal(
        addr_parse_listen(str_of(text, 5 + ADDR_PATH_MAX), &where, &err), 0);
    assert_int_equal(
        addr_parse_listen(str_of(text, 6 + ADDR_PATH_MAX), &where, &err), -1);
    assert_non_null(strstr(err.text, "1 to 100 bytes"));
}

static void
wrong_listen_addresses(void **state)
{
    static const char *const wrong[] = {
        "",
        ":",
        ":80",
        "80:",
        "65536",
        "-1",
        "+80",
        "80 ",
        "http",
        "localhost:80",
        "1.2.3:80",
        "1.2.3.4",
        "::1",
        "::1:80",
        "[::1]",
        "[::1]80",
        "[::1]:",
        "[::1",
        "[]:80",
        "[1.2.3.4]:80",
        "*",
        "*:",
        "[*]:80",
        "1.2.3.4:x",
        "unix:",
        "1:2:3",
        "[::1]:80:90",
        "1.2.3.4:1.",
        "256.0.0.1:80",
        "[fe80::1%lo]:80",
    };
    struct addr_listen where;
    struct errmsg err;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        err.text[0] = '\0';
        if (addr_parse_listen(str_from(wrong[i]), &where, &err) != -1) {
            fail_msg("%s was taken", wrong[i]);
        }
        assert_non_null(strstr(err.text, wrong[i]));
    }
    assert_int_equal(
        addr_parse_listen(str_of("1.2.3.4\0:80", 11), &where, &err), -1);
    assert_int_equal(addr_parse_listen(str_of("unix:a\0b", 8), &where, &err),
                     -1);
}

static void
ips(void **state)
{
    struct addr a;
    char text[ADDR_TEXT];

    (void)state;
    assert_int_equal(addr_parse_ip(STR("10.0.0.255"), &a), 0);
    assert_string_equal(addr_ip_text(&a, text), "10.0.0.255");
    assert_int_equal(addr_parse_ip(STR("2001:DB8:0:0::1"), &a), 0);
    assert_string_equal(addr_ip_text(&a, text), "2001:db8::1");
    assert_int_equal(addr_parse_ip(STR("::ffff:1.2.3.4"), &a), 0);
    assert_int_equal(a.family, AF_INET);
    assert_string_equal(addr_ip_text(&a, text), "1.2.3.4");
    assert_int_equal(addr_parse_ip(STR(""), &a), -1);
    assert_int_equal(addr_parse_ip(STR("1.2.3"), &a), -1);
    assert_int_equal(addr_parse_ip(STR("01.2.3.4"), &a), -1);
    assert_int_equal(addr_parse_ip(STR("1.2.3.4 "), &a), -1);
    assert_int_equal(
        addr_parse_ip(STR("1111:2222:3333:4444:5555:6666:7777:8888:9999:0"),
                      &a),
        -1);
}

static void
to_sockets_and_back(void **state)
{
    static const char *const ip[] = { "127.0.0.1", "::1", "fe80::1234" };
    struct sockaddr_storage ss;
    struct addr a, b;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(addr_parse_ip(str_from(ip[i]), &a), 0);
        a.port = 1935;
        assert_int_equal(addr_to_socket(&a, &ss),
                         i == 0 ? sizeof(struct sockaddr_in)
                                : sizeof(struct sockaddr_in6));
        addr_from_socket(&b, &ss);
        assert_true(addr_eq(&a, &b));
        b.port = 80;
        assert_false(addr_eq(&a, &b));
    }
}

static void
a_mapped_peer_is_ipv4(void **state)
{
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
    struct sockaddr_storage ss = { 0 };
    struct addr a;
    char text[ADDR_TEXT];

    (void)state;
    in6.sin6_port = htons(80);
    memcpy(in6.sin6_addr.s6_addr, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\1\2\3", 16);
    memcpy(&ss, &in6, sizeof(in6));
    addr_from_socket(&a, &ss);
    assert_string_equal(addr_text(&a, text), "10.1.2.3:80");
}

static void
the_longest_text_fits(void **state)
{
    struct addr a = { .family = AF_INET6, .port = 65535 };
    char text[ADDR_TEXT];

    (void)state;
    memset(a.ip, 0xfe, 16);
    assert_string_equal(addr_text(&a, text),
                        "[fefe:fefe:fefe:fefe:fefe:fefe:fefe:fefe]:65535");
}

static bool
is(bool (*kind)(const struct addr *), const char *text)
{
    struct addr a;

    assert_int_equal(addr_parse_ip(str_from(text), &a), 0);
    return kind(&a);
}

static void
kinds(void **state)
{
    const struct addr local = { .family = AF_UNIX };

    (void)state;
    assert_true(addr_is_loopback(&local));
    assert_true(is(addr_is_loopback, "127.255.0.1"));
    assert_true(is(addr_is_loopback, "::1"));
    assert_true(is(addr_is_loopback, "::ffff:127.0.0.1"));
    assert_false(is(addr_is_loopback, "128.0.0.1"));
    assert_false(is(addr_is_loopback, "::2"));
    assert_true(is(addr_is_private, "10.0.0.1"));
    assert_true(is(addr_is_private, "172.16.0.1"));
    assert_true(is(addr_is_private, "172.31.255.255"));
    assert_true(is(addr_is_private, "192.168.0.1"));
    assert_true(is(addr_is_private, "100.64.0.1"));
    assert_true(is(addr_is_private, "100.127.255.255"));
    assert_true(is(addr_is_private, "fc00::1"));
    assert_true(is(addr_is_private, "fdff::1"));
    assert_false(is(addr_is_private, "172.32.0.1"));
    assert_false(is(addr_is_private, "172.15.0.1"));
    assert_false(is(addr_is_private, "192.169.0.1"));
    assert_false(is(addr_is_private, "100.128.0.1"));
    assert_false(is(addr_is_private, "11.0.0.1"));
    assert_false(is(addr_is_private, "fe00::1"));
    assert_false(is(addr_is_private, "127.0.0.1"));
    assert_false(addr_is_private(&local));
    assert_true(is(addr_is_linklocal, "169.254.1.1"));
    assert_true(is(addr_is_linklocal, "fe80::1"));
    assert_true(is(addr_is_linklocal, "febf::1"));
    assert_false(is(addr_is_linklocal, "169.253.1.1"));
    assert_false(is(addr_is_linklocal, "fec0::1"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listen_addresses),
        cmocka_unit_test(unix_paths),
        cmocka_unit_test(wrong_listen_addresses),
        cmocka_unit_test(ips),
        cmocka_unit_test(to_sockets_and_back),
        cmocka_unit_test(a_mapped_peer_is_ipv4),
        cmocka_unit_test(the_longest_text_fits),
        cmocka_unit_test(kinds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

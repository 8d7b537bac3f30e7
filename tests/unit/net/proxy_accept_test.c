/*
 * Reading PROXY protocol headers from sockets: whose word counts, pieces, not
 * a byte too many, every way not to be handed on.
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

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "counted.h"
#include "net/proxy_accept.h"

#define LINE "PROXY TCP4 192.0.2.1 10.0.0.1 40000 1935\r\n"

static struct loop *l;
static struct pool *pool;
static const struct access_list *trusted;
static struct conn_socket got; /* what was handed on; fd -1: nothing */
static int ours;               /* the peer's end */

static void
quiet(void *arg, const char *line, size_t len)
{
    (void)arg;
    (void)line;
    (void)len;
}

static void
on_socket(void *arg, const struct conn_socket *s)
{
    assert_ptr_equal(arg, &got);
    assert_int_equal(got.fd, -1);
    got = *s;
}

static int
set_up(void **state)
{
    static const struct str names[] = { { "192.0.2.0/24", 12 },
                                        { "unix:", 5 } };
    struct errmsg err;

    (void)state;
    log_set_sink(quiet, NULL);
    got = (struct conn_socket){ .fd = -1 };
    pool = pool_new(1024);
    trusted = access_parse_names(pool, names, 2);
    l = loop_new(&err);
    return l == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
    (void)state;
    if (got.fd != -1) {
        close(got.fd);
    }
    close(ours);
    loop_free(&l);
    pool_free(&pool);
    log_set_sink(NULL, NULL);
    return 0;
}

/* Sends first, then lets a socket from that peer be read. */
static void
connect_from(const char *peer, const char *first)
{
    struct conn_socket s = { .fd = -1 };
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    ours = fds[0];
    s.fd = fds[1];
    fcntl(s.fd, F_SETFL, O_NONBLOCK);
    assert_int_equal(addr_parse_ip(str_from(peer), &s.peer), 0);
    if (first[0] != '\0') {
        assert_true(send(ours, first, strlen(first), 0) > 0);
    }
    proxy_read(l, &s, trusted, on_socket, &got);
}

static bool
is_closed(void)
{
    char c;

    return recv(ours, &c, 1, MSG_DONTWAIT) == 0 ||
           recv(ours, &c, 1, MSG_DONTWAIT) == 0;
}

static void
check_addr(const struct addr *a, const char *text)
{
    char is[ADDR_TEXT];

    assert_string_equal(addr_text(a, is), text);
}

static void
at_once(void **state)
{
    char rest[16];

    (void)state;
    connect_from("192.0.2.9", LINE "GET /");
    check_addr(&got.peer, "192.0.2.1:40000");
    check_addr(&got.local, "10.0.0.1:1935");
    check_addr(&got.via, "192.0.2.9:0");
    assert_int_equal(recv(got.fd, rest, sizeof(rest), 0), 5);
    assert_memory_equal(rest, "GET /", 5);
}

static void
byte_by_byte(void **state)
{
    char rest[16];

    (void)state;
    connect_from("192.0.2.9", "");
    for (size_t i = 0; i < strlen(LINE); i++) {
        assert_int_equal(got.fd, -1);
        assert_int_equal(proxy_waiting(), 1);
        assert_int_equal(send(ours, &LINE[i], 1, 0), 1);
        loop_turn(l, 0);
    }
    check_addr(&got.peer, "192.0.2.1:40000");
    assert_int_equal(proxy_waiting(), 0);
    assert_int_equal(recv(got.fd, rest, 16, MSG_DONTWAIT), -1);
    loop_turn(l, 0);
}

static void
a_piece_and_the_rest_with_more(void **state)
{
    char rest[16];

    (void)state;
    connect_from("192.0.2.9", "PROXY TC");
    assert_true(send(ours, &(LINE "x")[8], strlen(LINE) - 7, 0) > 0);
    loop_turn(l, 0);
    check_addr(&got.peer, "192.0.2.1:40000");
    assert_int_equal(recv(got.fd, rest, 16, MSG_DONTWAIT), 1);
    assert_int_equal(rest[0], 'x');
}

static void
local_keeps_the_peer(void **state)
{
    (void)state;
    connect_from("192.0.2.9", "PROXY UNKNOWN\r\n");
    check_addr(&got.peer, "192.0.2.9:0");
    check_addr(&got.via, "192.0.2.9:0");
}

static void
untrusted(void **state)
{
    int64_t before = counted(NET_PROXY_REFUSED, PROXY_UNTRUSTED);

    (void)state;
    connect_from("192.0.3.9", LINE);
    assert_int_equal(got.fd, -1);
    assert_int_equal(counted(NET_PROXY_REFUSED, PROXY_UNTRUSTED), before + 1);
    assert_int_equal(proxy_waiting(), 0);
}

static void
malformed(void **state)
{
    int64_t before = counted(NET_PROXY_REFUSED, PROXY_WRONG);

    (void)state;
    connect_from("192.0.2.9", "GET / HTTP/1.1\r\n");
    assert_int_equal(got.fd, -1);
    assert_int_equal(counted(NET_PROXY_REFUSED, PROXY_WRONG), before + 1);
    close(ours);
    connect_from("192.0.2.9", "PROXY ");
    assert_int_equal(send(ours, "\r\n", 2, 0), 2);
    loop_turn(l, 0);
    assert_int_equal(counted(NET_PROXY_REFUSED, PROXY_WRONG), before + 2);
    assert_int_equal(proxy_waiting(), 0);
    assert_true(is_closed());
}

static void
checks_are_not_counted(void **state)
{
    int64_t before = counted(NET_PROXY_REFUSED, PROXY_CUT);

    (void)state;
    connect_from("192.0.2.9", "");
    close(ours);
    loop_turn(l, 0);
    assert_int_equal(proxy_waiting(), 0);
    assert_int_equal(counted(NET_PROXY_REFUSED, PROXY_CUT), before);
    connect_from("192.0.2.9", "PROXY T");
    shutdown(ours, SHUT_WR);
    loop_turn(l, 0);
    assert_int_equal(counted(NET_PROXY_REFUSED, PROXY_CUT), before + 1);
    assert_int_equal(got.fd, -1);
}

static void
too_slow(void **state)
{
    int64_t before = counted(NET_PROXY_REFUSED, PROXY_SLOW);
    int64_t began = loop_now(l);

    (void)state;
    connect_from("192.0.2.9", "PROXY ");
    while (proxy_waiting() > 0) {
        loop_turn(l, 10000);
    }
    assert_true(loop_now(l) - began >= PROXY_WAIT_MS);
    assert_int_equal(counted(NET_PROXY_REFUSED, PROXY_SLOW), before + 1);
    assert_true(is_closed());
}

static void
stop_closes_who_waits(void **state)
{
    (void)state;
    connect_from("192.0.2.9", "PROXY ");
    proxy_stop();
    assert_int_equal(proxy_waiting(), 0);
    assert_true(is_closed());
    loop_turn(l, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(byte_by_byte, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_piece_and_the_rest_with_more, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(local_keeps_the_peer, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(untrusted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(malformed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(checks_are_not_counted, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(too_slow, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stop_closes_who_waits, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

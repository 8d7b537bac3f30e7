/*
 * Options of listeners: what their connections inherit, and families.
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
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "net/listen.h"

static struct listener *
must_open(const char *text, const struct listen_options *o)
{
    struct addr_listen where;
    struct errmsg err;

    assert_int_equal(addr_parse_listen(str_from(text), &where, &err), 0);
    struct listener *l = listener_open(&where, text, "rtmp", o, &err);

    if (l == NULL) {
        fail_msg("%s", err.text);
    }
    return l;
}

/* A connection's client end; -1. */
static int
dial(const struct listener *l, const char *ip)
{
    struct sockaddr_storage ss;
    struct addr to;

    assert_int_equal(addr_parse_ip(str_from(ip), &to), 0);
    to.port = l->addr.port;
    socklen_t len = addr_to_socket(&to, &ss);
    int fd = socket(to.family, SOCK_STREAM, 0);

    if (connect(fd, (struct sockaddr *)&ss, len) == -1) {
        close(fd);
        return -1;
    }
    return fd;
}

static int
accepted(const struct listener *l)
{
    struct pollfd p = { .fd = l->fds[0], .events = POLLIN };

    assert_int_equal(poll(&p, 1, 60000), 1);
    return accept(l->fds[0], NULL, NULL);
}

static int
option(int fd, int level, int name)
{
    int value = -1;
    socklen_t len = sizeof(value);

    assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
    return value;
}

static void
connections_inherit(void **state)
{
    const struct listen_options o = {
        .sockets = 1,
        .keep_alive = true,
        .user_timeout_ms = 30000,
        .rcvbuf = 32768,
        .sndbuf = 16384,
    };
    struct listener *l = must_open("127.0.0.1:0", &o);
    int ours = dial(l, "127.0.0.1"), fd = accepted(l);

    (void)state;
    assert_int_equal(option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
    assert_int_equal(option(fd, IPPROTO_TCP, TCP_KEEPIDLE), 60);
    assert_int_equal(option(fd, IPPROTO_TCP, TCP_KEEPINTVL), 15);
    assert_int_equal(option(fd, IPPROTO_TCP, TCP_KEEPCNT), 4);
    assert_int_equal(option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 30000);
    assert_int_not_equal(option(fd, IPPROTO_TCP, TCP_NODELAY), 0);
    assert_int_equal(option(fd, SOL_SOCKET, SO_RCVBUF), 2 * 32768);
    assert_int_equal(option(fd, SOL_SOCKET, SO_SNDBUF), 2 * 16384);
    close(ours);
    close(fd);
    listener_close(&l);
}

static void
tuned_later(void **state)
{
    struct listen_options o = { .sockets = 1, .keep_alive = true };
    struct listener *l = must_open("127.0.0.1:0", &o);

    (void)state;
    o.keep_alive = false;
    o.backlog = 7;
    listener_tune(l, &o);
    int ours = dial(l, "127.0.0.1"), fd = accepted(l);

    assert_int_equal(option(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
    struct tcp_info info;
    socklen_t len = sizeof(info);

    /* Of a listening socket this is its backlog. */
    assert_int_equal(getsockopt(l->fds[0], IPPROTO_TCP, TCP_INFO, &info, &len),
                     0);
    assert_int_equal(info.tcpi_sacked, 7);
    close(ours);
    close(fd);
    listener_close(&l);
}

static void
deferred(void **state)
{
    struct listen_options o = { .sockets = 1, .deferred = true };
    struct listener *l = must_open("127.0.0.1:0", &o);
    struct pollfd p = { .fd = l->fds[0], .events = POLLIN };
    int ours = dial(l, "127.0.0.1");

    (void)state;
    assert_int_equal(poll(&p, 1, 50), 0);
    assert_int_equal(send(ours, "x", 1, 0), 1);
    close(accepted(l));
    close(ours);
    listener_close(&l);
}

static void
families(void **state)
{
    static const struct {
        const char *listen;
        int only;
        bool four, six;
    } all[] = {
        { "0", IP6ONLY_AUTO, true, true },
        { "0", IP6ONLY_ON, false, true },
        { "0", IP6ONLY_OFF, true, true },
        { "[::]:0", IP6ONLY_AUTO, false, true },
        { "[::]:0", IP6ONLY_OFF, true, true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        const struct listen_options o = { .sockets = 2,
                                          .ip6only = all[i].only };
        struct listener *l = must_open(all[i].listen, &o);
        int four = dial(l, "127.0.0.1"), six = dial(l, "::1");

        assert_int_equal(four != -1, all[i].four);
        assert_int_equal(six != -1, all[i].six);
        close(four);
        close(six);
        listener_close(&l);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections_inherit),
        cmocka_unit_test(tuned_later),
        cmocka_unit_test(deferred),
        cmocka_unit_test(families),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

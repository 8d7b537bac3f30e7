/*
 * Listeners that are about to be closed: what is under way there arrives,
 * nothing new does.
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

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/listen.h"

#define WAIT_MS 60000

static struct listener *
must_open(const char *text, bool deferred)
{
    const struct listen_options o = { .sockets = 1, .deferred = deferred };
    struct addr_listen where;
    struct errmsg err;

    assert_int_equal(addr_parse_listen(str_from(text), &where, &err), 0);
    struct listener *l = listener_open(&where, text, "http", &o, &err);

    if (l == NULL) {
        fail_msg("%s", err.text);
    }
    return l;
}

/* A connection's client end, that may not be connected yet. */
static int
dial(const struct listener *l)
{
    struct sockaddr_storage ss;
    socklen_t len = addr_to_socket(&l->addr, &ss);
    int fd = socket(l->addr.family, SOCK_STREAM | SOCK_NONBLOCK, 0);

    if (connect(fd, (struct sockaddr *)&ss, len) == -1) {
        assert_int_equal(errno, EINPROGRESS);
    }
    return fd;
}

static void
is_connected(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLOUT };

    assert_int_equal(poll(&p, 1, WAIT_MS), 1);
    assert_int_equal(p.revents, POLLOUT);
}

/* The next in the queue is fd's other end. */
static void
accepts(const struct listener *l, int fd)
{
    struct pollfd p = { .fd = l->fds[0], .events = POLLIN };
    struct sockaddr_storage ss;
    struct addr from, ours;
    socklen_t len = sizeof(ss);

    assert_int_equal(poll(&p, 1, WAIT_MS), 1);
    int got = accept(l->fds[0], (struct sockaddr *)&ss, &len);

    assert_int_not_equal(got, -1);
    addr_from_socket(&from, &ss);
    len = sizeof(ss);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&ss, &len), 0);
    addr_from_socket(&ours, &ss);
    assert_int_equal(from.port, ours.port);
    close(got);
    close(fd);
}

/* Who comes while it is retired has to come again: later than who comes when
 * it has been started again. */
static void
tcp_ends_and_begins(const char *text)
{
    struct listener *l = must_open(text, false);
    struct errmsg err;
    int before = dial(l), meanwhile, after;

    is_connected(before);
    assert_false(listener_retires(l->fds[0]));
    listener_retire(l);
    assert_true(listener_retires(l->fds[0]));
    meanwhile = dial(l);
    accepts(l, before);
    assert_int_equal(accept(l->fds[0], NULL, NULL), -1);
    assert_int_equal(errno, EAGAIN);

    assert_int_equal(listener_start(l, &err), 0);
    assert_false(listener_retires(l->fds[0]));
    after = dial(l);
    is_connected(after);
    accepts(l, after);
    accepts(l, meanwhile);
    listener_close(&l);
}

static void
nothing_new_comes(void **state)
{
    (void)state;
    tcp_ends_and_begins("127.0.0.1:0");
    tcp_ends_and_begins("[::1]:0");
}

/* Half a handshake: the kernel waits for the first byte. */
static void
what_is_under_way_arrives(void **state)
{
    struct listener *l = must_open("127.0.0.1:0", true);
    int fd = dial(l);

    (void)state;
    is_connected(fd);
    assert_int_equal(accept(l->fds[0], NULL, NULL), -1);
    listener_retire(l);
    assert_int_equal(write(fd, "GET", 3), 3);
    accepts(l, fd);
    listener_close(&l);
}

/* Nobody finds the way, but who has found it is served, and the path is free
 * for somebody else, whose it stays. */
static void
a_unix_path_is_gone_at_once(void **state)
{
    char path[64], text[80];
    struct sockaddr_un un = { .sun_family = AF_UNIX };

    (void)state;
    snprintf(path, sizeof(path), "/tmp/weir-retire-%d.sock", (int)getpid());
    snprintf(text, sizeof(text), "unix:%s", path);
    memcpy(un.sun_path, path, strlen(path) + 1);
    struct listener *l = must_open(text, false);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    assert_int_equal(connect(fd, (struct sockaddr *)&un, sizeof(un)), 0);
    listener_retire(l);
    assert_true(listener_retires(l->fds[0]));
    assert_int_equal(access(path, F_OK), -1);
    int got = accept(l->fds[0], NULL, NULL);

    assert_int_not_equal(got, -1);
    struct listener *next = must_open(text, false);

    listener_close(&l);
    assert_int_equal(access(path, F_OK), 0);
    listener_close(&next);
    assert_int_equal(access(path, F_OK), -1);
    close(got);
    close(fd);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_new_comes),
        cmocka_unit_test(what_is_under_way_arrives),
        cmocka_unit_test(a_unix_path_is_gone_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Accepting: batches, pausing, stopping, rest without descriptors.
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
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "net/listen.h"

#define MANY 100

static struct loop *l;
static struct listener *listener;

struct server {
    struct acceptor *a;
    int fds[MANY];
    int count;
    int pause_at, stop_at; /* 0: never */
    struct addr peer, local;
};

static void
on_accept(void *arg, const struct conn_socket *socket)
{
    struct server *s = arg;

    s->fds[s->count++] = socket->fd;
    s->peer = socket->peer;
    s->local = socket->local;
    if (s->count == s->pause_at) {
        acceptor_pause(s->a, true);
    }
    if (s->count == s->stop_at) {
        acceptor_stop(&s->a);
    }
}

static int
set_up(void **state)
{
    struct listen_options o = { .backlog = 1000, .sockets = 1 };
    struct addr_listen where;
    struct errmsg err;

    (void)state;
    l = loop_new(&err);
    if (l == NULL ||
        addr_parse_listen(STR("127.0.0.1:0"), &where, &err) == -1) {
        return -1;
    }
    listener = listener_open(&where, "127.0.0.1:0", "rtmp", &o, &err);
    return listener == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
    (void)state;
    listener_close(&listener);
    loop_free(&l);
    return 0;
}

static int
dial(void)
{
    struct sockaddr_storage ss;
    socklen_t len = addr_to_socket(&listener->addr, &ss);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(connect(fd, (struct sockaddr *)&ss, len), 0);
    return fd;
}

static void
serve(struct server *s)
{
    memset(s, 0, sizeof(*s));
    s->a = acceptor_start(l, listener->fds[0], on_accept, s);
    assert_non_null(s->a);
}

static void
finish(struct server *s)
{
    acceptor_stop(&s->a);
    for (int i = 0; i < s->count; i++) {
        close(s->fds[i]);
    }
}

static int
option(int fd, int name)
{
    int value = 0;
    socklen_t len = sizeof(value);

    assert_int_equal(getsockopt(fd, IPPROTO_TCP, name, &value, &len), 0);
    return value;
}

static void
says_who_came(void **state)
{
    struct server s;
    struct sockaddr_storage ss;
    struct addr mine;
    socklen_t len = sizeof(ss);
    int fd = dial();

    (void)state;
    serve(&s);
    loop_turn(l, 1000);
    assert_int_equal(s.count, 1);
    assert_true(addr_eq(&s.local, &listener->addr));
    assert_int_equal(getsockname(fd, (struct sockaddr *)&ss, &len), 0);
    addr_from_socket(&mine, &ss);
    assert_true(addr_eq(&s.peer, &mine));
    assert_true(fcntl(s.fds[0], F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(s.fds[0], F_GETFL) & O_NONBLOCK);
    assert_int_equal(option(s.fds[0], TCP_NODELAY), 1);
    assert_int_equal(option(s.fds[0], TCP_NOTSENT_LOWAT), CONN_UNSENT);
    close(fd);
    finish(&s);
}

static void
a_turn_takes_a_batch(void **state)
{
    struct server s;
    int fds[MANY];

    (void)state;
    for (int i = 0; i < MANY; i++) {
        fds[i] = dial();
    }
    serve(&s);
    loop_turn(l, 1000);
    assert_int_equal(s.count, 64);
    loop_turn(l, 1000);
    assert_int_equal(s.count, MANY);
    for (int i = 0; i < MANY; i++) {
        close(fds[i]);
    }
    finish(&s);
}

/* They wait no longer than that, though a look a moment ago found no more. */
static void
a_burst_is_taken_within_a_millisecond(void **state)
{
    struct server s;
    int fds[10];

    (void)state;
    serve(&s);
    fds[0] = dial();
    loop_turn(l, 1000);
    assert_int_equal(s.count, 1);
    for (int i = 1; i < 10; i++) {
        fds[i] = dial();
    }
    loop_turn(l, 1000);
    assert_in_range(s.count, 2, 10);
    usleep(1000);
    loop_turn(l, 0);
    assert_int_equal(s.count, 10);
    for (int i = 0; i < 10; i++) {
        close(fds[i]);
    }
    finish(&s);
}

static void
paused_and_stopped_within_the_batch(void **state)
{
    struct server s;
    int fds[5];

    (void)state;
    for (int i = 0; i < 5; i++) {
        fds[i] = dial();
    }
    serve(&s);
    s.pause_at = 2;
    s.stop_at = 4;
    loop_turn(l, 1000);
    loop_turn(l, 0);
    assert_int_equal(s.count, 2);
    acceptor_pause(s.a, false);
    loop_turn(l, 1000);
    assert_int_equal(s.count, 4);
    assert_null(s.a);
    loop_turn(l, 0);
    assert_int_equal(s.count, 4);
    for (int i = 0; i < 5; i++) {
        close(fds[i]);
    }
    finish(&s);
}

static int complaints;

static void
count_complaints(void *arg, const char *line, size_t len)
{
    (void)arg;
    (void)len;
    complaints += strstr(line, "cannot accept connections: Too many open "
                               "files") != NULL;
}

static void
rests_without_descriptors(void **state)
{
    struct rlimit old, none;
    struct server s;
    int fd = dial();
    int64_t began = clock_ms();
    int turns = 0;

    (void)state;
    log_set_sink(count_complaints, NULL);
    complaints = 0;
    serve(&s);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = (struct rlimit){ 3, old.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    while (clock_ms() - began < 350) {
        loop_turn(l, -1);
        turns++;
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(s.count, 0);
    assert_true(turns < 50); /* it rests instead of spinning */
    assert_int_equal(complaints, 1);
    while (s.count == 0) {
        loop_turn(l, 1000);
    }
    log_set_sink(NULL, NULL);
    close(fd);
    finish(&s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(says_who_came),
        TEST(a_turn_takes_a_batch),
        TEST(a_burst_is_taken_within_a_millisecond),
        TEST(paused_and_stopped_within_the_batch),
        TEST(rests_without_descriptors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

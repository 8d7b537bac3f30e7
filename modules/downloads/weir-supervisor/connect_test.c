/*
 * A process that is filtered as an engine is, whose socket() and connect() are
 * answered here.  Two listeners stand for the proxy and for another server.
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

#include "supervise.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    int proxy, other; /* they listen */
    uint16_t port, other_port;
} t;

/* ---- each test ---- */

static int
listen_somewhere(uint16_t *port)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(fd, 256), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    *port = ntohs(at.sin_port);
    return fd;
}

static int
begin(void **state)
{
    (void)state;
    if (!sandbox_can_give()) {
        print_message("not run: needs Linux 5.9, and no other listener\n");
        skip();
    }
    t.proxy = listen_somewhere(&t.port);
    t.other = listen_somewhere(&t.other_port);
    return 0;
}

/* Nobody was connected to the other server. */
static int
finish(void **state)
{
    (void)state;
    assert_int_equal(accept(t.other, NULL, NULL), -1);
    close(t.proxy);
    close(t.other);
    return 0;
}

/* ---- the engine and its supervisor ---- */

static void
serve(int listener, uint16_t port)
{
    const struct supervise s = { .port = port };
    struct sandbox_told told = { .count = 0 };
    struct pollfd wait = { listener, POLLIN, 0 };

    while (poll(&wait, 1, -1) == 1 && wait.revents & POLLIN) {
        supervise_hear(&s, listener, &told);
    }
    close(listener);
}

/* The status of a process that calls f, which returns the line of what was
 * wrong, or 0. */
static int
status_of(int (*f)(void), uint16_t port)
{
    pid_t supervisor = getpid(), pid;
    int ends[2], status;

    assert_int_equal(
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    pid = fork();
    assert_int_not_equal(pid, -1);
    if (pid == 0) {
        close(ends[0]);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
            supervise_filter(SANDBOX_ENGINE_ASKS, supervisor, ends[1]) == -1) {
            _exit(255);
        }
        for (int fd = 3; fd < 64; fd++) {
            close(fd); /* the listener, too */
        }
        _exit(f());
    }
    close(ends[1]);
    serve(supervise_listener(ends[0]), port);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* In the engine: its caller returns the line if it is not so. */
#define NEED(condition)                                                  \
    do {                                                                 \
        if (!(condition)) {                                              \
            fprintf(stderr, "line %d: %s\n", __LINE__, strerror(errno)); \
            return 1;                                                    \
        }                                                                \
    } while (0)

static struct sockaddr_in
at_port(uint16_t port)
{
    return (struct sockaddr_in){ .sin_family = AF_INET,
                                 .sin_port = htons(port),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static int
connect_v4(int fd, const char *address, uint16_t port)
{
    struct sockaddr_in to = at_port(port);

    inet_pton(AF_INET, address, &to.sin_addr);
    return connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 ? 0 : errno;
}

static int
connect_v6(int fd, const char *address, uint16_t port)
{
    struct sockaddr_in6 to = { .sin6_family = AF_INET6,
                               .sin6_port = htons(port) };

    inet_pton(AF_INET6, address, &to.sin6_addr);
    return connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 ? 0 : errno;
}

static bool
is_at_proxy(int fd)
{
    struct sockaddr_storage at;
    const struct sockaddr_in *in = (const void *)&at;
    const struct sockaddr_in6 *in6 = (const void *)&at;
    socklen_t size = sizeof(at);

    return getpeername(fd, (struct sockaddr *)&at, &size) == 0 &&
           (at.ss_family == AF_INET
                ? in->sin_port == htons(t.port)
                : in6->sin6_port == htons(t.port) &&
                      IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr));
}

/* ---- what it is for ---- */

static int
reach_proxy(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0), error = -1;
    socklen_t size = sizeof(error);

    NEED(fd != -1 && (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0);
    NEED(fcntl(fd, F_GETFD) == 0);
    NEED(connect_v4(fd, "127.0.0.1", t.port) == 0);
    NEED(is_at_proxy(fd));
    NEED(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0);
    NEED(error == 0);
    NEED(write(fd, "hello", 5) == 5);
    return 0;
}

static void
test_the_proxy_is_reached(void **state)
{
    char said[8] = "";
    int fd;

    (void)state;
    assert_int_equal(status_of(reach_proxy, t.port), 0);
    fd = accept(t.proxy, NULL, NULL);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, said, sizeof(said)), 5);
    assert_string_equal(said, "hello");
    assert_int_equal(read(fd, said, sizeof(said)), 0); /* nobody else has it */
    close(fd);
}

/* Options from before connect() stay. */
static int
keep_options(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                    IPPROTO_TCP);
    int on = 1, same = dup(fd);
    socklen_t size = sizeof(on);

    NEED((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
    NEED(fcntl(fd, F_GETFD) == FD_CLOEXEC);
    NEED(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0);
    NEED(connect_v4(fd, "127.0.0.1", t.port) == 0);
    on = 0;
    NEED(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &size) == 0 && on);
    NEED((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0 && is_at_proxy(same));
    NEED(read(fd, &on, 1) == -1 && errno == EAGAIN);
    return 0;
}

static void
test_options_are_kept(void **state)
{
    (void)state;
    assert_int_equal(status_of(keep_options, t.port), 0);
}

static int
use_v6(void)
{
    int fd = socket(AF_INET6, SOCK_STREAM, 0);

    if (fd == -1 && errno == EAFNOSUPPORT) {
        return 0;
    }
    NEED(fd != -1 && connect_v6(fd, "::ffff:127.0.0.1", t.port) == 0);
    NEED(is_at_proxy(fd));
    NEED(connect_v6(fd, "::1", t.port) == ECONNREFUSED);
    NEED(connect_v6(fd, "::ffff:127.0.0.1", t.other_port) == EACCES);
    NEED(connect_v6(fd, "::ffff:127.0.0.2", t.port) == EACCES);
    NEED(connect_v6(fd, "::1", t.other_port) == EACCES);
    return 0;
}

static void
test_v6(void **state)
{
    (void)state;
    assert_int_equal(status_of(use_v6, t.port), 0);
}

/* ---- what it is against ---- */

/* Landlock holds a port, of whatever address: it is asked with any Landlock. */
static void
test_it_asks(void **state)
{
    const struct supervise with = { .port = 1 }, without = { .port = 0 };

    (void)state;
    assert_true(supervise_asks(&with) & SANDBOX_ENGINE_ASKS);
    assert_true(supervise_asks(&without) & SANDBOX_ENGINE_ASKS);
}

static int
go_elsewhere(void)
{
    struct sockaddr nowhere = { .sa_family = AF_UNSPEC };
    struct sockaddr_in to = at_port(t.port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    NEED(connect_v4(fd, "127.0.0.1", t.other_port) == EACCES);
    NEED(connect_v4(fd, "127.0.0.2", t.port) == EACCES);
    NEED(connect_v4(fd, "0.0.0.0", t.port) == EACCES);
    /* to be without a connection, for another one */
    NEED(connect(fd, &nowhere, sizeof(nowhere)) == -1 && errno == EACCES);
    NEED(connect(fd, NULL, sizeof(to)) == -1 && errno == EFAULT);
    NEED(connect(fd, (struct sockaddr *)&to, 8) == -1 && errno == EACCES);
    NEED(connect(fd, (struct sockaddr *)&to, 4096) == -1 && errno == EINVAL);
    NEED(is_at_proxy(fd));
    NEED(connect_v4(fd, "127.0.0.1", t.other_port) == EACCES);
    return 0;
}

static void
test_nothing_else_is_reached(void **state)
{
    (void)state;
    assert_int_equal(status_of(go_elsewhere, t.port), 0);
}

static int
make_others(void)
{
    static const int kinds[][3] = {
        { AF_UNIX, SOCK_STREAM, 0 },   { AF_INET, SOCK_DGRAM, 0 },
        { AF_INET, SOCK_STREAM, 262 }, { AF_INET6, SOCK_STREAM, 132 },
        { AF_NETLINK, SOCK_RAW, 0 },   { AF_INET, SOCK_RAW, IPPROTO_TCP },
        { AF_PACKET, SOCK_DGRAM, 0 },
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        NEED(socket(kinds[i][0], kinds[i][1], kinds[i][2]) == -1 &&
             errno == EACCES);
    }
    return 0;
}

static void
test_no_other_sockets(void **state)
{
    (void)state;
    assert_int_equal(status_of(make_others, t.port), 0);
}

static int
have_no_port(void)
{
    NEED(socket(AF_INET, SOCK_STREAM, 0) == -1 && errno == EACCES);
    NEED(connect_v4(0, "127.0.0.1", t.port) == EACCES);
    NEED(connect_v4(0, "127.0.0.1", 0) == EACCES);
    return 0;
}

static void
test_without_a_port(void **state)
{
    (void)state;
    assert_int_equal(status_of(have_no_port, 0), 0);
}

/* A thread that changes the address while it is looked at. */
static _Atomic bool raced;

static void *
change(void *to)
{
    struct sockaddr_in *in = to;

    while (!atomic_load(&raced)) {
        *(volatile uint16_t *)&in->sin_port = htons(t.other_port);
        *(volatile uint16_t *)&in->sin_port = htons(t.port);
    }
    return NULL;
}

static int
race(void)
{
    struct sockaddr_in to = at_port(t.port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    pthread_t thread;

    NEED(pthread_create(&thread, NULL, change, &to) == 0);
    for (int i = 0; i < 5000; i++) {
        int rc = connect(fd, (struct sockaddr *)&to, sizeof(to));

        NEED(rc == 0 || errno == EACCES);
    }
    atomic_store(&raced, true);
    pthread_join(thread, NULL);
    NEED(is_at_proxy(fd));
    return 0;
}

static void
test_an_address_that_changes(void **state)
{
    (void)state;
    assert_int_equal(status_of(race, t.port), 0);
}

/* ---- bounds ---- */

/* Each connection that is dropped is gone: the supervisor keeps none. */
static int
make_many(void)
{
    for (int i = 0; i < 2000; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        NEED(fd != -1 && close(fd) == 0);
    }
    return 0;
}

static int
count_files(void)
{
    int count = 0;

    for (int fd = 0; fd < 256; fd++) {
        count += fcntl(fd, F_GETFD) != -1;
    }
    return count;
}

static void
test_none_is_kept(void **state)
{
    int before = count_files();

    (void)state;
    assert_int_equal(status_of(make_many, t.port), 0);
    assert_int_equal(count_files(), before);
}

static int
have_no_room(void)
{
    struct rlimit few = { 8, 8 };
    int made = 0, fd;

    NEED(setrlimit(RLIMIT_NOFILE, &few) == 0);
    while ((fd = socket(AF_INET, SOCK_STREAM, 0)) != -1 && made < 10) {
        made++;
    }
    NEED(fd == -1 && errno == EMFILE && made == 5);
    return 0;
}

static void
test_limits_of_the_engine_hold(void **state)
{
    (void)state;
    assert_int_equal(status_of(have_no_room, t.port), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_proxy_is_reached, begin,
                                        finish),
        cmocka_unit_test_setup_teardown(test_it_asks, begin, finish),
        cmocka_unit_test_setup_teardown(test_options_are_kept, begin, finish),
        cmocka_unit_test_setup_teardown(test_v6, begin, finish),
        cmocka_unit_test_setup_teardown(test_nothing_else_is_reached, begin,
                                        finish),
        cmocka_unit_test_setup_teardown(test_no_other_sockets, begin, finish),
        cmocka_unit_test_setup_teardown(test_without_a_port, begin, finish),
        cmocka_unit_test_setup_teardown(test_an_address_that_changes, begin,
                                        finish),
        cmocka_unit_test_setup_teardown(test_none_is_kept, begin, finish),
        cmocka_unit_test_setup_teardown(test_limits_of_the_engine_hold, begin,
                                        finish),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

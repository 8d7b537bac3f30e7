/*
 * Messages on a mailbox: damage is noticed, no descriptor is left.
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
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "proc/bus_wire.h"

static int pair[2];
static uint8_t buffer[BUS_BUFFER];
static int complaints;

static void
count_complaints(void *arg, const char *line, size_t len)
{
    (void)arg;
    (void)line;
    (void)len;
    complaints++;
}

static size_t
open_descriptors(void)
{
    size_t n = 0;

    for (int fd = 0; fd < 1000; fd++) {
        n += fcntl(fd, F_GETFD) != -1;
    }
    return n;
}

static int
set_up(void **state)
{
    int on = 1;

    (void)state;
    complaints = 0;
    log_set_sink(count_complaints, NULL);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair) == -1) {
        return -1;
    }
    return setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
}

static int
tear_down(void **state)
{
    (void)state;
    log_set_sink(NULL, NULL);
    close(pair[0]);
    close(pair[1]);
    return 0;
}

static void
whole_messages(void **state)
{
    struct bus_wire w = { .head = { .type = 7, .from = 1, .to = 2, .len = 5 },
                          .data = "hello" };
    struct bus_wire got;

    (void)state;
    assert_int_equal(bus_wire_recv(pair[0], buffer, &got), BUS_NOTHING);
    assert_int_equal(bus_wire_send(pair[1], &w), 0);
    w.head.len = 0;
    assert_int_equal(bus_wire_send(pair[1], &w), 0);
    assert_int_equal(bus_wire_recv(pair[0], buffer, &got), BUS_MESSAGE);
    assert_int_equal(got.head.type, 7);
    assert_int_equal(got.head.from, 1);
    assert_int_equal(got.pid, getpid()); /* whatever the head says */
    assert_int_equal(got.head.to, 2);
    assert_int_equal(got.head.len, 5);
    assert_memory_equal(got.data, "hello", 5);
    assert_int_equal(got.fd_count, 0);
    assert_int_equal(bus_wire_recv(pair[0], buffer, &got), BUS_MESSAGE);
    assert_int_equal(got.head.len, 0);
    assert_int_equal(bus_wire_recv(pair[0], buffer, &got), BUS_NOTHING);
    assert_int_equal(complaints, 0);
}

static void
descriptors_come_along(void **state)
{
    struct bus_wire w = { .head = { .flags = BUS_WITH_FD },
                          .fds = { 0 },
                          .fd_count = 1 };
    struct bus_wire got;
    int ends[2];
    char byte;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    w.fds[0] = ends[1];
    assert_int_equal(bus_wire_send(pair[1], &w), 0);
    close(ends[1]);
    assert_int_equal(bus_wire_recv(pair[0], buffer, &got), BUS_MESSAGE);
    assert_int_equal(got.fd_count, 1);
    assert_true(fcntl(got.fds[0], F_GETFD) & FD_CLOEXEC);
    assert_int_equal(write(got.fds[0], "x", 1), 1);
    bus_wire_close(&got);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
}

static void
is_damaged(const struct bus_wire *w)
{
    struct bus_wire got;
    size_t before = open_descriptors();
    int said = complaints;

    assert_int_equal(bus_wire_send(pair[1], w), 0);
    assert_int_equal(bus_wire_recv(pair[0], buffer, &got), BUS_DAMAGED);
    assert_int_equal(complaints, said + 1);
    assert_int_equal(open_descriptors(), before);
}

static void
damage_is_noticed(void **state)
{
    struct bus_wire got, w = { .head = { .flags = BUS_WITH_FD } };

    (void)state;
    is_damaged(&w); /* promised a descriptor */
    w = (struct bus_wire){ .fds = { 0 }, .fd_count = 1 };
    is_damaged(&w); /* one that nobody expects */
    w.head.flags = BUS_WITH_FD;
    w.fds[1] = 1;
    w.fd_count = 2;
    is_damaged(&w);
    w = (struct bus_wire){ .head = { .flags = BUS_BIG } };
    is_damaged(&w);

    assert_int_equal(write(pair[1], "short", 5), 5);
    assert_int_equal(bus_wire_recv(pair[0], buffer, &got), BUS_DAMAGED);
    memset(buffer, 0, sizeof(buffer)); /* no magic */
    assert_int_equal(write(pair[1], buffer, 100), 100);
    assert_int_equal(bus_wire_recv(pair[0], buffer, &got), BUS_DAMAGED);
    uint8_t *big = mem_zero(sizeof(buffer) + 1);

    assert_int_equal(write(pair[1], big, sizeof(buffer) + 1),
                     sizeof(buffer) + 1);
    assert_int_equal(bus_wire_recv(pair[0], buffer, &got), BUS_DAMAGED);
    mem_free(&big);
    assert_int_equal(bus_wire_recv(pair[0], buffer, &got), BUS_NOTHING);
}

static size_t
packed(uint8_t *dst, uint32_t type, uint32_t flags, struct str data)
{
    struct bus_wire w = {
        .head = { .type = type, .flags = flags, .len = data.len },
        .data = data.ptr
    };

    assert_int_equal(bus_wire_size(&w) % 8, 0);
    assert_int_equal(bus_wire_pack(dst, &w), bus_wire_size(&w));
    return bus_wire_size(&w);
}

static void
several_in_a_packet(void **state)
{
    static uint8_t bytes[1000];
    size_t n = packed(bytes, 1, 0, STR("hello"));
    struct bus_wire got;

    (void)state;
    n += packed(bytes + n, 2, 0, STR(""));
    n += packed(bytes + n, 3, 0, STR("12345678"));
    assert_int_equal(bus_wire_send_packed(pair[1], bytes, n, NULL, 0), 0);
    assert_int_equal(bus_wire_recv(pair[0], buffer, &got), BUS_MESSAGE);
    assert_int_equal(got.head.type, 1);
    assert_int_equal(got.head.len, 5);
    assert_memory_equal(got.data, "hello", 5);
    assert_true(bus_wire_next(&got));
    assert_int_equal(got.head.type, 2);
    assert_int_equal(got.head.len, 0);
    assert_true(bus_wire_next(&got));
    assert_int_equal(got.head.type, 3);
    assert_memory_equal(got.data, "12345678", 8);
    assert_int_equal(got.pid, getpid());
    assert_false(bus_wire_next(&got));
    assert_int_equal(bus_wire_recv(pair[0], buffer, &got), BUS_NOTHING);
    assert_int_equal(complaints, 0);
}

static void
packet_is_damaged(const uint8_t *bytes, size_t n, const int *fds)
{
    struct bus_wire got;
    size_t before = open_descriptors();

    assert_int_equal(bus_wire_send_packed(pair[1], bytes, n, fds, fds != NULL),
                     0);
    assert_int_equal(bus_wire_recv(pair[0], buffer, &got), BUS_DAMAGED);
    assert_int_equal(open_descriptors(), before);
}

/* None of its messages is taken. */
static void
a_packet_of_which_a_part_is_damaged(void **state)
{
    static uint8_t bytes[1000];
    size_t first = packed(bytes, 1, 0, STR("hello")), n;
    const int input = 0;

    (void)state;
    n = first + packed(bytes + first, 2, 0, STR("hello"));
    packet_is_damaged(bytes, n - 9, NULL); /* short of data */
    packet_is_damaged(bytes, first + 39, NULL);
    packet_is_damaged(bytes, first + 8, NULL);
    bytes[first] ^= 1; /* the magic number */
    packet_is_damaged(bytes, n, NULL);
    bytes[first] ^= 1;
    bytes[first + 31] = 0x80; /* of the length */
    packet_is_damaged(bytes, n, NULL);
    packed(bytes + first, 2, BUS_WITH_FD, STR("hello"));
    packet_is_damaged(bytes, n, NULL);
    packet_is_damaged(bytes, n, &input);
    packed(bytes, 1, BUS_WITH_FD, STR("hello"));
    packed(bytes + first, 2, 0, STR("hello"));
    packet_is_damaged(bytes, n, &input); /* it goes alone */
}

/* Nothing is put behind the place that is made ready for them, and none is
 * left open: one of them may be a socket whose last close would wait. */
static void
more_descriptors_than_expected(void **state)
{
    int fds[200] = { 0, 1, 2 };
    char control[CMSG_SPACE(sizeof(fds))] = { 0 };
    struct iovec iov = { buffer, 10 };
    struct msghdr m = { .msg_iov = &iov,
                        .msg_iovlen = 1,
                        .msg_control = control,
                        .msg_controllen = sizeof(control) };
    struct cmsghdr *h = CMSG_FIRSTHDR(&m);
    struct bus_wire got;
    size_t before = open_descriptors();

    (void)state;
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(sizeof(fds));
    memcpy(CMSG_DATA(h), fds, sizeof(fds));
    assert_int_equal(sendmsg(pair[1], &m, 0), 10);
    assert_int_equal(bus_wire_recv(pair[0], buffer, &got), BUS_DAMAGED);
    assert_int_equal(open_descriptors(), before);
}

/* Only memory is read, and only as much as there is. */
static void
what_is_no_memory_is_not_read(void **state)
{
    FILE *file = tmpfile();
    int fd = bus_wire_store("hello", 5), ends[2];
    uint8_t *data = bus_wire_load(fd, 5);

    (void)state;
    assert_memory_equal(data, "hello", 5);
    mem_free(&data);
    assert_null(bus_wire_load(fd, 6));
    assert_int_equal(ftruncate(fd, 2), 0);
    assert_null(bus_wire_load(fd, 5));
    close(fd);
    assert_int_equal(pipe(ends), 0);
    assert_null(bus_wire_load(ends[0], 0));
    assert_null(bus_wire_load(ends[0], 5)); /* which would wait for ever */
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(fputs("hello", file) + fflush(file) >= 0, 1);
    assert_null(bus_wire_load(fileno(file), 5)); /* of a disk that hangs */
    fclose(file);
}

/* Its peer takes nothing, and the last close would wait for that. */
static void
a_lingering_socket_is_closed_at_once(void **state)
{
    struct linger wait = { .l_onoff = 1, .l_linger = 1000 };
    struct sockaddr_in a = { .sin_family = AF_INET };
    socklen_t len = sizeof(a);
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    int fd = socket(AF_INET, SOCK_STREAM, 0), peer;
    static char bytes[1 << 20];

    (void)state;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(listening, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(listen(listening, 1), 0);
    getsockname(listening, (struct sockaddr *)&a, &len);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, len), 0);
    peer = accept(listening, NULL, NULL);
    while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0) {
    }
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &wait, sizeof(wait));
    bus_wire_close_fd(fd);
    close(peer);
    close(listening);
}

static void
full_says_again(void **state)
{
    static uint8_t data[BUS_INLINE];
    struct bus_wire w = { .head = { .len = BUS_INLINE }, .data = data };
    struct bus_wire got;
    int sent = 0, came = 0;

    (void)state;
    while (bus_wire_send(pair[1], &w) == 0) {
        sent++;
    }
    assert_int_equal(errno, EAGAIN);
    while (bus_wire_recv(pair[0], buffer, &got) == BUS_MESSAGE) {
        assert_int_equal(got.head.len, BUS_INLINE);
        came++;
    }
    assert_true(sent > 1);
    assert_int_equal(came, sent);
    close(pair[0]);
    assert_int_equal(bus_wire_send(pair[1], &w), -1); /* and no SIGPIPE */
    assert_int_equal(errno, EPIPE);
    pair[0] = dup(pair[1]);
}

/* What is read of it would be a whole message. */
static void
a_packet_that_is_too_long(void **state)
{
    static uint8_t packet[BUS_BUFFER + 1];
    struct bus_wire w = { .head = { .type = 7, .len = BUS_INLINE },
                          .data = mem_zero(BUS_INLINE) };
    struct bus_wire got;
    char *data = (char *)(uintptr_t)w.data;

    (void)state;
    assert_int_equal(bus_wire_pack(packet, &w), BUS_BUFFER);
    assert_int_equal(send(pair[1], packet, BUS_BUFFER, 0), BUS_BUFFER);
    assert_int_equal(bus_wire_recv(pair[0], buffer, &got), BUS_MESSAGE);
    assert_int_equal(send(pair[1], packet, BUS_BUFFER + 1, 0), BUS_BUFFER + 1);
    assert_int_equal(bus_wire_recv(pair[0], buffer, &got), BUS_DAMAGED);
    mem_free(&data);
}

static void
stored_and_loaded(void **state)
{
    uint8_t *data = mem_alloc(100000), *back;
    size_t before = open_descriptors();

    (void)state;
    for (size_t i = 0; i < 100000; i++) {
        data[i] = (uint8_t)(i * 7);
    }
    int fd = bus_wire_store(data, 100000);

    assert_int_not_equal(fd, -1);
    back = bus_wire_load(fd, 100000);
    assert_memory_equal(back, data, 100000);
    mem_free(&back);
    assert_null(bus_wire_load(fd, 100001)); /* shorter than told */
    close(fd);
    assert_null(bus_wire_load(fd, 1));
    assert_int_equal(open_descriptors(), before);
    mem_free(&data);
}

/* Its sender still has it: what is read is whole, or is not taken. */
static void
memory_that_shrinks_meanwhile(void **state)
{
    enum { SIZE = 200000, TIMES = 20 };
    int whole = 0, none = 0;
    char *bytes = mem_zero(SIZE);
    int fd = bus_wire_store(bytes, SIZE);
    pid_t pid = fork();

    (void)state;
    while (pid == 0) {
        if (ftruncate(fd, 5000) == -1 || ftruncate(fd, SIZE) == -1) {
            _exit(1);
        }
    }
    while (whole < TIMES || none < TIMES) {
        char *data = bus_wire_load(fd, SIZE);

        assert_true(data == NULL || memcmp(data, bytes, SIZE) == 0);
        whole += data != NULL;
        none += data == NULL;
        mem_free(&data);
    }
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(fd);
    mem_free(&bytes);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(whole_messages),
        TEST(descriptors_come_along),
        TEST(damage_is_noticed),
        TEST(several_in_a_packet),
        TEST(a_packet_of_which_a_part_is_damaged),
        TEST(more_descriptors_than_expected),
        TEST(what_is_no_memory_is_not_read),
        TEST(memory_that_shrinks_meanwhile),
        TEST(a_lingering_socket_is_closed_at_once),
        TEST(full_says_again),
        TEST(a_packet_that_is_too_long),
        TEST(stored_and_loaded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

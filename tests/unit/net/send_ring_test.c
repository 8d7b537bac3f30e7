/*
 * The ring: sends that go well, half well and wrong, what it cannot be used
 * for, and what happens where the kernel does not serve it.
 *
 * Where io_uring is denied to the test itself, only the latter is tested.
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

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "net/send_ring.c" /* to ask the kernel what the ring never would */

#define BIG (4 * 1024 * 1024)

static struct send_ring *ring;
static int ends[SEND_RING_SIZE][2];
static ssize_t results[SEND_RING_SIZE];
static unsigned told;

static char word[] = "hello";
static struct iovec hello[2] = { { word, 3 }, { word + 3, 2 } };
static const struct msghdr one = { .msg_iov = hello, .msg_iovlen = 1 };
static const struct msghdr two = { .msg_iov = hello, .msg_iovlen = 2 };

/* arg: the index of a pair of sockets; they are told in order. */
static void
on_sent(void *arg, ssize_t sent)
{
    assert_int_equal((uintptr_t)arg, told);
    results[told++] = sent;
}

static void
add(unsigned i, const struct msghdr *m)
{
    send_ring_add(ring, ends[i][0], m, (void *)(uintptr_t)i);
}

static void
flush(void)
{
    told = 0;
    send_ring_flush(ring, on_sent);
    assert_true(send_ring_empty(ring));
}

static int
open_pairs(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SEND_RING_SIZE; i++) {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]) == -1) {
            return -1;
        }
    }
    return 0;
}

static int
close_pairs(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SEND_RING_SIZE; i++) {
        close(ends[i][0]);
        close(ends[i][1]);
    }
    return 0;
}

static int
set_up(void **state)
{
    struct errmsg err = { "" };

    ring = send_ring_open(&err);
    return ring == NULL ? -1 : open_pairs(state);
}

static int
tear_down(void **state)
{
    send_ring_close(&ring);
    assert_null(ring);
    return close_pairs(state);
}

static void
got(unsigned i, const char *text)
{
    char bytes[64];
    ssize_t n = recv(ends[i][1], bytes, sizeof(bytes), MSG_DONTWAIT);

    assert_int_equal(n, strlen(text));
    assert_memory_equal(bytes, text, (size_t)n);
}

/* ---- sends ---- */

static void
all_get_what_they_are_sent(void **state)
{
    (void)state;
    for (int round = 0; round < 5; round++) { /* around the ring */
        assert_true(send_ring_empty(ring));
        for (unsigned i = 0; i < SEND_RING_SIZE; i++) {
            assert_false(send_ring_full(ring));
            add(i, i % 2 == 0 ? &one : &two);
        }
        assert_true(send_ring_full(ring));
        flush();
        assert_int_equal(told, SEND_RING_SIZE);
        for (unsigned i = 0; i < SEND_RING_SIZE; i++) {
            assert_int_equal(results[i], i % 2 == 0 ? 3 : 5);
            got(i, i % 2 == 0 ? "hel" : "hello");
        }
    }
}

static void
nothing_goes_before_the_flush(void **state)
{
    char byte;

    (void)state;
    add(0, &two);
    assert_int_equal(recv(ends[0][1], &byte, 1, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
    flush();
    got(0, "hello");
    flush(); /* nothing is left */
    assert_int_equal(told, 0);
}

/* Short, then not at all; the sends beside it go well. */
static void
a_full_socket_is_told(void **state)
{
    struct iovec big = { mem_zero(BIG), BIG };
    const struct msghdr much = { .msg_iov = &big, .msg_iovlen = 1 };

    (void)state;
    add(0, &two);
    add(1, &much);
    add(2, &two);
    flush();
    assert_int_equal(told, 3);
    assert_int_equal(results[0], 5);
    assert_true(results[1] > 0 && results[1] < BIG);
    assert_int_equal(results[2], 5);
    add(0, &much);
    add(1, &two);
    flush();
    assert_true(results[0] > 0 && results[0] < BIG);
    assert_int_equal(results[1], -EAGAIN);
    mem_free(&big.iov_base);
}

/* No signal either: this process would be dead. */
static void
a_broken_connection_is_told(void **state)
{
    int other = dup(ends[2][0]);

    (void)state;
    signal(SIGPIPE, SIG_DFL);
    shutdown(ends[0][1], SHUT_RDWR);
    close(ends[2][0]);
    add(0, &one);
    add(1, &two);
    add(2, &one);
    flush();
    assert_int_equal(results[0], -EPIPE);
    assert_int_equal(results[1], 5);
    assert_int_equal(results[2], -EBADF);
    ends[2][0] = other;
    add(0, &two);
    flush();
    assert_int_equal(results[0], -EPIPE);
}

static void
on_sent_closes(void *arg, ssize_t sent)
{
    assert_int_equal(sent, 5);
    for (unsigned i = 0; i < 4; i++) {
        shutdown(ends[i][0], SHUT_RDWR);
    }
    send_ring_flush(ring, on_sent);
    on_sent(arg, sent);
}

static void
what_is_told_may_close(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        add(i, &two);
    }
    told = 0;
    send_ring_flush(ring, on_sent_closes);
    assert_int_equal(told, 4);
    got(3, "hello");
}

/* ---- what the ring is not for ---- */

static int
flush_entry(uint8_t opcode, uint8_t flags)
{
    add(0, &one);
    ring->sqes[atomic_load(ring->sq_tail) & ring->sq_mask].opcode = opcode;
    ring->sqes[atomic_load(ring->sq_tail) & ring->sq_mask].flags = flags;
    flush();
    return (int)results[0];
}

static void
only_sends_are_allowed(void **state)
{
    int number = ends[0][0];

    (void)state;
    for (uint8_t op = 0; op < IORING_OP_LAST; op++) {
        if (op != IORING_OP_SEND && op != IORING_OP_SENDMSG) {
            assert_int_equal(flush_entry(op, 0), -EACCES);
        }
    }
    assert_int_equal(flush_entry(IORING_OP_SEND, IOSQE_ASYNC), -EACCES);
    assert_int_equal(flush_entry(IORING_OP_SEND, IOSQE_IO_LINK), -EACCES);
    assert_int_equal(flush_entry(IORING_OP_SEND, 0), 3);
    for (unsigned op = 0; op < IORING_REGISTER_LAST; op++) {
        assert_int_equal(
            syscall(SYS_io_uring_register, ring->fd, op, &number, 1), -1);
    }
    assert_int_equal(syscall(SYS_io_uring_register, ring->fd,
                             IORING_REGISTER_FILES, &number, 1),
                     -1);
    assert_int_equal(errno, EACCES);
}

/* ---- without the kernel's help ---- */

/* Denies a system call, with an error, to this process for good. */
static void
deny(long call, uint16_t with)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | with),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == -1) {
        perror("seccomp");
        _exit(99);
    }
}

/* Runs f in a child, which says by true that all was well. */
static void
in_a_child(bool (*f)(void))
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        _exit(f() ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static bool
is_refused_with(int number)
{
    struct errmsg err = { "" };
    int before = dup(0), after;

    deny(SYS_io_uring_setup, (uint16_t)number);
    ring = send_ring_open(&err);
    after = dup(0);
    return ring == NULL && strstr(err.text, strerror(number)) != NULL &&
           after == before + 1;
}

static bool
no_io_uring(void)
{
    return is_refused_with(ENOSYS);
}

static bool
not_permitted(void)
{
    return is_refused_with(EPERM);
}

static bool
no_restrictions(void)
{
    struct errmsg err = { "" };
    int before = dup(0), after;

    deny(SYS_io_uring_register, EINVAL);
    ring = send_ring_open(&err);
    after = dup(0);
    return ring == NULL && err.text[0] != '\0' && after == before + 1;
}

/* There is no ring without its restrictions. */
static void
a_denied_ring_is_not_opened(void **state)
{
    (void)state;
    in_a_child(no_io_uring);
    in_a_child(not_permitted);
    in_a_child(no_restrictions);
}

static void
note(void *arg, ssize_t sent)
{
    results[(uintptr_t)arg] = sent;
}

/* Two rounds: the first finds out.  The ring is this process's own. */
static bool
sends_without(int number, bool breaks)
{
    struct errmsg err = { "" };

    send_ring_close(&ring);
    ring = send_ring_open(&err);
    if (ring == NULL) {
        return false;
    }
    deny(SYS_io_uring_enter, (uint16_t)number);
    for (int round = 0; round < 2; round++) {
        add(0, &one);
        add(1, &two);
        shutdown(ends[2][1], SHUT_RDWR);
        add(2, &two);
        send_ring_flush(ring, note);
        if (results[0] != 3 || results[1] != 5 || results[2] != -EPIPE ||
            ring->broken != breaks) {
            return false;
        }
    }
    return send_ring_empty(ring);
}

static bool
enter_is_denied(void)
{
    return sends_without(EPERM, true);
}

static bool
no_memory_to_enter(void)
{
    return sends_without(ENOMEM, false);
}

/* Denies io_uring_enter with so many entries, to this process for good. */
static void
deny_entering(uint32_t entries)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_enter, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                 offsetof(struct seccomp_data, args) + sizeof(uint64_t)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, entries, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == -1) {
        perror("seccomp");
        _exit(99);
    }
}

/* What came there, bytes. */
static ssize_t
came(unsigned i)
{
    char bytes[64];

    return recv(ends[i][1], bytes, sizeof(bytes), MSG_DONTWAIT);
}

/* The kernel has no memory for three; one is sent by the ring again, and the
 * three, which were sent without it, are not sent twice. */
static bool
what_was_not_taken_is_taken_back(void)
{
    struct errmsg err = { "" };

    send_ring_close(&ring);
    ring = send_ring_open(&err);
    if (ring == NULL) {
        return false;
    }
    deny_entering(3);
    for (unsigned i = 0; i < 3; i++) {
        add(i, &two);
    }
    send_ring_flush(ring, note);
    for (unsigned i = 0; i < 3; i++) {
        if (came(i) != 5) {
            return false;
        }
    }
    add(3, &one);
    send_ring_flush(ring, note);
    return results[3] == 3 && came(3) == 3 && came(0) == -1 && !ring->broken;
}

static void
sends_are_made_all_the_same(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_DFL);
    in_a_child(enter_is_denied);
    in_a_child(no_memory_to_enter);
}

static void
nothing_is_sent_twice(void **state)
{
    (void)state;
    in_a_child(what_was_not_taken_is_taken_back);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest with_ring[] = {
        TEST(all_get_what_they_are_sent),  TEST(nothing_goes_before_the_flush),
        TEST(a_full_socket_is_told),       TEST(a_broken_connection_is_told),
        TEST(what_is_told_may_close),      TEST(only_sends_are_allowed),
        TEST(sends_are_made_all_the_same), TEST(nothing_is_sent_twice),
    };
    const struct CMUnitTest without[] = {
        cmocka_unit_test(a_denied_ring_is_not_opened),
    };
    struct errmsg err = { "" };
    int failed = cmocka_run_group_tests(without, NULL, NULL);

    ring = send_ring_open(&err);
    if (ring == NULL) {
        printf("the ring itself is not tested: %s\n", err.text);
        return failed;
    }
    send_ring_close(&ring);
    return failed + cmocka_run_group_tests(with_ring, NULL, NULL);
}

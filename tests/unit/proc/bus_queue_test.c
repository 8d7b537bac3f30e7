/*
 * What waits for a mailbox: packets, their bounds, their descriptors.
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
#include <sys/socket.h>
#include <unistd.h>

#include "proc/bus_queue.h"

static int pair[2];
static uint8_t buffer[BUS_BUFFER];
static struct bus_queue queue;
static uint32_t added;

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
    struct errmsg err;

    (void)state;
    added = 0;
    bus_queue_init(&queue);
    return slots_create(3, &err) == -1 ||
                   slot_take(SLOT_ROLE, "one", 0, 1) != 1 ||
                   slot_take(SLOT_ROLE, "two", 0, 1) != 2
               ? -1
               : socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair);
}

static int
tear_down(void **state)
{
    (void)state;
    bus_queue_drop(&queue);
    slots_destroy();
    close(pair[0]);
    close(pair[1]);
    return 0;
}

/* A message that has its number as its type, and so many bytes of data. */
static int
add(uint32_t slot, size_t len, int fd, bool soon)
{
    static const uint8_t data[BUS_INLINE];
    struct bus_wire w = {
        .head = { .type = added, .to = slot_owner_of(slot), .len = len },
        .data = data,
        .fds = { fd },
        .fd_count = fd != -1
    };

    w.head.flags = fd != -1 ? BUS_WITH_FD : 0;
    if (bus_queue_add(&queue, &w, soon) == -1) {
        return -1;
    }
    added++;
    return 0;
}

/* The next packet has count messages, of which the first has that type. */
static void
comes(uint32_t type, unsigned count, unsigned fds)
{
    struct bus_wire w;

    assert_int_equal(bus_wire_recv(pair[0], buffer, &w), BUS_MESSAGE);
    assert_int_equal(w.fd_count, fds);
    bus_wire_close(&w);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(w.head.type, type + i);
        assert_int_equal((uintptr_t)w.data % 8, 0);
        assert_true(bus_wire_next(&w) == (i + 1 < count));
    }
}

static void
comes_nothing(void)
{
    struct bus_wire w;

    assert_int_equal(queue.count, 0);
    assert_int_equal(queue.bytes, 0);
    assert_int_equal(bus_wire_recv(pair[0], buffer, &w), BUS_NOTHING);
}

static void
small_ones_share_a_packet(void **state)
{
    (void)state;
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(add(1, i, -1, true), 0);
    }
    assert_int_equal(queue.count, 20);
    assert_int_equal(queue.bytes, 190);
    assert_int_equal(bus_queue_send(&queue, pair[1]), 0);
    comes(0, 20, 0);
    comes_nothing();
}

static void
others_have_their_own(void **state)
{
    size_t before = open_descriptors();

    (void)state;
    add(1, 1, -1, true);
    add(1, 1, -1, false); /* 1: was not asked to */
    add(1, 1, -1, true);
    add(1, 1, -1, true);
    add(2, 1, -1, true); /* 4: is for another */
    add(2, 1, 0, true);  /* 5: has a descriptor */
    add(2, 1, -1, true); /* 6: after one with a descriptor */
    add(2, BUS_INLINE, -1, true);
    add(2, 1, -1, true);
    assert_int_equal(bus_queue_send(&queue, pair[1]), 0);
    comes(0, 1, 0);
    comes(1, 1, 0);
    comes(2, 2, 0);
    comes(4, 1, 0);
    comes(5, 1, 1);
    comes(6, 1, 0);
    comes(7, 1, 0);
    comes(8, 1, 0);
    comes_nothing();
    assert_int_equal(open_descriptors(), before);
}

static void
a_packet_ends(void **state)
{
    (void)state;
    assert_false(bus_queue_is_packed(&queue));
    while (!bus_queue_is_packed(&queue)) {
        assert_int_equal(add(1, 100, -1, true), 0);
    }
    assert_in_range(added, 40, 80); /* of 144 bytes each */
    assert_int_equal(add(1, 400, -1, true), 0);
    assert_false(bus_queue_is_packed(&queue));
    assert_int_equal(bus_queue_send(&queue, pair[1]), 0);
    comes(0, added - 1, 0);
    comes(added - 1, 1, 0);
    comes_nothing();
}

static void
not_to_the_dead(void **state)
{
    (void)state;
    add(1, 10, -1, true);
    add(1, 10, -1, true);
    add(2, 10, -1, true);
    slot_bury(1);
    assert_int_equal(bus_queue_send(&queue, pair[1]), 0);
    comes(2, 1, 0);
    comes_nothing();
}

static void
no_more_than_1024(void **state)
{
    (void)state;
    while (added < 2000 && add(1, 0, -1, true) == 0) {
    }
    assert_int_equal(added, 1024);
    assert_int_equal(add(1, 0, -1, false), -1);
}

static void
no_more_than_4_megabytes(void **state)
{
    (void)state;
    while (added < 2000 && add(1, 32768, -1, false) == 0) {
    }
    assert_int_equal(added, 128);
    assert_int_equal(add(1, 0, -1, true), 0);
    assert_int_equal(add(1, 1, -1, true), -1);
}

/* What the mailbox did not take waits for the next try, in its order. */
static void
a_full_mailbox(void **state)
{
    uint32_t came = 0;
    struct bus_wire w;

    (void)state;
    while (added < 2000 && add(1, 8000, -1, false) == 0) {
    }
    assert_int_equal(bus_queue_send(&queue, pair[1]), -1);
    assert_in_range(queue.count, 1, added - 1);
    while (came < added) {
        while (bus_wire_recv(pair[0], buffer, &w) == BUS_MESSAGE) {
            assert_int_equal(w.head.type, came++);
        }
        bus_queue_send(&queue, pair[1]);
    }
    comes_nothing();
}

static void
dropped_with_their_descriptors(void **state)
{
    size_t before = open_descriptors();

    (void)state;
    add(1, 10, 0, false);
    add(1, 10, 0, true);
    assert_int_equal(open_descriptors(), before + 2);
    bus_queue_drop(&queue);
    assert_int_equal(open_descriptors(), before);
    comes_nothing();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(small_ones_share_a_packet),
        TEST(others_have_their_own),
        TEST(a_packet_ends),
        TEST(not_to_the_dead),
        TEST(no_more_than_1024),
        TEST(no_more_than_4_megabytes),
        TEST(a_full_mailbox),
        TEST(dropped_with_their_descriptors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

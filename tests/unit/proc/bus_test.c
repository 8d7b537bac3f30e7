/*
 * The bus between real processes.
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

#include "bus_child.h"

#include <sys/mman.h>

#include "base/clock.h"

static void
there_and_back(void **state)
{
    uint32_t slot = take_slot();
    pid_t pid = start_child(slot);
    static const size_t sizes[] = { 0, 1, 32768, 32769, 3000000 };
    uint8_t *data = mem_alloc(3000000);

    (void)state;
    for (size_t i = 0; i < 3000000; i++) {
        data[i] = (uint8_t)(i * 13 + i / 251);
    }
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        assert_int_equal(bus_send(slot, ECHO, data, sizes[i], -1), 0);
        wait_calls((int)i + 1);
        assert_int_equal(inbox.len, sizes[i]);
        assert_memory_equal(inbox.data, data, sizes[i]);
        assert_int_equal(inbox.fd, -1);
        assert_true(inbox.from == slot_owner_of(slot));
    }
    mem_free(&data);
    end_child(slot, pid);
}

static void
with_a_descriptor(size_t len)
{
    uint32_t slot = take_slot();
    pid_t pid = start_child(slot);
    uint8_t *data = mem_zero(len);
    size_t before = open_descriptors();
    int ends[2];
    char byte;

    inbox.take_fd = true;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(bus_send(slot, ECHO, data, len, ends[1]), 0);
    close(ends[1]);
    wait_calls(inbox.calls + 1);
    assert_int_equal(inbox.len, len);
    assert_int_not_equal(inbox.fd, -1);
    assert_int_equal(write(inbox.fd, "x", 1), 1);
    close(inbox.fd);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    end_child(slot, pid); /* and with it the child's copy */
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    mem_free(&data);
    assert_int_equal(open_descriptors(), before);
}

static void
descriptors_travel(void **state)
{
    (void)state;
    with_a_descriptor(10);
    with_a_descriptor(100000); /* beside the one that holds the data */
}

static void
a_descriptor_nobody_took_is_closed(void **state)
{
    size_t before = open_descriptors();

    (void)state;
    assert_int_equal(bus_send(slot_self(), ECHO, "x", 1, 0),
                     0); /* to ourselves */
    wait_calls(1);
    assert_true(inbox.fd > 2);
    assert_int_equal(open_descriptors(), before);
}

/* Nobody reads yet: the mailbox fills, then our queue, then we are told. */
static void
full_mailbox_and_queue(void **state)
{
    uint32_t slot = take_slot();
    uint32_t message[2048] = { 0 };
    size_t before = open_descriptors();

    (void)state;
    while (bus_send(slot, COUNT, message, sizeof(message),
                    message[0] % 100 == 0 ? 0 : -1) == 0) {
        message[0]++;
    }
    assert_true(message[0] > 400); /* 4 MB and what the kernel takes */
    assert_true(message[0] < 10000);
    assert_true(open_descriptors() > before);

    pid_t pid = start_child(slot);

    while (bus_send(slot, SUM, NULL, 0, -1) == -1) {
        loop_turn(l, -1);
    }
    wait_calls(1);
    assert_int_equal(inbox.len, 4);
    assert_memory_equal(inbox.data, message, 4); /* all, in order */
    assert_int_equal(open_descriptors(), before);
    end_child(slot, pid);
}

static void
what_waits_is_dropped_with_the_bus(void **state)
{
    uint32_t slot = take_slot();
    static uint8_t data[100000];
    size_t before = open_descriptors();

    (void)state;
    while (bus_send(slot, ECHO, data, 32768, 0) == 0) {
    }
    assert_int_equal(bus_send(slot, ECHO, data, sizeof(data), 0), -1);
    bus_close();
    assert_int_equal(open_descriptors(), before);
}

static void
to_nobody(void **state)
{
    uint32_t slot = take_slot();

    (void)state;
    assert_int_equal(bus_send(99, ECHO, "x", 1, -1), -1);
    assert_int_equal(bus_send(3, ECHO, "x", 1, -1), -1); /* free */
    slot_bury(slot);
    assert_int_equal(bus_send(slot, ECHO, "x", 1, -1), -1);
}

static void
what_is_too_long_is_not_sent(void **state)
{
    void *data = mmap(NULL, MOST + 1, PROT_READ,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    (void)state;
    assert_ptr_not_equal(data, MAP_FAILED);
    assert_int_equal(bus_send(slot_self(), ECHO, data, MOST + 1, -1), -1);
    assert_int_equal(bus_send(slot_self(), ECHO, "x", 1, -1), 0);
    wait_calls(1);
    assert_int_equal(inbox.len, 1);
    munmap(data, MOST + 1);
}

static void
unknown_types_are_logged_and_dropped(void **state)
{
    size_t before = open_descriptors();

    (void)state;
    listen_for("its type is unknown");
    assert_int_equal(bus_send(slot_self(), 99, "x", 1, 0), 0);
    assert_int_equal(bus_send(slot_self(), ECHO, "y", 1, -1), 0);
    wait_calls(1);
    assert_int_equal(inbox.data[0], 'y');
    assert_int_equal(complaints, 1);
    assert_int_equal(open_descriptors(), before);
}

static void
types_have_a_bound(void **state)
{
    struct errmsg err;
    int first = bus_types_new("tester.some", 4, &err);
    uint32_t left = BUS_TYPES - (uint32_t)first - 4;

    (void)state;
    assert_int_not_equal(first, -1);
    assert_int_equal(bus_types_new("tester.some", 1, &err), -1);
    assert_int_equal(bus_types_new("tester.more", left + 1, &err), -1);
    assert_string_equal(err.text, "there are more than 192 kinds of messages");
    assert_int_equal(bus_types_new("tester.more", left, &err), first + 4);
    assert_int_equal(bus_types_new("tester.last", 1, &err), -1);
}

/* Post for a process that was killed: its descriptors are closed by the
 * sweep, and the next in its slot does not see the rest. */
static void
post_of_a_predecessor(void **state)
{
    uint32_t slot = take_slot();
    uint32_t number = 5;
    int ends[2];
    char byte;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(bus_send(slot, COUNT, &number, 4, ends[1]), 0);
    close(ends[1]);
    bus_sweep(slot);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);

    assert_int_equal(bus_send(slot, COUNT, &number, 4, -1), 0);
    slot_release(slot); /* without a sweep */
    assert_int_equal(take_slot(), slot);
    pid_t pid = start_child(slot);

    number = 0;
    assert_int_equal(bus_send(slot, COUNT, &number, 4, -1), 0);
    assert_int_equal(bus_send(slot, SUM, NULL, 0, -1), 0);
    wait_calls(1);
    number = 1;
    assert_memory_equal(inbox.data, &number, 4);
    end_child(slot, pid);
}

/* Two children talk without their parent. */
static void
from_child_to_child(void **state)
{
    uint32_t a = take_slot(), b = take_slot();
    pid_t pa = start_child(a), pb;
    int status;

    (void)state;
    pb = fork();
    if (pb == 0) {
        uint32_t number = 0;

        slot_set_self(b);
        _exit(bus_send(a, COUNT, &number, 4, -1) == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(pb, &status, 0), pb);
    assert_int_equal(status, 0);
    assert_int_equal(bus_send(a, SUM, NULL, 0, -1), 0);
    wait_calls(1);
    uint32_t one = 1;

    assert_memory_equal(inbox.data, &one, 4);
    end_child(a, pa);
}

static void
closed_within_a_handler(void **state)
{
    (void)state;
    inbox.close_bus = true;
    assert_int_equal(bus_send(slot_self(), ECHO, "a", 1, -1), 0);
    assert_int_equal(bus_send(slot_self(), ECHO, "b", 1, -1), 0);
    loop_turn(l, 1000);
    loop_turn(l, 0);
    assert_int_equal(inbox.calls, 1);
}

static void
send_soon(uint32_t slot, uint32_t type, uint32_t number)
{
    assert_int_equal(bus_send_soon(slot, type, &number, sizeof(number), -1), 0);
}

/* Numbers from 0 on to ourselves: the first goes at once, the others are held
 * if that takes less than a millisecond.  It is tried until it does. */
static void
send_held(const uint32_t *types, uint32_t count)
{
    loop_turn(l, 0);
    for (;;) {
        for (uint32_t i = 0; i < count; i++) {
            send_soon(slot_self(), types[i], i);
        }
        if (clock_us() - loop_now_us(l) < 1000) {
            return;
        }
        while (inbox.calls < (int)count) {
            loop_turn(l, -1);
        }
        inbox.calls = 0;
    }
}

/* One of the three ways.  A child that has not read for long has a full
 * mailbox: then it is waited for. */
static int
send_number(uint32_t slot, uint32_t number)
{
    if (number % 7 == 0) {
        return bus_send(slot, COUNT, &number, sizeof(number), -1);
    }
    return bus_send_soon(slot, COUNT, &number, sizeof(number),
                         number % 11 == 0 ? 0 : -1);
}

/* Those that share packets and those that do not, in their order. */
static void
soon_and_at_once(void **state)
{
    uint32_t slot = take_slot();
    pid_t pid = start_child(slot);
    uint32_t number = 0, sent = 10000;

    (void)state;
    while (number < sent) {
        for (int i = 0; send_number(slot, number) == -1; i++) {
            assert_true(i < 100);
            loop_turn(l, 100);
        }
        number++;
        if (number % 100 == 0) {
            loop_turn(l, 0);
        }
    }
    assert_int_equal(bus_send_soon(slot, SUM, NULL, 0, -1), 0);
    wait_calls(1);
    assert_memory_equal(inbox.data, &sent, 4);
    end_child(slot, pid);
}

static const uint32_t three_echos[] = { ECHO, ECHO, ECHO };

static void
what_is_held_goes_with_the_turn(void **state)
{
    (void)state;
    send_held(three_echos, 3);
    loop_turn(l, -1);
    assert_int_equal(inbox.calls, 1);
    loop_turn(l, -1);
    assert_int_equal(inbox.calls, 3);
}

static void
what_is_held_goes_with_the_bus(void **state)
{
    struct errmsg err;

    (void)state;
    send_held(three_echos, 3);
    bus_close();
    assert_int_equal(bus_open(l, &err), 0);
    wait_calls(3);
}

/* What its parent holds is the parent's to send. */
static void
a_child_sends_nothing_of_its_parent(void **state)
{
    uint32_t slot = take_slot();
    int status;
    pid_t pid;

    (void)state;
    send_held(three_echos, 3);
    listen_for("it is not from whom it says");
    pid = fork();
    if (pid == 0) {
        struct errmsg err;
        struct loop *mine = loop_new(&err);

        slot_set_self(slot);
        loop_free(&l); /* makes the calls that the parent has deferred */
        status = bus_open(mine, &err);
        loop_turn(mine, 0);
        bus_close();
        _exit(status);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    loop_turn(l, -1);
    assert_int_equal(inbox.calls, 1);
    loop_turn(l, -1);
    assert_int_equal(inbox.calls, 3);
    loop_turn(l, 0);
    assert_int_equal(inbox.calls, 3);
    assert_int_equal(complaints, 0);
}

static uint32_t dead_slot;

static void
sweep(void *arg, struct bus_message *m)
{
    bus_sweep(dead_slot);
    on_message(arg, m);
}

/* Its messages are in memory that a handler may need again. */
static void
a_sweep_between_messages_of_a_packet(void **state)
{
    static const uint32_t types[] = { ECHO, COUNT, ECHO };
    static const uint8_t rubbish[10000] = { 0xff };
    const uint32_t two = 2;

    (void)state;
    dead_slot = take_slot();
    bus_register(COUNT, BUS_ANYBODY, MOST, sweep, &inbox);
    send_held(types, 3);
    assert_int_equal(bus_send(dead_slot, ECHO, rubbish, sizeof(rubbish), -1),
                     0);
    wait_calls(3);
    assert_int_equal(inbox.len, 4);
    assert_memory_equal(inbox.data, &two, 4);
}

static void
closed_between_messages_of_a_packet(void **state)
{
    (void)state;
    send_held(three_echos, 3);
    loop_turn(l, -1);
    assert_int_equal(inbox.calls, 1);
    inbox.close_bus = true;
    loop_turn(l, -1);
    loop_turn(l, 0);
    assert_int_equal(inbox.calls, 2);
}

/* Beyond the queue when others wait, beyond 64 MB never. */
static void
messages_of_many_megabytes(void **state)
{
    uint32_t slot = take_slot();
    size_t len = 8 * 1024 * 1024;
    uint8_t *data = mem_zero(len);
    pid_t pid;

    (void)state;
    while (bus_send(slot, COUNT, data, 16384, -1) == 0) {
    }
    assert_int_equal(bus_send(slot, ECHO, data, len, -1), -1);
    bus_sweep(slot);
    assert_int_equal(bus_send(slot, ECHO, data, len, -1), 0);
    assert_int_equal(bus_send(slot, ECHO, data, 65 * 1024 * 1024, -1), -1);
    pid = start_child(slot);
    wait_calls(1);
    assert_int_equal(inbox.len, len);
    mem_free(&data);
    end_child(slot, pid);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(there_and_back),
        TEST(descriptors_travel),
        TEST(a_descriptor_nobody_took_is_closed),
        TEST(full_mailbox_and_queue),
        TEST(what_waits_is_dropped_with_the_bus),
        TEST(to_nobody),
        TEST(what_is_too_long_is_not_sent),
        TEST(unknown_types_are_logged_and_dropped),
        TEST(types_have_a_bound),
        TEST(post_of_a_predecessor),
        TEST(from_child_to_child),
        TEST(closed_within_a_handler),
        TEST(soon_and_at_once),
        TEST(what_is_held_goes_with_the_turn),
        TEST(what_is_held_goes_with_the_bus),
        TEST(a_child_sends_nothing_of_its_parent),
        TEST(a_sweep_between_messages_of_a_packet),
        TEST(closed_between_messages_of_a_packet),
        TEST(messages_of_many_megabytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

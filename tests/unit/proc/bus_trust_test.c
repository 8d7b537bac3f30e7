/*
 * The bus with a process that is in the hands of a stranger.
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

#include <sys/socket.h>

#include "base/clock.h"
#include "proc/bus_wire.h"

/* A process that says n times that it is whoever has that slot, then goes. */
static void
send_as(uint32_t slot, int n, bool really)
{
    pid_t pid, me = atomic_load(&slot_card(slot)->pid);
    uint32_t to = slot_self();
    int status, go[2];
    char byte = 'x';

    assert_int_equal(pipe(go), 0);
    pid = fork();
    if (pid == 0) {
        slot_set_self(slot);
        status = read(go[0], &byte, 1) == 1;
        for (int i = 0; i < n; i++) {
            bus_send(to, ECHO, "x", 1, -1);
        }
        _exit(!status);
    }
    /* It wrote its pid to the card, as a child does before that is the
     * master's alone. */
    slot_set_pid(slot, pid);
    while (!really && !slot_owner_is(slot_owner_of(slot), pid)) {
    }
    slot_set_pid(slot, really ? pid : me);
    assert_int_equal(write(go[1], &byte, 1), 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(go[0]);
    close(go[1]);
}

static void
who_says_to_be_another_is_refused(void **state)
{
    uint32_t slot = take_slot();

    (void)state;
    listen_for("it is not from whom it says");
    slot_set_pid(slot, getpid());
    send_as(slot, 1000, false); /* the log is not flooded */
    send_as(slot, 1, true);
    wait_calls(1);
    assert_int_equal(inbox.calls, 1);
    assert_true(complaints > 0 && complaints <= 200);
}

static void
types_that_one_process_may_send(void **state)
{
    uint32_t slot = take_slot();

    (void)state;
    listen_for("this process may not send it");
    bus_register(ECHO, "tester", MOST, on_message, &inbox);
    send_as(slot, 1, true);
    assert_int_equal(bus_send(slot_self(), ECHO, "x", 1, -1), 0); /* a tester */
    wait_calls(1);
    assert_int_equal(complaints, 1);
    bus_register(ECHO, BUS_MASTER, MOST, on_message, &inbox);
    assert_int_equal(bus_send(slot_self(), ECHO, "x", 1, -1), 0);
    loop_turn(l, 1000);
    assert_int_equal(complaints, 2);
    assert_int_equal(inbox.calls, 1);
}

static void
what_is_too_long_is_refused(void **state)
{
    (void)state;
    listen_for("it is too long");
    bus_register(ECHO, BUS_ANYBODY, 3, on_message, &inbox);
    assert_int_equal(bus_send(slot_self(), ECHO, "1234", 4, -1), 0);
    assert_int_equal(bus_send(slot_self(), ECHO, "123", 3, -1), 0);
    wait_calls(1);
    assert_int_equal(inbox.len, 3);
    assert_int_equal(complaints, 1);
}

/* To all mailboxes; that of this process alone takes it. */
static void
send_type(uint32_t type)
{
    struct bus_wire w = { .head = { .type = type,
                                    .from = slot_self_owner(),
                                    .to = slot_self_owner(),
                                    .len = 1 },
                          .data = "x" };

    for (int fd = 3; fd < 100; fd++) {
        socklen_t size = sizeof(int);
        int kind;

        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &size) == 0 &&
            kind == SOCK_SEQPACKET) {
            bus_wire_send(fd, &w);
        }
    }
}

static void
types_that_there_are_none_of_are_refused(void **state)
{
    (void)state;
    listen_for("its type is unknown");
    send_type(BUS_TYPES);
    loop_turn(l, 1000);
    assert_int_equal(complaints, 1);
    send_type(UINT32_MAX);
    loop_turn(l, 1000);
    assert_int_equal(complaints, 2);
}

/* From now on this process is the master. */
static void
be_master(void)
{
    struct errmsg err;

    bus_close();
    slot_set_self(0);
    assert_int_equal(bus_open(l, &err), 0);
}

/* Nobody makes it read for long. */
static void
the_master_takes_no_more_than_fits_a_message(void **state)
{
    uint8_t *data = mem_zero(40000);

    (void)state;
    listen_for("it is too long");
    be_master();
    assert_int_equal(bus_send(0, ECHO, data, 40000, -1), 0);
    assert_int_equal(bus_send(0, ECHO, data, 32768, -1), 0);
    wait_calls(1);
    assert_int_equal(inbox.len, 32768);
    assert_int_equal(complaints, 1);
    mem_free(&data);
}

/* What a child of a stranger can do to sockets that all share. */
static void
shut_all_down(void)
{
    for (int fd = 3; fd < 100; fd++) {
        socklen_t size = sizeof(int);
        int type;

        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
            type == SOCK_SEQPACKET) {
            shutdown(fd, SHUT_RDWR);
        }
    }
    _exit(0);
}

static void
mailboxes_that_were_shut_down_are_made_again(void **state)
{
    uint32_t slot = take_slot();
    int64_t before;
    int status;
    pid_t pid;

    (void)state;
    listen_for("shut down");
    be_master();
    pid = fork();
    if (pid == 0) {
        shut_all_down();
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    loop_turn(l, 1000);
    assert_int_equal(complaints, 1);
    before = clock_ms();
    loop_turn(l, 50); /* sleeps: it does not go round and round */
    assert_true(clock_ms() - before >= 40);
    bus_sweep(slot);
    assert_int_equal(complaints, 2);
    pid = start_child(slot);
    assert_int_equal(bus_send(slot, ECHO, "again", 5, -1), 0);
    wait_calls(1);
    assert_memory_equal(inbox.data, "again", 5);
    end_child(slot, pid);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(types_that_one_process_may_send),
        TEST(types_that_there_are_none_of_are_refused),
        TEST(what_is_too_long_is_refused),
        TEST(the_master_takes_no_more_than_fits_a_message),
        TEST(mailboxes_that_were_shut_down_are_made_again),
        TEST(who_says_to_be_another_is_refused), /* last: a flood */
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

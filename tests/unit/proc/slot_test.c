/*
 * Slots: taking and releasing, owners, wakes.
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

#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/slot.h"
#include "region.h"

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    return slots_create(3, &err);
}

static int
tear_down(void **state)
{
    (void)state;
    slots_destroy();
    return 0;
}

static void
the_master_has_slot_0(void **state)
{
    (void)state;
    assert_int_equal(slots_count(), 3);
    assert_int_equal(slot_self(), 0);
    assert_int_equal(slot_card(0)->kind, SLOT_MASTER);
    assert_int_equal(slot_card(0)->pid, getpid());
    assert_true(slot_owner_alive(slot_self_owner()));
    assert_int_equal(slot_card(1)->kind, SLOT_FREE);
    assert_true(slot_at(1)->epoch_seen == UINT64_MAX);
    assert_null(slot_at(3));
    assert_int_equal(slot_eventfd(3), -1);
}

static void
taken_until_there_are_none(void **state)
{
    (void)state;
    int a = slot_take(SLOT_WORKER, "worker 7", 7, 4);
    int b =
        slot_take(SLOT_ROLE, "a name that is longer than its room is", 0, 4);

    assert_true(a > 0 && b > 0 && a != b);
    assert_int_equal(slot_take(SLOT_WORKER, "worker 8", 8, 4), -1);
    const struct slot_card *s = slot_card((uint32_t)a);

    assert_int_equal(s->kind, SLOT_WORKER);
    assert_int_equal(slot_state((uint32_t)a), SLOT_STARTING);
    assert_string_equal(s->name, "worker 7");
    assert_int_equal(s->index, 7);
    assert_int_equal(s->generation, 4);
    assert_int_equal(strlen(slot_card((uint32_t)b)->name), SLOT_NAME_MAX - 1);
    slot_release((uint32_t)a);
    assert_int_equal(slot_take(SLOT_WORKER, "worker 9", 9, 5), a);
}

static void
owners_are_told_apart(void **state)
{
    (void)state;
    uint32_t n = (uint32_t)slot_take(SLOT_WORKER, "w", 0, 1);
    slot_owner first = slot_owner_of(n);

    assert_true(first != 0);
    assert_int_equal(slot_owner_number(first), n);
    assert_true(slot_owner_alive(first));
    slot_bury(n);
    assert_false(slot_owner_alive(first));
    slot_release(n);
    assert_false(slot_owner_alive(first));

    assert_int_equal(slot_take(SLOT_WORKER, "w", 0, 1), n);
    assert_true(slot_owner_of(n) != first);
    assert_false(slot_owner_alive(first));
    assert_true(slot_owner_alive(slot_owner_of(n)));
    assert_false(slot_owner_alive(0));
    assert_false(slot_owner_alive((uint64_t)1 << 32 | 999));
}

static void
a_new_use_starts_from_nothing(void **state)
{
    (void)state;
    uint32_t n = (uint32_t)slot_take(SLOT_WORKER, "w", 0, 1);
    struct slot *s = slot_at(n);

    s->turns = 5;
    s->turn_began_ms = 6;
    s->epoch_seen = 7;
    s->asleep = 1;
    s->connections = 8;
    s->accepted = 9;
    s->log_dropped = 10;
    slot_release(n);
    assert_true(s->epoch_seen == UINT64_MAX);
    assert_int_equal(s->connections, 0);
    assert_int_equal(slot_take(SLOT_WORKER, "w", 0, 2), n);
    assert_int_equal(s->turns + s->turn_began_ms, 0);
    assert_int_equal(s->asleep + s->accepted + s->log_dropped, 0);
    assert_true(slot_card(n)->started_ms > 0);
}

static void
a_child_wakes_another_slot(void **state)
{
    eventfd_t count;
    int status;

    (void)state;
    uint32_t n = (uint32_t)slot_take(SLOT_WORKER, "w", 0, 1);
    pid_t pid = fork();

    if (pid == 0) {
        slot_set_self(n);
        slot_wake(0);
        slot_wake(0);
        slot_wake(99); /* nobody */
        _exit(slot_self() == n && slot_self_owner() == slot_owner_of(n) ? 0
                                                                        : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(slot_card(n)->pid, 0); /* the parent believes itself */
    slot_set_pid(n, pid);
    assert_int_equal(slot_card(n)->pid, pid);
    assert_int_equal(eventfd_read(slot_eventfd(0), &count), 0);
    assert_int_equal(count, 2);
    assert_int_equal(eventfd_read(slot_eventfd(0), &count), -1);
}

/* What a process says of itself, and what only the master says. */
static void
states(void **state)
{
    uint32_t n = (uint32_t)slot_take(SLOT_WORKER, "w", 0, 1);

    (void)state;
    atomic_store(&slot_at(0)->state, SLOT_DRAINING); /* not its own word */
    assert_int_equal(slot_state(0), SLOT_STARTING);
    slot_say(SLOT_READY);
    assert_int_equal(slot_state(0), SLOT_READY);
    slot_set_self(n);
    assert_int_equal(slot_state(0), SLOT_READY);
    slot_say(SLOT_DRAINING);
    slot_set_self(0);
    assert_int_equal(slot_state(n), SLOT_DRAINING);
    atomic_store(&slot_at(n)->state, 77);
    assert_int_equal(slot_state(n), SLOT_STARTING);
    slot_bury(n);
    assert_int_equal(slot_state(n), SLOT_GONE);
    assert_int_equal(slot_state(99), SLOT_GONE);
}

/* Whatever stands in the memory of both, the master goes by its own. */
static void
the_master_believes_itself(void **state)
{
    uint32_t n = (uint32_t)slot_take(SLOT_WORKER, "w", 0, 1);
    struct region cards = region_find("weir cards");
    struct region slots = region_find("weir slots");
    slot_owner owner = slot_owner_of(n);

    (void)state;
    slot_set_pid(n, 77);
    memset(cards.bytes, 0xff, cards.size);
    memset(slots.bytes, 0xff, slots.size);
    assert_int_equal(slots_end(), n + 1);
    assert_int_equal(slot_owner_of(n), owner);
    assert_true(slot_owner_alive(owner) && slot_owner_is(owner, 77));
    assert_int_equal(slot_card(n)->kind, SLOT_WORKER);
    assert_string_equal(slot_card(n)->name, "w");
    slot_release(n);
    assert_int_equal(slot_take(SLOT_WORKER, "w", 0, 1), n);
    slot_set_self(1); /* others are not led out of the table */
    atomic_store((_Atomic uint32_t *)(void *)cards.bytes, UINT32_MAX);
    assert_int_equal(slots_end(), slots_count());
    slot_set_self(0);
}

static void
pids_of_owners(void **state)
{
    uint32_t n = (uint32_t)slot_take(SLOT_WORKER, "w", 0, 1);
    slot_owner first = slot_owner_of(n);

    (void)state;
    slot_set_pid(n, 77);
    assert_true(slot_owner_is(first, 77));
    assert_false(slot_owner_is(first, 78));
    assert_false(slot_owner_is(0, 77) || slot_owner_is(UINT64_MAX, 77));
    slot_release(n);
    assert_true(slot_owner_is(first, 77)); /* what it sent may still come */
    assert_int_equal(slot_take(SLOT_WORKER, "w", 0, 1), n);
    slot_set_pid(n, 77);
    assert_false(slot_owner_is(first, 77));
    assert_true(slot_owner_is(slot_owner_of(n), 77));
}

static uint32_t
take_role(const char *name, uint32_t index)
{
    return (uint32_t)slot_take(SLOT_ROLE, name, index, 1);
}

static void
say_ready(uint32_t slot)
{
    atomic_store(&slot_at(slot)->state, SLOT_READY);
}

static void
roles_are_found_by_name_and_index(void **state)
{
    uint32_t single = take_role("single", 0);
    uint32_t second = take_role("several 1", 1);

    (void)state;
    assert_int_equal(slot_find_role("single", 0), 0); /* not READY yet */
    say_ready(single);
    say_ready(second);
    assert_int_equal(slot_find_role("single", 0), slot_owner_of(single));
    assert_int_equal(slot_find_role("single", 1), 0);
    assert_int_equal(slot_find_role("several", 1), slot_owner_of(second));
    assert_int_equal(slot_find_role("several", 0), 0);
    assert_int_equal(slot_find_role("sing", 0), 0);
    slot_bury(single);
    assert_int_equal(slot_find_role("single", 0), 0);
    slot_release(single);
    assert_true(slot_is_role(single, "single")); /* what it sent may come */
    assert_int_equal(slot_find_role("single", 0), 0);
    assert_int_equal(slot_take(SLOT_WORKER, "single", 0, 1), single);
    say_ready(single);
    assert_int_equal(slot_find_role("single", 0), 0);
    assert_false(slot_is_role(single, "single"));
    assert_false(slot_is_role(99, "single"));
}

/* One that is replaced goes on for a while. */
static void
of_two_the_newer_is_found(void **state)
{
    uint32_t old = take_role("single", 0), new;

    (void)state;
    for (int64_t began = clock_ms(); clock_ms() == began;) {
    }
    new = take_role("single", 0);
    say_ready(old);
    assert_int_equal(slot_find_role("single", 0), slot_owner_of(old));
    say_ready(new);
    assert_int_equal(slot_find_role("single", 0), slot_owner_of(new));
}

static void
an_old_wake_is_not_inherited(void **state)
{
    eventfd_t count;

    (void)state;
    uint32_t n = (uint32_t)slot_take(SLOT_WORKER, "w", 0, 1);

    slot_wake(n);
    slot_release(n);
    assert_int_equal(slot_take(SLOT_WORKER, "w", 0, 1), n);
    assert_int_equal(eventfd_read(slot_eventfd(n), &count), -1);
}

static void
slots_share_no_cache_line(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct slot) % 64, 0);
    assert_int_equal((uintptr_t)slot_at(1) % 64, 0);
    assert_int_equal(sizeof(struct slot_card) % 64, 0);
    slot_set_self(1);
    assert_int_equal((uintptr_t)slot_card(1) % 64, 0);
    slot_set_self(0);
}

/* A caller learns when a role that is gone comes back. */
static void
a_card_says_when_a_role_starts_again(void **state)
{
    int slot = slot_take(SLOT_ROLE, "relayer", 0, 1);
    int64_t ms;

    (void)state;
    assert_int_equal(slot_role_starts_in("relayer", 0), 0);
    assert_int_equal(slot_role_starts_in("relayer", 1), -1);
    slot_bury((uint32_t)slot);
    assert_int_equal(slot_role_starts_in("relayer", 0), -1);
    slot_release((uint32_t)slot);
    assert_int_equal(slot_role_starts_in("relayer", 0), -1);
    slot_starts_again((uint32_t)slot, "keeper", clock_ms() + 60000);
    assert_int_equal(slot_role_starts_in("relayer", 0), -1);
    slot_starts_again((uint32_t)slot, "relayer", clock_ms() + 60000);
    ms = slot_role_starts_in("relayer", 0);
    assert_true(ms > 0 && ms <= 60000);
    slot_starts_again((uint32_t)slot, "relayer", clock_ms() - 1);
    assert_int_equal(slot_role_starts_in("relayer", 0), 0);
}

/* Its slot went to another process meanwhile. */
static void
a_slot_in_use_says_nothing_of_an_earlier_role(void **state)
{
    int slot = slot_take(SLOT_ROLE, "relayer", 0, 1);

    (void)state;
    slot_bury((uint32_t)slot);
    slot_release((uint32_t)slot);
    slot_starts_again((uint32_t)slot, "relayer", clock_ms() + 60000);
    assert_int_equal(slot_take(SLOT_ROLE, "keeper", 0, 1), slot);
    assert_int_equal(slot_role_starts_in("relayer", 0), -1);
    slot_starts_again((uint32_t)slot, "keeper", clock_ms() + 60000);
    assert_int_equal(slot_role_starts_in("keeper", 0), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

/* What stands there may be anybody's. */
static void
numbers_that_cannot_be_are_none(void **state)
{
    uint32_t n = (uint32_t)slot_take(SLOT_WORKER, "w", 0, 1);
    struct slot *s = slot_at(n);

    (void)state;
    s->connections = SLOT_CONNECTIONS_MOST;
    assert_int_equal(slot_connections(n), SLOT_CONNECTIONS_MOST);
    s->connections = SLOT_CONNECTIONS_MOST + 1;
    assert_int_equal(slot_connections(n), 0);
    s->connections = UINT64_MAX;
    assert_int_equal(slot_connections(n), 0);
    s->accepted = UINT64_MAX;
    assert_int_equal(slot_number(&s->accepted, SLOT_COUNT_MOST), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_master_has_slot_0),
        TEST(taken_until_there_are_none),
        TEST(owners_are_told_apart),
        TEST(a_new_use_starts_from_nothing),
        TEST(a_child_wakes_another_slot),
        TEST(an_old_wake_is_not_inherited),
        TEST(slots_share_no_cache_line),
        TEST(states),
        TEST(the_master_believes_itself),
        TEST(pids_of_owners),
        TEST(of_two_the_newer_is_found),
        TEST(roles_are_found_by_name_and_index),
        TEST(a_card_says_when_a_role_starts_again),
        TEST(a_slot_in_use_says_nothing_of_an_earlier_role),
        TEST(numbers_that_cannot_be_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

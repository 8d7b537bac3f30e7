/*
 * Segments, epochs and wake flags: above all that a segment is never handed
 * out while a process may still read what lies in it.
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

#include <stdlib.h>
#include <sys/eventfd.h>

#include "arena_fixture.h"

static int
setup(void **state)
{
    (void)state;
    fixture_arena();
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    fixture_arena_end();
    return 0;
}

/* A process as segments see it: awake since the epoch it says. */
static uint32_t
other_process(uint64_t epoch)
{
    int slot = slot_take(SLOT_WORKER, "other", 1, 0);

    assert_true(slot > 0);
    atomic_store(&slot_at((uint32_t)slot)->epoch_seen, epoch);
    return (uint32_t)slot;
}

static uint64_t
epoch_now(void)
{
    return atomic_load(&arena.head->epoch);
}

static void
test_takes_each_once_then_none(void **state)
{
    uint32_t count = arena.segment_count;
    bool *taken = mem_zero(count);

    (void)state;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t segment = segment_take(i % 8);

        assert_true(segment < count);
        assert_false(taken[segment]);
        assert_true(segment_used_by(segment, i % 8));
        assert_false(segment_used_by(segment, i % 8 + 1));
        taken[segment] = true;
    }
    assert_int_equal(segment_take(0), SEGMENT_NONE);
    assert_int_equal(segments_in_use(), count);
    assert_true(segment_retire(7, 7));
    assert_false(segment_used_by(7, 7));
    assert_int_equal(segment_take(0), 7);
    assert_int_equal(segment_take(0), SEGMENT_NONE);
    mem_free(&taken);
}

static void
test_waits_for_every_reader(void **state)
{
    uint32_t a = other_process(epoch_now());
    uint32_t b = other_process(epoch_now());
    uint32_t last = SEGMENT_NONE, segment;

    (void)state;
    while ((segment = segment_take(0)) != SEGMENT_NONE) {
        last = segment;
    }
    segment_retire(last, 0);
    assert_int_equal(segment_take(1), SEGMENT_NONE);
    atomic_store(&slot_at(a)->epoch_seen, epoch_now());
    assert_int_equal(segment_take(1), SEGMENT_NONE);
    atomic_store(&slot_at(b)->epoch_seen, UINT64_MAX); /* sleeps */
    assert_int_equal(segment_take(1), last);
}

static void
test_the_dead_hold_nothing_back(void **state)
{
    uint32_t a = other_process(epoch_now());
    uint64_t old = epoch_now();

    (void)state;
    epoch_advance();
    assert_int_equal(epoch_oldest(), old);
    live_sweep(a);
    slot_release(a);
    assert_int_equal(epoch_oldest(), epoch_now());
}

/* While all sleep: one may wake and enter what is retired after that. */
static void
test_sleepers_do_not_vouch_for_the_future(void **state)
{
    uint64_t oldest = epoch_oldest();

    (void)state;
    assert_true(epoch_advance() > oldest);
}

/* Random processes, random taking and retiring, against a plain model. */
static void
test_never_reused_too_early(void **state)
{
    uint32_t slots[4];
    uint64_t seen[4], *retired_at;

    (void)state;
    retired_at = mem_zero(arena.segment_count * sizeof(*retired_at));
    srandom(1);
    for (int i = 0; i < 4; i++) {
        seen[i] = epoch_now();
        slots[i] = other_process(seen[i]);
    }
    for (int step = 0; step < 200000; step++) {
        uint32_t i = (uint32_t)random() % 4, segment;

        switch (random() % 4) {
        case 0:
            seen[i] = random() % 3 == 0 ? UINT64_MAX : epoch_now();
            atomic_store(&slot_at(slots[i])->epoch_seen, seen[i]);
            break;
        case 1:
            segment = (uint32_t)random() % arena.segment_count;
            if (segment_used_by(segment, 3)) {
                segment_retire(segment, 3);
                retired_at[segment] = epoch_now();
            }
            break;
        default:
            segment = segment_take(3);
            for (i = 0; segment != SEGMENT_NONE && i < 4; i++) {
                assert_true(retired_at[segment] <= seen[i]);
            }
        }
    }
    mem_free(&retired_at);
}

/* How often the process was woken through its descriptor. */
static eventfd_t
wakes_of(uint32_t slot)
{
    eventfd_t n = 0;

    return eventfd_read(slot_eventfd(slot), &n) == 0 ? n : 0;
}

static void
test_wakes_sleepers_once(void **state)
{
    uint32_t a = other_process(epoch_now());

    (void)state;
    wake_slot(a, 5);
    assert_int_equal(wakes_of(a), 0); /* awake: it looks by itself */
    assert_int_equal(atomic_load(&arena.pages[a].pending), 1);
    assert_int_equal(atomic_load(&arena.pages[a].dirty[0]), 1 << 5);
    assert_int_equal(atomic_load(&arena.pages[a].summary[0]), 1);
    atomic_store(&slot_at(a)->asleep, 3);
    wake_slot(a, 6);
    wake_slot(a, 7);
    assert_int_equal(wakes_of(a), 1);
    assert_int_equal(atomic_load(&arena.pages[a].dirty[0]), 7 << 5);
    atomic_store(&slot_at(a)->asleep, 5);
    wake_slot(a, 7);
    assert_int_equal(wakes_of(a), 1);
}

static void
test_wakes_readers_only(void **state)
{
    struct stream *s = fixture_stream("live/a");
    uint32_t a = other_process(1), b = other_process(1);

    (void)state;
    atomic_fetch_or(&s->readers[0], UINT64_C(1) << a);
    wake_readers(s);
    assert_int_equal(atomic_load(&arena.pages[a].pending), 1);
    assert_int_equal(atomic_load(&arena.pages[b].pending), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_takes_each_once_then_none, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_waits_for_every_reader, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_the_dead_hold_nothing_back, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            test_sleepers_do_not_vouch_for_the_future, setup, teardown),
        cmocka_unit_test_setup_teardown(test_never_reused_too_early, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_wakes_sleepers_once, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_wakes_readers_only, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

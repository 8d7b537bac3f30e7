/*
 * Shares of a turn: whoever works long leaves the others their turn.
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

#include "turns.h"

/* Each works for a millisecond; FITS of them do in the share of a turn. */
enum { BUSY = 100, FITS = 6 };
static int turns_slept; /* before_sleep was called */

static void
work_a_millisecond(struct end *e)
{
    (void)e;
    spend(1000);
}

static bool
count_turn(void *arg)
{
    (void)arg;
    turns_slept++;
    return false;
}

static void
busy_peers_leave_the_others_their_turn(void **state)
{
    static const struct loop_hooks hooks = { .before_sleep = count_turn };
    static struct end peers[BUSY];
    int most = 0;

    (void)state;
    for (int i = 0; i < BUSY; i++) {
        end_open(&peers[i], IO_READ);
        peers[i].then = work_a_millisecond;
        assert_int_equal(write(peers[i].peer, "x", 1), 1);
    }
    loop_set_hooks(l, &hooks, NULL);
    turns_slept = 0;
    for (int turn = 0; peers[BUSY - 1].calls == 0; turn++) {
        int before = 0, after = 0;

        assert_true(turn < BUSY);
        for (int i = 0; i < BUSY; i++) {
            before += peers[i].calls;
        }
        loop_turn(l, 0);
        for (int i = 0; i < BUSY; i++) {
            after += peers[i].calls;
        }
        most = after - before > most ? after - before : most;
    }
    assert_true(most <= FITS);
    assert_true(turns_slept >= BUSY / FITS);
    for (int i = 0; i < BUSY; i++) { /* nobody twice before all had it once */
        assert_int_equal(peers[i].calls, 1);
        end_close(&peers[i]);
    }
}

static struct counted calls[BUSY];
static int called;

static void
call_a_millisecond(struct later *later)
{
    struct counted *call = LIST_ITEM(later, struct counted, later);

    assert_ptr_equal(call, &calls[called]); /* in the order asked */
    called++;
    call->calls++;
    spend(1000);
}

/* However many there are, a peer is heard in every turn; and no turn sleeps
 * while some are left. */
static void
calls_in_turn_leave_the_others_theirs(void **state)
{
    struct end e;

    (void)state;
    end_open(&e, IO_WRITE);
    called = 0;
    for (int i = 0; i < BUSY; i++) {
        calls[i].calls = 0;
        later_init(&calls[i].later, call_a_millisecond);
        loop_in_turn(l, &calls[i].later);
        loop_in_turn(l, &calls[i].later); /* asking twice is asking once */
    }
    for (int turn = 1; called < BUSY; turn++) {
        int before = called;

        loop_turn(l, 0);
        assert_int_equal(e.calls, turn);
        assert_true(called > before && called - before <= FITS);
    }
    end_close(&e);
}

static void
calls_in_turn_do_not_wait_for_events(void **state)
{
    struct counted a = { 0 }, b = { 0 };

    (void)state;
    later_init(&a.later, count_call);
    later_init(&b.later, count_call);
    loop_in_turn(l, &a.later);
    loop_in_turn(l, &b.later);
    later_cancel(&b.later);
    loop_turn(l, -1);
    assert_int_equal(a.calls, 1);
    assert_int_equal(b.calls, 0);
    loop_in_turn(l, &b.later);
    loop_free(&l);
    assert_int_equal(b.calls, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(busy_peers_leave_the_others_their_turn),
        TEST(calls_in_turn_leave_the_others_theirs),
        TEST(calls_in_turn_do_not_wait_for_events),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * A role that is killed at 500 different moments: each call ends once, failed
 * or done, and one that is not sent again is never done twice.
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

#include "rpc_child.h"

#define ROUNDS 500
#define LAST_US 250 /* into a round, when the last of them kills */

static struct caller all[CALLS];

static bool
is_resent(uint32_t i)
{
    return i % 2 == 0;
}

static void
call_all(void)
{
    struct errmsg err;

    for (uint32_t i = 0; i < CALLS; i++) {
        struct rpc_options o = options_of(&all[i], LONG_MS, is_resent(i));

        deeds->echoed[i] = 0;
        all[i] = (struct caller){ .fd = -1 };
        all[i].call = rpc_call(&methods[ECHO], &o, &i, sizeof(i), -1, &err);
        assert_non_null(all[i].call);
    }
}

static void
run_for(int64_t us)
{
    int64_t end = clock_us() + us;

    while (clock_us() < end) {
        loop_turn(l, 0);
    }
}

static void
check(uint32_t i)
{
    const struct caller *c = &all[i];

    assert_int_equal(c->ends, 1);
    assert_null(c->call);
    if (is_resent(i)) {
        assert_int_equal(c->status, RPC_OK);
        assert_in_range(deeds->echoed[i], 1, 2);
    } else if (c->status == RPC_OK) {
        assert_int_equal(deeds->echoed[i], 1);
    } else {
        assert_int_equal(c->status, RPC_DIED);
        assert_in_range(deeds->echoed[i], 0, 1);
    }
}

static void
killed_at_any_moment(void **state)
{
    struct server s = start_server();

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        call_all();
        run_for(round * LAST_US / ROUNDS);
        kill_server(&s);
        s = start_server();
        for (uint32_t i = 0; i < CALLS; i++) {
            wait_end(&all[i]);
        }
        round_trip(); /* nothing comes late */
        for (uint32_t i = 0; i < CALLS; i++) {
            check(i);
        }
    }
    kill_server(&s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(killed_at_any_moment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

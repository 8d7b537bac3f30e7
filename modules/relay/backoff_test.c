/*
 * How long relays wait: quick at first, then ever longer, never too long, and
 * not all at once.
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

#include "backoff.h"

static void
test_bounds(void **state)
{
    (void)state;
    for (unsigned n = 1; n < 100; n++) {
        for (uint32_t random = 0; random < 100000; random += 77) {
            int64_t delay = backoff_delay(n, random);

            assert_in_range(delay, BACKOFF_LEAST_MS, BACKOFF_MOST_MS);
        }
    }
    assert_in_range(backoff_delay(UINT32_MAX, UINT32_MAX), BACKOFF_LEAST_MS,
                    BACKOFF_MOST_MS);
}

/* A remote that is back within some seconds is met within 2 of them. */
static void
test_quick_at_first(void **state)
{
    int64_t passed = 0;

    (void)state;
    for (unsigned n = 1; n <= 4; n++) {
        assert_true(backoff_delay(n, UINT32_MAX) < 2000);
        passed += backoff_delay(n, UINT32_MAX);
    }
    assert_true(passed >= 4000);
}

static void
test_grows_to_the_most(void **state)
{
    int64_t before = 0;

    (void)state;
    for (unsigned n = 4; n <= 9; n++) {
        int64_t delay = backoff_delay(n, 0);

        assert_true(delay >= before);
        before = delay;
    }
    assert_true(backoff_delay(20, 0) >= BACKOFF_MOST_MS * 3 / 4);
}

static void
test_differs(void **state)
{
    (void)state;
    for (unsigned n = 1; n < 20; n++) {
        assert_int_not_equal(backoff_delay(n, 0), backoff_delay(n, 200));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_quick_at_first),
        cmocka_unit_test(test_grows_to_the_most),
        cmocka_unit_test(test_differs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

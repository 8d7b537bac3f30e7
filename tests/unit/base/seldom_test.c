/*
 * Saying seldom what happens often.
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

#include "base/seldom.h"

static void
test_first_then_one_in_a_while(void **state)
{
    struct seldom s = { 0, 0 };
    uint64_t skipped = 99;

    (void)state;
    assert_true(seldom(&s, 1000, &skipped));
    assert_int_equal(skipped, 0);
    assert_false(seldom(&s, 1000, &skipped));
    assert_false(seldom(&s, 1000 + SELDOM_MS - 1, &skipped));
    assert_true(seldom(&s, 1000 + SELDOM_MS, &skipped));
    assert_int_equal(skipped, 2);
    assert_false(seldom(&s, 1001 + SELDOM_MS, &skipped));
    assert_true(seldom(&s, 1000 + 5 * SELDOM_MS, &skipped));
    assert_int_equal(skipped, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_then_one_in_a_while),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Random bytes.
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

#include "base/rand.h"

#include <string.h>

static void
test_bytes(void **state)
{
    uint8_t a[1000] = { 0 }, b[1000] = { 0 };
    unsigned ones = 0;

    (void)state;
    rand_bytes(a, sizeof(a));
    rand_bytes(b, sizeof(b));
    assert_memory_not_equal(a, b, sizeof(a));
    for (size_t i = 0; i < sizeof(a); i++) {
        ones += (unsigned)__builtin_popcount(a[i]);
    }
    assert_in_range(ones, 3600, 4400); /* 4000 +- 9 sigma */
    rand_bytes(NULL, 0);
}

static void
test_below(void **state)
{
    unsigned seen[3] = { 0 };

    (void)state;
    for (int i = 0; i < 3000; i++) {
        seen[rand_below(3)]++;
    }
    for (int i = 0; i < 3; i++) {
        assert_in_range(seen[i], 750, 1250);
    }
    assert_int_equal(rand_below(1), 0);
    assert_true(rand_below(UINT64_MAX) < UINT64_MAX);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_below),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

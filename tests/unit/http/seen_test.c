/*
 * What is known of the page cache, and for how long.
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

#include "http/file/seen.h"

static void
test_for_a_moment(void **state)
{
    struct seen s = { 0 };

    (void)state;
    assert_false(seen_has(&s, 0, 0));
    seen_add(&s, 0, 1000);
    assert_true(seen_has(&s, 0, 1000));
    assert_true(seen_has(&s, 0, 1000 + SEEN_MS - 1));
    assert_false(seen_has(&s, 0, 1000 + SEEN_MS));
    /* Later ones do not make it longer for the first. */
    seen_add(&s, 1, 1000 + SEEN_MS - 1);
    assert_false(seen_has(&s, 0, 1000 + SEEN_MS));
    assert_false(seen_has(&s, 1, 1000 + SEEN_MS));
    seen_add(&s, 1, 1000 + SEEN_MS);
    assert_false(seen_has(&s, 0, 1000 + SEEN_MS));
    assert_true(seen_has(&s, 1, 1000 + SEEN_MS));
}

static void
test_blocks_are_apart(void **state)
{
    struct seen s = { 0 };
    const int64_t far = INT64_MAX / 2;

    (void)state;
    for (int64_t i = 0; i < SEEN_BLOCKS; i++) {
        assert_false(seen_has(&s, i, 0));
        seen_add(&s, i, 0);
        assert_true(seen_has(&s, i, 0));
    }
    assert_false(seen_has(&s, SEEN_BLOCKS, 0));
    assert_true(seen_has(&s, 5, 0));
    seen_add(&s, far, 0);
    assert_true(seen_has(&s, far, 0));
    assert_false(seen_has(&s, 5, 0));
    seen_clear(&s);
    assert_false(seen_has(&s, far, 0));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_for_a_moment),
        cmocka_unit_test(test_blocks_are_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

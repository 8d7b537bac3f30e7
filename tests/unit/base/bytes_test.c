/*
 * Numbers in bytes.
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

#include "base/bytes.h"

static void
test_round(void **state)
{
    uint8_t b[4];

    (void)state;
    put_be16(b, 0xfedc);
    assert_int_equal(b[0], 0xfe);
    assert_int_equal(get_be16(b), 0xfedc);
    put_be24(b, 0xfedcba);
    assert_int_equal(b[0], 0xfe);
    assert_int_equal(b[2], 0xba);
    assert_int_equal(get_be24(b), 0xfedcba);
    put_be32(b, 0xfedcba98);
    assert_int_equal(b[0], 0xfe);
    assert_int_equal(b[3], 0x98);
    assert_int_equal(get_be32(b), 0xfedcba98);
    put_le32(b, 0xfedcba98);
    assert_int_equal(b[0], 0x98);
    assert_int_equal(b[3], 0xfe);
    assert_int_equal(get_le32(b), 0xfedcba98);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Reasons of failures.
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

#include "base/errmsg.h"

#include <errno.h>
#include <string.h>

static void
test_set(void **state)
{
    struct errmsg e;

    (void)state;
    assert_int_equal(errmsg_set(&e, "port %d", 80), -1);
    assert_string_equal(e.text, "port 80");
}

static void
test_sys(void **state)
{
    struct errmsg e;

    (void)state;
    errno = ENOENT;
    assert_int_equal(errmsg_sys(&e, "open %s", "x"), -1);
    assert_string_equal(e.text, "open x: No such file or directory");
}

static void
test_prefix(void **state)
{
    struct errmsg e;

    (void)state;
    errmsg_set(&e, "b");
    assert_int_equal(errmsg_prefix(&e, "%s: ", "a"), -1);
    assert_string_equal(e.text, "a: b");
}

static void
test_cut(void **state)
{
    struct errmsg e;

    (void)state;
    errmsg_set(&e, "%05000d", 1);
    assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
    errno = ENOENT;
    errmsg_sys(&e, "%05000d", 1);
    assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
    errmsg_prefix(&e, "abc ");
    assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
    assert_memory_equal(e.text, "abc 000", 7);
    errmsg_prefix(&e, "%05000d", 1);
    assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_sys),
        cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

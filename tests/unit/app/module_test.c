/*
 * Finding modules by name.
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

#include "app/module.h"

static void
every_module_is_found_by_its_name(void **state)
{
    (void)state;
    for (size_t i = 0; modules[i] != NULL; i++) {
        assert_ptr_equal(module_find(str_from(modules[i]->name)), modules[i]);
        assert_non_null(modules[i]->about);
    }
    assert_null(module_find(STR("")));
    assert_null(module_find(STR("hell")));
    assert_null(module_find(STR("hello ")));
}

static void
a_slip_is_told_the_nearest_name(void **state)
{
    struct errmsg err;

    (void)state;
    assert_int_equal(module_unknown(STR("helo"), &err), -1);
    assert_non_null(strstr(err.text, "\"helo\""));
    assert_non_null(strstr(err.text, "did you mean \"hello\"?"));
    assert_int_equal(module_unknown(STR("transcoding"), &err), -1);
    assert_null(strstr(err.text, "did you mean"));
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_module_is_found_by_its_name),
        cmocka_unit_test(a_slip_is_told_the_nearest_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

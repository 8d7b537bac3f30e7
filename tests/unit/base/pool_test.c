/*
 * Pools.
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

#include "base/pool.h"

#include <string.h>

static void
test_alloc(void **state)
{
    struct pool *p = pool_new(100);
    unsigned char *all[300];

    (void)state;
    for (size_t i = 0; i < 300; i++) {
        all[i] = pool_alloc(p, i);
        assert_non_null(all[i]);
        assert_int_equal((uintptr_t)all[i] % _Alignof(max_align_t), 0);
        memset(all[i], (int)(i % 256), i);
    }
    for (size_t i = 0; i < 300; i++) { /* none lies in another */
        for (size_t k = 0; k < i; k++) {
            assert_int_equal(all[i][k], i % 256);
        }
    }
    pool_free(&p);
    assert_null(p);
    pool_free(&p);
}

static void
test_large(void **state)
{
    struct pool *p = pool_new(0);
    size_t before = pool_size(p);
    char *big = pool_zero(p, 1000000);

    (void)state;
    assert_int_equal(big[999999], 0);
    assert_true(pool_size(p) >= before + 1000000);
    assert_true(pool_size(p) < before + 1001000);
    pool_free(&p);
}

static void
test_strings(void **state)
{
    struct pool *p = pool_new(64);
    struct str s = pool_str(p, str_of("abcdef", 3));

    (void)state;
    assert_int_equal(s.len, 3);
    assert_string_equal(s.ptr, "abc");
    assert_string_equal(pool_cstr(p, STR_NONE), "");
    s = pool_printf(p, "%s-%0500d", "x", 1);
    assert_int_equal(s.len, 502);
    assert_int_equal(s.ptr[501], '1');
    assert_int_equal(s.ptr[502], '\0');
    s = pool_printf(p, "%0255d", 1); /* as long as is printed once */
    assert_int_equal(s.len, 255);
    assert_int_equal(s.ptr[254], '1');
    s = pool_printf(p, "%0256d", 1);
    assert_int_equal(s.len, 256);
    assert_int_equal(s.ptr[255], '1');
    s = pool_join(p, STRS(STR("a"), STR_NONE, str_of("bcd", 2)));
    assert_int_equal(s.len, 3);
    assert_string_equal(s.ptr, "abc");
    pool_free(&p);
}

static char order[8];
static struct pool *late;

static void
append(void *arg)
{
    strncat(order, arg, 1);
}

static void
append_and_register(void *arg)
{
    append(arg);
    pool_on_free(late, append, arg);
}

static void
test_cleanups(void **state)
{
    struct pool *p = pool_new(64);
    char a[] = "a", b[] = "b", c[] = "c";

    (void)state;
    order[0] = '\0';
    late = p;
    pool_on_free(p, append, a);
    pool_on_free(p, append_and_register, b);
    pool_on_free(p, append, c);
    pool_free(&p);
    assert_string_equal(order, "cbba");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alloc),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_cleanups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

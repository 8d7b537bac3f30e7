/*
 * Bounded buffers.
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

#include "base/buf.h"

#include <string.h>

static void
holds(const struct buf *b, const char *expected)
{
    assert_int_equal(buf_len(b), strlen(expected));
    assert_memory_equal(buf_data(b), expected, buf_len(b));
    assert_true(str_eq(buf_str(b), str_from(expected)));
}

static void
test_add_and_take(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 100);
    assert_int_equal(buf_len(&b), 0);
    assert_non_null(buf_data(&b));
    assert_null(b.mem);
    assert_int_equal(buf_add(&b, "hello", 5), 0);
    assert_int_equal(buf_add(&b, NULL, 0), 0);
    assert_int_equal(buf_add_str(&b, STR(" world")), 0);
    holds(&b, "hello world");
    buf_take(&b, 6);
    holds(&b, "world");
    buf_take(&b, 0);
    buf_drop_end(&b, 0);
    buf_drop_end(&b, 3);
    holds(&b, "wo");
    buf_take(&b, 2);
    holds(&b, "");
    assert_non_null(b.mem);
    buf_trim(&b);
    assert_null(b.mem);
    buf_clear(&b);
}

static void
test_trim_keeps_what_is_there(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 100);
    buf_add(&b, "x", 1);
    buf_trim(&b);
    holds(&b, "x");
    buf_clear(&b);
    holds(&b, "");
    assert_int_equal(b.limit, 100);
}

static void
test_limit(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 10);
    assert_int_equal(buf_room(&b), 10);
    assert_int_equal(buf_add(&b, "0123456789", 10), 0);
    assert_int_equal(buf_room(&b), 0);
    assert_int_equal(buf_add(&b, "x", 1), -1);
    assert_null(buf_reserve(&b, 1));
    holds(&b, "0123456789");
    buf_take(&b, 1);
    assert_int_equal(buf_add(&b, "ab", 2), -1);
    assert_int_equal(buf_add(&b, "a", 1), 0);
    holds(&b, "123456789a");
    assert_true(b.size <= 10);
    b.limit = 5; /* a limit that was lowered only stops adding */
    assert_int_equal(buf_room(&b), 0);
    assert_int_equal(buf_add(&b, "a", 1), -1);
    buf_clear(&b);
}

static void
test_reserve(void **state)
{
    struct buf b;
    uint8_t *to;

    (void)state;
    buf_init(&b, 100000);
    to = buf_reserve(&b, 3000);
    assert_non_null(to);
    memset(to, 'x', 3000);
    assert_int_equal(buf_len(&b), 0); /* not there before it is committed */
    buf_commit(&b, 2);
    holds(&b, "xx");
    assert_null(buf_reserve(&b, SIZE_MAX));
    assert_null(buf_reserve(&b, 99999));
    assert_non_null(buf_reserve(&b, 99998));
    holds(&b, "xx");
    buf_clear(&b);
}

/* Whatever is added and taken, what comes out is what went in. */
static void
test_stream(void **state)
{
    struct buf b;
    unsigned in = 0, out = 0;

    (void)state;
    buf_init(&b, 3000);
    for (unsigned turn = 0; turn < 20000; turn++) {
        unsigned n = turn * 7919 % 700;

        if (turn % 2 == 0) {
            uint8_t *to = buf_reserve(&b, n);

            assert_true((to != NULL) == (n <= 3000 - buf_len(&b)));
            for (unsigned i = 0; to != NULL && i < n; i++) {
                to[i] = (uint8_t)(in++ % 251);
            }
            buf_commit(&b, to != NULL ? n : 0);
        } else {
            n = n < buf_len(&b) ? n : (unsigned)buf_len(&b);
            for (unsigned i = 0; i < n; i++) {
                assert_int_equal(buf_data(&b)[i], out++ % 251);
            }
            buf_take(&b, n);
        }
        assert_true(b.size <= 3000);
    }
    assert_true(out > 1000000);
    buf_clear(&b);
}

static void
test_printf(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    assert_int_equal(buf_printf(&b, "%d-%s", 7, "x"), 0);
    holds(&b, "7-x");
    assert_int_equal(buf_printf(&b, "%s", ""), 0);
    assert_int_equal(buf_printf(&b, "%0997d", 5), 0); /* to the very limit */
    assert_int_equal(buf_len(&b), 1000);
    assert_int_equal(buf_data(&b)[999], '5');
    assert_int_equal(buf_printf(&b, "x"), -1);
    assert_int_equal(buf_printf(&b, "%0999d", 5), -1);
    assert_int_equal(buf_len(&b), 1000);
    buf_clear(&b);
}

static void
test_join(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 5);
    assert_int_equal(buf_join(&b, STRS(STR("ab"), STR_NONE, STR("c"))), 0);
    holds(&b, "abc");
    assert_int_equal(buf_join(&b, STRS(STR_NONE)), 0);
    assert_int_equal(buf_join(&b, STRS(STR("de"), STR("f"))), -1);
    holds(&b, "abc");
    assert_int_equal(buf_join(&b, STRS(STR("d"), STR("e"))), 0);
    holds(&b, "abcde");
    buf_clear(&b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add_and_take),
        cmocka_unit_test(test_trim_keeps_what_is_there),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_printf),
        cmocka_unit_test(test_join),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

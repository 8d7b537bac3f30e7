/*
 * Strings as pointer and length.
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

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void
assert_str(struct str s, const char *expected)
{
    assert_int_equal(s.len, strlen(expected));
    assert_memory_equal(s.ptr, expected, s.len);
}

static void
test_from(void **state)
{
    (void)state;
    assert_str(str_from("abc"), "abc");
    assert_int_equal(str_from(NULL).len, 0);
    assert_non_null(str_from(NULL).ptr);
    assert_non_null(str_of(NULL, 0).ptr);
    assert_str(STR("lit"), "lit");
}

static void
test_compare(void **state)
{
    (void)state;
    assert_true(str_eq(STR("ab"), STR("ab")));
    assert_false(str_eq(STR("ab"), STR("abc")));
    assert_true(str_eq(STR_NONE, str_of(NULL, 0)));
    assert_true(str_eq_nocase(STR("aB-1"), STR("Ab-1")));
    assert_false(str_eq_nocase(STR("[a"), STR("{a"))); /* 0x5b, 0x7b */
    assert_true(str_compare(STR("a"), STR("b")) < 0);
    assert_true(str_compare(STR("ab"), STR("a")) > 0);
    assert_true(str_compare(STR("\xff"), STR("a")) > 0);
    assert_int_equal(str_compare(STR("a"), STR("a")), 0);
    assert_int_equal(str_compare_nocase(STR("aB"), STR("Ab")), 0);
    assert_true(str_compare_nocase(STR("A"), STR("b")) < 0);
    assert_true(str_compare_nocase(STR("aB"), STR("A")) > 0);
    assert_true(str_compare_nocase(STR("["), STR("{")) != 0);
    assert_true(str_starts(STR("abc"), STR("ab")));
    assert_true(str_starts(STR("abc"), STR("")));
    assert_false(str_starts(STR("a"), STR("ab")));
    assert_true(str_ends(STR("abc"), STR("bc")));
    assert_true(str_ends(STR("abc"), STR("")));
    assert_false(str_ends(STR("c"), STR("bc")));
}

static void
test_parts(void **state)
{
    struct str s = STR("a,b,,c");

    (void)state;
    assert_int_equal(str_find(s, ',', 0), 1);
    assert_int_equal(str_find(s, ',', 2), 3);
    assert_int_equal(str_find(s, 'x', 0), s.len);
    assert_int_equal(str_find(s, 'c', 99), s.len);
    assert_str(str_skip(s, 2), "b,,c");
    assert_str(str_skip(s, 99), "");
    assert_str(str_first(s, 3), "a,b");
    assert_str(str_first(s, 99), "a,b,,c");
    assert_str(str_trim(STR(" \t a b\t ")), "a b");
    assert_str(str_trim(STR(" \t ")), "");
    assert_str(str_trim_space(STR("\r\n \fa\nb\v\t ")), "a\nb");
    assert_str(str_trim_space(STR(" \n")), "");
}

static void
test_cut(void **state)
{
    struct str s = STR("a,b,,c");

    (void)state;
    assert_str(str_cut(&s, ','), "a");
    assert_str(str_cut(&s, ','), "b");
    assert_str(str_cut(&s, ','), "");
    assert_str(str_cut(&s, ','), "c");
    assert_str(s, "");
    assert_str(str_cut(&s, ','), "");
    s = STR("x,");
    assert_str(str_cut(&s, ','), "x");
    assert_str(s, "");
}

static void
test_to_int(void **state)
{
    int64_t n = 77;

    (void)state;
    assert_true(str_to_int(STR("0"), 0, 9, &n));
    assert_int_equal(n, 0);
    assert_true(str_to_int(STR("9223372036854775807"), 0, INT64_MAX, &n));
    assert_true(n == INT64_MAX);
    assert_true(
        str_to_int(STR("-9223372036854775808"), INT64_MIN, INT64_MAX, &n));
    assert_true(n == INT64_MIN);
    assert_true(str_to_int(STR("-0"), -1, 1, &n));
    assert_int_equal(n, 0);
    n = 77;
    assert_false(str_to_int(STR("9223372036854775808"), 0, INT64_MAX, &n));
    assert_false(
        str_to_int(STR("-9223372036854775809"), INT64_MIN, INT64_MAX, &n));
    assert_false(str_to_int(STR("99999999999999999999999"), 0, INT64_MAX, &n));
    assert_false(str_to_int(STR("10"), 0, 9, &n));
    assert_false(str_to_int(STR("4"), 5, 9, &n));
    assert_false(str_to_int(STR("-1"), 0, 9, &n));
    assert_false(str_to_int(STR(""), 0, 9, &n));
    assert_false(str_to_int(STR("-"), -9, 9, &n));
    assert_false(str_to_int(STR("+1"), 0, 9, &n));
    assert_false(str_to_int(STR(" 1"), 0, 9, &n));
    assert_false(str_to_int(STR("1x"), 0, 9, &n));
    assert_int_equal(n, 77);
}

static void
test_copy(void **state)
{
    char dst[4] = "xxx";

    (void)state;
    assert_int_equal(str_copy(dst, 0, STR("ab")), 0);
    assert_string_equal(dst, "xxx");
    assert_int_equal(str_copy(dst, sizeof(dst), STR("abcdef")), 3);
    assert_string_equal(dst, "abc");
    assert_int_equal(str_copy(dst, sizeof(dst), STR_NONE), 0);
    assert_string_equal(dst, "");
}

static void
test_append(void **state)
{
    char dst[6] = "";

    (void)state;
    assert_int_equal(str_append(dst, 4, 0, STR("ab")), 2);
    assert_int_equal(str_append(dst, 4, 2, STR_NONE), 2);
    assert_int_equal(str_append(dst, 4, 2, STR("cdef")), 3);
    assert_string_equal(dst, "abc");
    assert_int_equal(str_append(dst, 4, 3, STR("d")), 3);
    assert_string_equal(dst, "abc");
    dst[4] = 'x';
    assert_int_equal(str_append(dst, 4, 4, STR("d")), 4);
    assert_int_equal(str_append(dst, 4, 5, STR("d")), 5);
    assert_int_equal(str_append(dst, 0, 0, STR("d")), 0);
    assert_memory_equal(dst, "abc\0x", 6);
}

static void
escapes_to(const char *from, size_t len, size_t size, const char *expected)
{
    char *dst = mem_alloc(size); /* so that an overrun is seen */

    assert_int_equal(str_escape(dst, size, str_of(from, len)),
                     strlen(expected));
    assert_string_equal(dst, expected);
    mem_free(&dst);
}

static void
test_escape(void **state)
{
    (void)state;
    escapes_to("ab", 2, 10, "ab");
    escapes_to("a\n\"\\\x7f\0z", 7, 40, "a\\x0a\\x22\\x5c\\x7f\\x00z");
    escapes_to("\xc3\xa4\xff", 3, 40, "\xc3\xa4\\xff");
    escapes_to("ab\n", 3, 6, "ab"); /* an escape is never cut in two */
    escapes_to("ab\n", 3, 7, "ab\\x0a");
    escapes_to("a\xc3\xa4", 3, 3, "a"); /* nor is a character */
    escapes_to("abc", 3, 1, "");
}

/* Once, and what is escaped already not again. */
static void
test_escape_words(void **state)
{
    char once[40], twice[40];

    (void)state;
    str_escape_words(once, sizeof(once), str_of("a\n\"\\\x7f\0\xff", 7));
    assert_string_equal(once, "a\\x0a\"\\\\x7f\\x00\\xff");
    str_escape_words(twice, sizeof(twice), str_from(once));
    assert_string_equal(twice, once);
}

static void
test_distance(void **state)
{
    char a[200], b[200];

    (void)state;
    assert_int_equal(str_distance(STR("memory"), STR("memory"), 3), 0);
    assert_int_equal(str_distance(STR("memroy"), STR("memory"), 3), 1);
    assert_int_equal(str_distance(STR("statsu"), STR("status"), 3), 1);
    assert_int_equal(str_distance(STR("statsu"), STR("static"), 3), 2);
    assert_int_equal(str_distance(STR("ba"), STR("ab"), 3), 1);
    assert_int_equal(str_distance(STR("ca"), STR("abc"), 3), 3);
    assert_int_equal(str_distance(STR("kitten"), STR("sitting"), 9), 3);
    assert_int_equal(str_distance(STR(""), STR("abc"), 9), 3);
    assert_int_equal(str_distance(STR("abc"), STR(""), 9), 3);
    assert_int_equal(str_distance(STR("abc"), STR("xyz"), 2), 3);
    assert_int_equal(str_distance(STR("abcdef"), STR("uvwxyz"), 2), 3);
    memset(a, 'a', sizeof(a));
    memset(b, 'a', sizeof(b));
    b[0] = 'b';
    assert_int_equal(str_distance(str_of(a, 128), str_of(b, 128), 5), 1);
    assert_int_equal(str_distance(str_of(a, 200), str_of(b, 200), 5), 6);
    assert_int_equal(str_distance(str_of(a, 200), str_of(a, 200), 5), 0);
}

static void
test_hex_digit(void **state)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";

    (void)state;
    for (int i = 0; i < 32; i++) {
        assert_int_equal(str_hex_digit(digits[i]), i % 16);
    }
    for (const char *c = "/:@G`g x"; *c != '\0'; c++) {
        assert_int_equal(str_hex_digit(*c), -1);
    }
    assert_int_equal(str_hex_digit('\0'), -1);
}

static void
test_hex(void **state)
{
    static const uint8_t bytes[] = { 0x00, 0x0f, 0xa0, 0xff };
    char text[9];

    (void)state;
    str_hex(text, bytes, sizeof(bytes));
    assert_string_equal(text, "000fa0ff");
    str_hex(text, bytes, 0);
    assert_string_equal(text, "");
}

/* Wherever they differ, in case alone or in more. */
static void
long_ones_without_case(void **state)
{
    char a[] = "if-unmodified-since-or-so", b[sizeof(a)];
    const size_t n = sizeof(a) - 1;

    (void)state;
    for (size_t i = 0; i < n; i++) {
        memcpy(b, a, sizeof(a));
        b[i] = a[i] == '-' ? '-' : (char)(a[i] - 'a' + 'A');
        assert_true(str_eq_nocase(str_of(a, n), str_of(b, n)));
        b[i] = '_';
        assert_false(str_eq_nocase(str_of(a, n), str_of(b, n)));
        assert_true(str_eq_nocase(str_of(a, i), str_of(b, i)));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_ones_without_case),
        cmocka_unit_test(test_from),
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_to_int),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_append),
        cmocka_unit_test(test_escape),
        cmocka_unit_test(test_escape_words),
        cmocka_unit_test(test_distance),
        cmocka_unit_test(test_hex),
        cmocka_unit_test(test_hex_digit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

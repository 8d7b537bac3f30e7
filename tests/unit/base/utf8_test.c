/*
 * UTF-8: what is valid and what only looks like it.
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

#include "base/utf8.h"

#include <string.h>

static size_t
first(const char *s)
{
    return utf8_char(str_from(s));
}

static void
test_valid(void **state)
{
    (void)state;
    assert_int_equal(first("a"), 1);
    assert_int_equal(first("\x7f"), 1);
    assert_int_equal(first("\xc2\x80"), 2);
    assert_int_equal(first("\xdf\xbf"), 2);
    assert_int_equal(first("\xe0\xa0\x80"), 3);
    assert_int_equal(first("\xed\x9f\xbf"), 3); /* U+D7FF */
    assert_int_equal(first("\xee\x80\x80"), 3); /* U+E000 */
    assert_int_equal(first("\xef\xbf\xbf"), 3);
    assert_int_equal(first("\xf0\x90\x80\x80"), 4);
    assert_int_equal(first("\xf4\x8f\xbf\xbf"), 4); /* U+10FFFF */
    assert_int_equal(utf8_char(str_of("\0", 1)), 1);
    assert_true(utf8_valid(STR("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80")));
    assert_true(utf8_valid(STR_NONE));
}

static void
test_invalid(void **state)
{
    (void)state;
    assert_int_equal(utf8_char(STR_NONE), 0);
    assert_int_equal(first("\x80"), 0);
    assert_int_equal(first("\xc0\x80"), 0); /* overlong */
    assert_int_equal(first("\xc1\xbf"), 0);
    assert_int_equal(first("\xe0\x9f\xbf"), 0);
    assert_int_equal(first("\xf0\x8f\xbf\xbf"), 0);
    assert_int_equal(first("\xed\xa0\x80"), 0);     /* surrogate */
    assert_int_equal(first("\xf4\x90\x80\x80"), 0); /* U+110000 */
    assert_int_equal(first("\xf5\x80\x80\x80"), 0);
    assert_int_equal(first("\xff"), 0);
    assert_int_equal(first("\xc3"), 0); /* cut short */
    assert_int_equal(first("\xe2\x82"), 0);
    assert_int_equal(first("\xf0\x9f\x98"), 0);
    assert_int_equal(first("\xc3z"), 0);
    assert_int_equal(first("\xe2\x82z"), 0);
    assert_false(utf8_valid(STR("abc\x80")));
}

/* Wherever it stands in a text of many words, long as a machine's or not. */
static void
test_amid_ascii(void **state)
{
    char text[40];

    (void)state;
    for (size_t len = 2; len <= sizeof(text); len++) {
        for (size_t at = 0; at + 1 < len; at++) {
            memset(text, 'a', sizeof(text));
            assert_true(utf8_valid(str_of(text, len)));
            text[at] = '\xc3';
            assert_false(utf8_valid(str_of(text, len)));
            text[at + 1] = '\xa4';
            assert_true(utf8_valid(str_of(text, len)));
            assert_false(utf8_valid(str_of(text, at + 1)));
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid),
        cmocka_unit_test(test_invalid),
        cmocka_unit_test(test_amid_ascii),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

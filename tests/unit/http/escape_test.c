/*
 * Text inside JSON and HTML.
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

#include "http/escape.h"

static void
assert_json(struct str s, const char *expected)
{
    struct buf b;

    buf_init(&b, 1000);
    assert_int_equal(http_json_string(&b, s), 0);
    assert_true(str_eq(buf_str(&b), str_from(expected)));
    buf_clear(&b);
}

static void
test_json(void **state)
{
    (void)state;
    assert_json(STR(""), "\"\"");
    assert_json(STR("abc"), "\"abc\"");
    assert_json(STR("a\"b\\c/"), "\"a\\\"b\\\\c/\"");
    assert_json(STR("\n\r\t"), "\"\\n\\r\\t\"");
    assert_json(STR("\0\x01\x1f\x7f"), "\"\\u0000\\u0001\\u001f\\u007f\"");
    assert_json(STR("</script>"), "\"\\u003c/script\\u003e\"");
    assert_json(STR("\xc3\xa4\xf0\x9f\x98\x80"),
                "\"\xc3\xa4\xf0\x9f\x98\x80\"");
    assert_json(STR("\xe2\x80\xa8\xe2\x80\xa9"), "\"\\u2028\\u2029\"");
    assert_json(STR("a\xff"
                    "b\xc3"),
                "\"a\xef\xbf\xbd"
                "b\xef\xbf\xbd\"");
    assert_json(STR("\xed\xa0\x80"), /* a surrogate */
                "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void
test_full(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 4);
    assert_int_equal(http_json_string(&b, STR("abcd")), -1);
    buf_clear(&b);
    assert_int_equal(http_html_text(&b, STR("<")), -1);
    buf_clear(&b);
}

static void
test_html(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    assert_int_equal(http_html_text(&b, STR("a<b>&\"'\xc3\xa4")), 0);
    assert_true(
        str_eq(buf_str(&b), STR("a&#60;b&#62;&#38;&#34;&#39;\xc3\xa4")));
    buf_clear(&b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_html),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Compiling formats and writing lines.
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

#include <stdio.h>
#include <string.h>

#include "base/line_format.h"

static struct pool *pool;
static struct str text; /* of $text */

static void
get_text(const void *subject, struct str rest, struct line_value *v)
{
    (void)rest;
    line_value_text(v, *(const struct str *)subject);
}

static void
get_number(const void *subject, struct str rest, struct line_value *v)
{
    (void)subject;
    (void)rest;
    line_value_number(v, -9007199254740993);
}

static void
get_seconds(const void *subject, struct str rest, struct line_value *v)
{
    (void)subject;
    (void)rest;
    line_value_seconds(v, 61005);
}

static void
get_rest(const void *subject, struct str rest, struct line_value *v)
{
    (void)subject;
    line_value_text(v, rest);
}

static const struct line_variable variables[] = {
    { "text", get_text },  { "number", get_number }, { "seconds", get_seconds },
    { "http_", get_rest }, { NULL, NULL },
};
static const struct line_preset presets[] = {
    { "short", "<$text>" },
    { NULL, NULL },
};

static int
set_up(void **state)
{
    (void)state;
    pool = pool_new(1024);
    text = STR("abc");
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    pool_free(&pool);
    return 0;
}

static const struct line_format *
compile(const char *format)
{
    struct errmsg err = { "" };
    const struct line_format *f =
        line_format_compile(pool, str_from(format), variables, presets, &err);

    if (f == NULL) {
        fail_msg("%s: %s", format, err.text);
    }
    return f;
}

static void
assert_line(const char *format, const char *want)
{
    static char line[LINE_SIZE_MAX];
    size_t n = line_format_write(compile(format), &text, line, sizeof(line));

    assert_int_equal(line[n - 1], '\n');
    assert_null(memchr(line, '\n', n - 1));
    line[n - 1] = '\0';
    assert_string_equal(line, want);
}

static void
assert_wrong(const char *format, const char *why)
{
    struct errmsg err = { "" };

    assert_null(
        line_format_compile(pool, str_from(format), variables, presets, &err));
    if (strstr(err.text, why) == NULL) {
        fail_msg("%s: not \"%s\" but \"%s\"", format, why, err.text);
    }
}

static void
test_text(void **state)
{
    (void)state;
    assert_line("short", "<abc>");
    assert_line("", "");
    assert_line("no variable", "no variable");
    assert_line("$text", "abc");
    assert_line("$text$text ${text}x-$text.", "abcabc abcx-abc.");
    assert_line("$$5 $$$text$$", "$5 $abc$");
    assert_line("$number $seconds", "-9007199254740993 61.005");
    assert_line("$http_user_agent", "user_agent");
    text = STR_NONE;
    assert_line("[$text]", "[-]");
}

static void
test_wrong(void **state)
{
    (void)state;
    assert_wrong("$txt", "no variable \"$txt\"; did you mean \"$text\"?");
    assert_wrong("$entirely_else",
                 "no variable \"$entirely_else\"; there are $text, ");
    assert_wrong("$http_", "did you mean");
    assert_wrong("a $ b", "needs the name");
    assert_wrong("cost: 5$", "needs the name");
    assert_wrong("${text", "}");
    assert_wrong("${}", "}");
    assert_wrong("json: a=$txt", "did you mean \"$text\"?");
    assert_wrong("json: a=text", "member=$variable");
    assert_wrong("json: $text", "member=$variable");
    assert_wrong("json: a\"b=$text", "cannot be a member");
}

static void
test_escaped(void **state)
{
    (void)state;
    text = STR("a\"\\\n\x01\x7f\xff\xc3\xa4");
    assert_line("$text", "a\\x22\\x5c\\x0a\\x01\\x7f\\xff\xc3\xa4");
    assert_line("json: t=$text",
                "{\"t\":\"a\\\"\\\\\\u000a\\u0001\\u007f\\ufffd\xc3\xa4\"}");
}

static void
test_json(void **state)
{
    (void)state;
    assert_line("json: a=$text n=$number  s=$seconds",
                "{\"a\":\"abc\",\"n\":-9007199254740993,\"s\":61.005}");
    text = STR_NONE;
    assert_line("json: a=$text n=$number", "{\"n\":-9007199254740993}");
    assert_line("json: a=$text", "{}");
}

/* Lines and fields have an end, and a JSON line stays an object. */
static void
test_long(void **state)
{
    static char big[LINE_SIZE_MAX], line[LINE_SIZE_MAX];
    char format[512] = "json:";
    size_t n;

    (void)state;
    memset(big, '\n', sizeof(big));
    text = str_of(big, sizeof(big));
    n = line_format_write(compile("$text|"), &text, line, sizeof(line));
    assert_in_range(n, 1000, LINE_FIELD_MAX + 2);
    assert_int_equal(line[n - 1], '\n');
    for (int i = 0; i < 20; i++) {
        size_t at = strlen(format);

        snprintf(format + at, sizeof(format) - at, " m%d=$text", i);
    }
    n = line_format_write(compile(format), &text, line, sizeof(line));
    assert_in_range(n, LINE_FIELD_MAX, sizeof(line));
    assert_memory_equal(line + n - 3, "\"}\n", 3);
}

static void
assert_masked(const char *from, bool is_args, const char *want)
{
    static const struct str names[] = { { "key", 3 }, { "token", 5 } };
    const struct line_mask mask = { names, 2 };
    struct line_value v;
    char got[256];

    line_value_masked(&v, &mask, str_from(from), is_args);
    str_copy(got, sizeof(got), v.text);
    assert_string_equal(got, want);
}

static void
test_masked(void **state)
{
    (void)state;
    assert_masked("key=a", true, "key=***");
    assert_masked("a=b&KEY=c;token=&x", true, "a=b&KEY=***;token=***&x");
    assert_masked("monkey=1&keys=2&key", true, "monkey=1&keys=2&key");
    assert_masked("GET /key=a?token=b HTTP/1.1", false,
                  "GET /key=a?token=*** HTTP/1.1");
    assert_masked("rtmp://h/app?key=a?token=b", false, "rtmp://h/app?key=***");
    assert_masked("", true, "");
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_text), TEST(test_wrong), TEST(test_escaped),
        TEST(test_json), TEST(test_long),  TEST(test_masked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

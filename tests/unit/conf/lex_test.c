/*
 * What is refused before libconfig reads it silently wrong.
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

#include "help.h"

#include <string.h>

#define NOT_A_NUMBER                                                       \
    "this is no number; text, times and sizes with a unit, and addresses " \
    "stand in quotes\n"
#define NEEDS_L "a whole number over 32 bits needs an L behind it\n"

static void
number_is_refused(const char *number, const char *why)
{
    char text[200], expected[300];

    snprintf(text, sizeof(text), "port = 1; live = { streams = %s; }", number);
    snprintf(expected, sizeof(expected), "t.conf:1: live.streams: %s: %s",
             number, why);
    help_refused(text, expected);
}

static void
streams_are(const char *number, int64_t expected)
{
    char text[200];
    struct conf *c;

    snprintf(text, sizeof(text), "port = 1; live = { streams = %s; }", number);
    c = help_load(text);
    assert_int_equal(((const struct sample *)conf_settings(c))->live.streams,
                     expected);
    conf_free(&c);
}

static void
test_numbers(void **state)
{
    (void)state;
    number_is_refused("2147483648", NEEDS_L);
    number_is_refused("-2147483649", NEEDS_L);
    number_is_refused("3000000000", NEEDS_L);
    number_is_refused("0x80000000", NEEDS_L);
    number_is_refused("0xFFFFFFFFF", NEEDS_L);
    number_is_refused("9223372036854775808L", "this number is too large\n");
    number_is_refused("99999999999999999999", "this number is too large\n");
    number_is_refused("0x8000000000000000L", "this number is too large\n");
    number_is_refused("10s", NOT_A_NUMBER);
    number_is_refused("16M", NOT_A_NUMBER);
    number_is_refused("127.0.0.1", NOT_A_NUMBER);
    number_is_refused(".", NOT_A_NUMBER);
    number_is_refused("+", NOT_A_NUMBER);
    number_is_refused("1-2", NOT_A_NUMBER);
    number_is_refused("0x", NOT_A_NUMBER);
    number_is_refused("1LLL", NOT_A_NUMBER);
    number_is_refused("1e", NOT_A_NUMBER);
    streams_are("2147483647", INT32_MAX);
    streams_are("+7", 7);
    streams_are("2147483648L", 2147483648);
    streams_are("2147483648LL", 2147483648);
    streams_are("5L", 5);
    streams_are("0x7fffffff", INT32_MAX);
    streams_are("0XfFL", 255);
    streams_are("0xFFFFFFFFL", 4294967295);
    streams_are("010", 10);
}

static void
test_fractions(void **state)
{
    static const char *const all[] = { "1.5", "-.5", "1.", "1e5", "+1.5e-3" };

    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        char text[100];

        snprintf(text, sizeof(text), "port = %s;", all[i]);
        help_refused(text, "t.conf:1: port must be a whole number from 0 to "
                           "65535, not a fraction\n");
    }
}

static void
test_strings_side_by_side(void **state)
{
    (void)state;
    help_refused("port = 1;\npid = \"a\" # c\n /* d */ \"b\"\n \"c\";\n",
                 "t.conf:3: two strings side by side, is a comma missing?\n"
                 "t.conf:4: pid: \"c\": two strings side by side, is a comma "
                 "missing?\n");
    help_refused("port = 1;\nfoobarbaz = ( \"a\" \"b\" );\n",
                 "t.conf:2: foobarbaz is unknown; there are: workers, port, "
                 "pid, user, token, access, secrets, live, units, store, "
                 "format, voices, speakers, volume\n"
                 "t.conf:2: two strings side by side, is a comma missing?\n");
}

static void
test_strings(void **state)
{
    struct conf *c;

    (void)state;
    help_refused("port = 1;\npid = \"abc;\nworkers = 2;\nuser = \"x\";\n",
                 "t.conf:2: this string does not end in: pid = \"abc;\n");
    help_refused("port = 1; pid = \"abc\\\n\";\n",
                 "t.conf:1: this string does not end in: port = 1; pid = "
                 "\"abc\\\n");
    help_refused("pid = \"", "t.conf:1: this string does not end in: pid = "
                             "\"\n");
    help_refused("port = 1; pid = \"a\\x00b\";",
                 "t.conf:1: pid: \"a\\x00b\": a string cannot hold a NUL "
                 "byte\n");
    help_refused_bytes(STR("port = 1; pid = \"a\0b\";"),
                       "t.conf:1: pid: \"a?b\": a string cannot hold a NUL "
                       "byte\n");
    c = help_load("port = 1; pid = \"/* \\\" # // \\\\ @ \\x41\\\\x00\\n\"");
    assert_string_equal(((const struct sample *)conf_settings(c))->pid.ptr,
                        "/* \" # // \\ @ A\\x00\n");
    conf_free(&c);
}

static void
test_comments(void **state)
{
    struct conf *c;

    (void)state;
    c = help_load("/* \" 3000000000 \n @include \"x\" { \n */ port /**/ = "
                  "// ( \n # 10s\n 5 /*/ */;#end");
    assert_int_equal(((const struct sample *)conf_settings(c))->port, 5);
    conf_free(&c);
    help_refused("port = 1;\n/* here\n\n *  /",
                 "t.conf:2: this comment never ends\n");
    help_refused("port = 1; /*", "t.conf:1: this comment never ends\n");
    help_refused("/*/", "t.conf:1: this comment never ends\n");
}

static void
test_brackets(void **state)
{
    char deep[200];

    (void)state;
    help_refused("live = {\n hold = 0;\n\nport = 1;\n",
                 "t.conf:1: this \"{\" is never closed\n");
    help_refused("port = 1; }\n", "t.conf:1: this \"}\" closes nothing\n");
    help_refused("units = (\n{ name = \"a\"; )\n",
                 "t.conf:2: this \")\" cannot close the \"{\" of line 2\n");
    help_refused("access = [ \"allow a\" )\n",
                 "t.conf:1: this \")\" cannot close the \"[\" of line 1\n");
    memset(deep, '(', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = '\0';
    help_refused(deep, "t.conf:1: brackets are more than 64 deep\n");
}

static void
test_marks(void **state)
{
    (void)state;
    help_refused("port = 1;\nx = 1 @include \"y\"\n",
                 "t.conf:2: '@' can only begin a line @include \"FILE\"\n");
    help_refused("@include \"y\" z\n",
                 "t.conf:1: '@' can only begin a line @include \"FILE\"\n");
    help_refused("@include \"y\n",
                 "t.conf:1: '@' can only begin a line @include \"FILE\"\n");
    help_refused("@include\"y\"\n",
                 "t.conf:1: '@' can only begin a line @include \"FILE\"\n");
    help_refused("@include \"\"\n",
                 "t.conf:1: '@' can only begin a line @include \"FILE\"\n");
    help_refused("@",
                 "t.conf:1: '@' can only begin a line @include \"FILE\"\n");
    help_refused_bytes(STR("port = 1;\n\0"), "t.conf:2: a NUL byte\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_fractions),
        cmocka_unit_test(test_strings_side_by_side),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_comments),
        cmocka_unit_test(test_brackets),
        cmocka_unit_test(test_marks),
    };

    return cmocka_run_group_tests(tests, help_enter, help_leave);
}

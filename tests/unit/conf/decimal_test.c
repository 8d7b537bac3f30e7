/*
 * Numbers with a point: from the file, in messages, and back.
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

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "conf/decimal.h"
#include "help.h"

static void
reads(const char *text, int64_t millionths)
{
    int64_t n = -77;

    if (!decimal_read(str_from(text), &n) || n != millionths) {
        fail_msg("%s is %lld", text, (long long)n);
    }
}

static void
reads_not(const char *text)
{
    int64_t n = -77;

    if (decimal_read(str_from(text), &n) || n != -77) {
        fail_msg("%s is %lld", text, (long long)n);
    }
}

static void
test_read(void **state)
{
    (void)state;
    reads("0.667", 667000);
    reads("1", 1000000);
    reads("1.", 1000000);
    reads("-2.5", -2500000);
    reads("0.000001", 1);
    reads("1000000000.999999", 1000000000999999);
    reads_not("0.0000001");
    reads_not("1000000001");
    reads_not("");
    reads_not(".5");
    reads_not("-");
    reads_not("--1");
    reads_not("1.-5");
    reads_not("1e3");
    reads_not("1,5");
    reads_not("nan");
}

static void
test_of(void **state)
{
    int64_t n = -77;

    (void)state;
    assert_true(decimal_of(0.1, &n));
    assert_int_equal(n, 100000);
    assert_true(decimal_of(-0.667, &n));
    assert_int_equal(n, -667000);
    assert_true(decimal_of(1e9, &n));
    assert_int_equal(n, 1000000000000000);
    assert_false(decimal_of(1.1e9, &n));
    assert_false(decimal_of(-1.1e9, &n));
    assert_false(decimal_of((double)NAN, &n));
    assert_false(decimal_of((double)INFINITY, &n));
    assert_int_equal(n, 1000000000000000);
}

static void
prints(int64_t millionths, const char *expected)
{
    struct buf out;

    buf_init(&out, 100);
    decimal_print(millionths, &out);
    if (!str_eq(buf_str(&out), str_from(expected))) {
        fail_msg("%.*s is not %s", STR_ARGS(buf_str(&out)), expected);
    }
    buf_clear(&out);
}

static void
test_print(void **state)
{
    (void)state;
    prints(0, "0.0");
    prints(1000000, "1.0");
    prints(667000, "0.667");
    prints(1, "0.000001");
    prints(-2500000, "-2.5");
    prints(10050000, "10.05");
    prints(INT64_MIN, "-9223372036854.775808");
}

/* ---- in a file ---- */

static void
pitch_is(const char *value, int64_t pitch, const char *printed)
{
    char file[128], expected[64], *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    snprintf(file, sizeof(file),
             "port = 1; voices = ( { name = \"a\"; pitch = %s; } );", value);
    struct conf *c = help_load(file);
    const struct sample *s = conf_settings(c);
    const struct sample_added *added = s->parts.settings[1];
    const struct sample_voice *voices = added->voices.items;

    assert_int_equal(voices[0].pitch, pitch);
    conf_print(c, out);
    fclose(out);
    snprintf(expected, sizeof(expected), "pitch = %s;", printed);
    assert_non_null(strstr(text, expected));
    mem_free(&text);
    conf_free(&c);
}

static void
test_in_a_file(void **state)
{
    (void)state;
    setenv("WEIR_PITCH", "1.25", 1);
    pitch_is("0.1", 100000, "0.1");
    pitch_is("10", 10000000, "10.0");
    pitch_is("1.5e0", 1500000, "1.5");
    pitch_is("0", 0, "0.0");
    pitch_is("\"0.5\"", 500000, "0.5");
    pitch_is("\"auto\"", -1, "\"auto\"");
    pitch_is("\"${env:WEIR_PITCH}\"", 1250000, "1.25");
}

static void
is_refused(const char *value, const char *why)
{
    char file[128], expected[256];

    snprintf(file, sizeof(file),
             "port = 1; voices = ( { name = \"a\"; pitch = %s; } );", value);
    snprintf(expected, sizeof(expected),
             "t.conf:1: voices.pitch must be a number 0 or from 0.1 to 10.0 "
             "or \"auto\", not %s\n",
             why);
    help_refused(file, expected);
}

static void
test_refused(void **state)
{
    (void)state;
    is_refused("0.05", "0.05");
    is_refused("10.1", "10.1");
    is_refused("-0.000001", "-0.000001");
    is_refused("11", "11");
    is_refused("1e40", "a fraction");
    is_refused("\"fast\"", "\"fast\"");
    is_refused("true", "true");
    is_refused("[ 1.0 ]", "a list");
    help_refused("port = 1.5;", "t.conf:1: port must be a whole number from 0 "
                                "to 65535, not a fraction\n");
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),    cmocka_unit_test(test_of),
        cmocka_unit_test(test_print),   cmocka_unit_test(test_in_a_file),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, help_enter, help_leave);
}

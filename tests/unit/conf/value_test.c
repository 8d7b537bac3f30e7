/*
 * Times and sizes outside a file.
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

#include "conf/conf.h"

#include <string.h>

#include "conf/value.h"

static void
time_is(const char *text, int64_t expected)
{
    struct errmsg err;
    int64_t ms = -7;

    assert_int_equal(conf_parse_time(str_from(text), &ms, &err), 0);
    assert_int_equal(ms, expected);
}

static void
no_time(const char *text)
{
    struct errmsg err;
    int64_t ms = -7;

    assert_int_equal(conf_parse_time(str_from(text), &ms, &err), -1);
    assert_int_equal(ms, -7);
    assert_non_null(strstr(err.text, "is no time"));
}

static void
test_times(void **state)
{
    (void)state;
    time_is("0", 0);
    time_is("0s", 0);
    time_is("500ms", 500);
    time_is("10s", 10000);
    time_is("5m", 300000);
    time_is("2h", 7200000);
    time_is("1d", 86400000);
    time_is("9223372036854775807ms", INT64_MAX);
    no_time("9223372036854775807s");
    no_time("9223372036854775808ms");
    no_time("10");
    no_time("");
    no_time("s");
    no_time("-1s");
    no_time("1.5s");
    no_time("10 s");
    no_time("5M");
    no_time("1sx");
    no_time("1week");
}

static void
size_is(const char *text, int64_t expected)
{
    struct errmsg err;
    int64_t n = -7;

    assert_int_equal(conf_parse_size(str_from(text), &n, &err), 0);
    assert_int_equal(n, expected);
}

static void
no_size(const char *text)
{
    struct errmsg err;
    int64_t n = -7;

    assert_int_equal(conf_parse_size(str_from(text), &n, &err), -1);
    assert_int_equal(n, -7);
    assert_non_null(strstr(err.text, "is no size"));
}

static void
test_sizes(void **state)
{
    (void)state;
    size_is("0", 0);
    size_is("1000", 1000);
    size_is("64k", 65536);
    size_is("64K", 65536);
    size_is("16m", 16 << 20);
    size_is("16M", 16 << 20);
    size_is("3g", 3LL << 30);
    size_is("8589934591G", 8589934591LL << 30);
    no_size("8589934592G");
    no_size("");
    no_size("k");
    no_size("1kb");
    no_size("-1");
    no_size("1t");
    no_size(" 1");
}

static void
prints(enum conf_type type, int64_t n, const char *expected)
{
    struct buf out;

    buf_init(&out, 100);
    value_print_number(type, n, &out);
    assert_true(str_eq(buf_str(&out), str_from(expected)));
    buf_clear(&out);
}

static void
test_print_number(void **state)
{
    (void)state;
    prints(CONF_TIME, 0, "0");
    prints(CONF_TIME, 999, "999ms");
    prints(CONF_TIME, 1500, "1500ms");
    prints(CONF_TIME, 90000, "90s");
    prints(CONF_TIME, 86400000, "1d");
    prints(CONF_SIZE, 0, "0");
    prints(CONF_SIZE, 1000, "1000");
    prints(CONF_SIZE, 1536, "1536");
    prints(CONF_SIZE, 1 << 20, "1M");
    prints(CONF_SIZE, 3LL << 40, "3072G");
    prints(CONF_INT, -5, "-5");
}

static void
test_near(void **state)
{
    struct near_name n;

    (void)state;
    near_start(&n, STR("wroker_processes"));
    near_try(&n, "worker_connections");
    near_try(&n, "worker_processes");
    near_try(&n, "pid");
    assert_string_equal(n.best, "worker_processes");
    near_start(&n, STR("xyz"));
    near_try(&n, "worker_processes");
    near_try(&n, "pid");
    assert_null(n.best);
}

/* true and false are words of an enumeration that has them. */
static void
test_enum(void **state)
{
    static const char *const maybe[] = { "inherit", "false", "true", NULL };
    static const char *const plain[] = { "a", "b", NULL };
    struct conf_key key = { .name = "k", .type = CONF_ENUM, .words = maybe };
    struct scalar yes = { .kind = SCALAR_BOOL, .number = 1 };
    struct scalar no = { .kind = SCALAR_BOOL, .number = 0 };
    struct scalar word = { .kind = SCALAR_STRING, .text = STR("inherit") };
    struct errmsg err;
    int value = -1;

    (void)state;
    assert_int_equal(value_read(&key, &yes, NULL, &value, &err), 0);
    assert_int_equal(value, 2);
    assert_int_equal(value_read(&key, &no, NULL, &value, &err), 0);
    assert_int_equal(value, 1);
    assert_int_equal(value_read(&key, &word, NULL, &value, &err), 0);
    assert_int_equal(value, 0);
    key.words = plain;
    assert_int_equal(value_read(&key, &yes, NULL, &value, &err), -1);
    assert_non_null(strstr(err.text, "\"a\" or \"b\""));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_print_number), cmocka_unit_test(test_near),
        cmocka_unit_test(test_enum),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Range headers (RFC 9110, 14), good and bad.
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

#include "http/file/range.h"

/* What a header asks of size bytes, as "offset+len offset+len", "whole" or
 * "none". */
static const char *
ranges(const char *value, int64_t size)
{
    static char text[512];
    struct http_range r[HTTP_RANGES_MAX];
    size_t n = 0, len = 0;

    switch (http_range_parse(str_from(value), size, r, &n)) {
    case HTTP_RANGE_WHOLE:
        return "whole";
    case HTTP_RANGE_NONE:
        return "none";
    case HTTP_RANGE_PARTS:
        break;
    }
    assert_true(n > 0 && n <= HTTP_RANGES_MAX);
    for (size_t i = 0; i < n; i++) {
        assert_true(r[i].offset >= 0 && r[i].len > 0);
        assert_true(r[i].len <= size - r[i].offset);
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%lld+%lld",
                                i > 0 ? " " : "", (long long)r[i].offset,
                                (long long)r[i].len);
    }
    return text;
}

static void
test_one(void **state)
{
    (void)state;
    assert_string_equal(ranges("bytes=0-0", 1000), "0+1");
    assert_string_equal(ranges("bytes=0-499", 1000), "0+500");
    assert_string_equal(ranges("bytes=500-", 1000), "500+500");
    assert_string_equal(ranges("bytes=-1", 1000), "999+1");
    assert_string_equal(ranges("bytes=-5000", 1000), "0+1000");
    assert_string_equal(ranges("bytes=990-5000", 1000), "990+10");
    assert_string_equal(ranges("BYTES=0-", 1000), "0+1000");
    assert_string_equal(ranges("bytes= 1 - 2 ", 1000), "1+2");
    assert_string_equal(ranges("bytes=2999999999-", 3000000000),
                        "2999999999+1");
}

static void
test_several(void **state)
{
    (void)state;
    assert_string_equal(ranges("bytes=0-0,-1", 1000), "0+1 999+1");
    assert_string_equal(ranges("bytes=5-6, 1-2 ,9-", 10), "5+2 1+2 9+1");
    assert_string_equal(ranges("bytes=,,0-0,,1-1,", 10), "0+1 1+1");
    assert_string_equal(ranges("bytes=0-0,5000-", 1000), "0+1");
}

static void
test_not_there(void **state)
{
    (void)state;
    assert_string_equal(ranges("bytes=1000-", 1000), "none");
    assert_string_equal(ranges("bytes=1000-1001,2000-", 1000), "none");
    assert_string_equal(ranges("bytes=-0", 1000), "none");
    assert_string_equal(ranges("bytes=0-", 0), "none");
    assert_string_equal(ranges("bytes=-5", 0), "whole");
    assert_string_equal(ranges("bytes=99999999999999999999999999-", 1000),
                        "none");
    assert_string_equal(ranges("bytes=0-99999999999999999999999999", 1000),
                        "0+1000");
    assert_string_equal(ranges("bytes=-99999999999999999999999999", 1000),
                        "0+1000");
}

static void
test_malformed(void **state)
{
    static const char *const values[] = {
        "",          "bytes",      "bytes=",    "bytes=,",
        "bytes=-",   "bytes=a-b",  "bytes=5-4", "bytes=0-1,x",
        "bytes=1",   "lines=0-1",  "bytes 0-1", "bytes=0-1-2",
        "bytes=+1-", "bytes=0x1-", "bytes=--1", "bytes=1-2;3-4",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        assert_string_equal(ranges(values[i], 1000), "whole");
    }
}

/* More bytes than the file has, or many small pieces: whole is less. */
static void
test_too_much(void **state)
{
    char many[512] = "bytes=";

    (void)state;
    assert_string_equal(ranges("bytes=0-,0-,0-,0-", 1000), "whole");
    assert_string_equal(ranges("bytes=0-600,400-999", 1000), "whole");
    assert_string_equal(ranges("bytes=0-,1-", INT64_MAX), "whole");
    for (int i = 0; i < HTTP_RANGES_MAX; i++) {
        snprintf(many + strlen(many), sizeof(many) - strlen(many), "%d-%d,",
                 i * 2, i * 2);
    }
    assert_string_not_equal(ranges(many, 1000), "whole");
    snprintf(many + strlen(many), sizeof(many) - strlen(many), "99-99");
    assert_string_equal(ranges(many, 1000), "whole");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one),       cmocka_unit_test(test_several),
        cmocka_unit_test(test_not_there), cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_too_much),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Writing JSON.
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

#include "json/json.h"

#include <string.h>

static void
holds(struct buf *b, const char *expected)
{
    buf_add(b, "", 1);
    assert_string_equal((const char *)buf_data(b), expected);
    buf_clear(b);
}

static void
test_everything(void **state)
{
    struct json_out o;
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    buf_add(&b, "x ", 2); /* it appends */
    json_begin(&o, &b, false);
    json_open(&o);
    json_put_str(&o, "name", STR("a"));
    json_put_int(&o, "n", INT64_MIN);
    json_put_int(&o, "m", INT64_MAX);
    json_put_bool(&o, "yes", true);
    json_put_bool(&o, "no", false);
    json_put_null(&o, "null");
    json_key(&o, "list");
    json_open_array(&o);
    json_int(&o, 1);
    json_str(&o, STR_NONE);
    json_bool(&o, true);
    json_null(&o);
    json_open(&o);
    json_close(&o);
    json_open_array(&o);
    json_close(&o);
    json_close(&o);
    json_put_int(&o, "", 0);
    json_close(&o);
    assert_int_equal(json_end(&o), 0);
    holds(&b, "x {\"name\":\"a\",\"n\":-9223372036854775808,\"m\":"
              "9223372036854775807,\"yes\":true,\"no\":false,\"null\":null,"
              "\"list\":[1,\"\",true,null,{},[]],\"\":0}");
}

static void
test_strings(void **state)
{
    struct json_out o;
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    json_begin(&o, &b, false);
    json_open_array(&o);
    json_str(&o, STR("\"\\/\b\f\n\r\t\x01\x1f\0z"));
    json_str(&o, STR("\xc3\xa4\xf0\x9f\x98\x80"));
    json_str(&o, STR("a\xff\xc3z\xed\xa0\x80"));
    json_close(&o);
    assert_int_equal(json_end(&o), 0);
    holds(&b, "[\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001F\\u0000z\","
              "\"\xc3\xa4\xf0\x9f\x98\x80\","
              "\"a\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd\xef\xbf\xbd"
              "\xef\xbf\xbd\"]");
}

static void
test_pretty(void **state)
{
    struct json_out o;
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    json_begin(&o, &b, true);
    json_open(&o);
    json_put_int(&o, "a", 1);
    json_put_int(&o, "b", 2);
    json_close(&o);
    assert_int_equal(json_end(&o), 0);
    holds(&b, "{\n  \"a\": 1,\n  \"b\": 2\n}\n");
}

static void
test_pool(void **state)
{
    struct pool *p = pool_new(100);
    struct json_out o;
    struct str text;

    (void)state;
    json_begin_own(&o, false);
    json_str(&o, STR("x"));
    assert_int_equal(json_end_pool(&o, p, &text), 0);
    assert_string_equal(text.ptr, "\"x\"");
    assert_int_equal(text.len, 3);
    json_begin_own(&o, false);
    assert_int_equal(json_end_pool(&o, p, &text), -1);
    pool_free(&p);
}

static void
test_limit(void **state)
{
    struct json_out o;
    struct buf b;

    (void)state;
    for (size_t limit = 0; limit <= 14; limit++) {
        buf_init(&b, limit);
        json_begin(&o, &b, false);
        json_open(&o);
        json_put_str(&o, "abc", STR("def"));
        json_close(&o);
        assert_int_equal(json_end(&o), limit < 13 ? -1 : 0);
        assert_true(buf_len(&b) <= limit);
        buf_clear(&b);
    }
}

enum step { OPEN, OPEN_ARRAY, CLOSE, KEY, VALUE, END };

static int
result_of(const enum step *steps)
{
    struct json_out o;
    struct buf b;
    int result;

    buf_init(&b, 10000);
    json_begin(&o, &b, false);
    for (; *steps != END; steps++) {
        switch (*steps) {
        case OPEN:
            json_open(&o);
            break;
        case OPEN_ARRAY:
            json_open_array(&o);
            break;
        case CLOSE:
            json_close(&o);
            break;
        case KEY:
            json_key(&o, "k");
            break;
        case VALUE:
            json_str(&o, STR("v"));
            break;
        case END:
            break;
        }
    }
    result = json_end(&o);
    buf_clear(&b);
    return result;
}

static void
test_order(void **state)
{
    static const enum step wrong[][6] = {
        { END },
        { VALUE, VALUE, END },
        { OPEN, END },
        { OPEN, VALUE, CLOSE, END },
        { OPEN, KEY, CLOSE, END },
        { OPEN, KEY, KEY, VALUE, CLOSE, END },
        { OPEN, KEY, VALUE, VALUE, CLOSE, END },
        { OPEN_ARRAY, KEY, CLOSE, END },
        { OPEN, CLOSE, CLOSE, END },
        { OPEN, CLOSE, OPEN, CLOSE, END },
        { CLOSE, END },
        { KEY, END },
        { OPEN_ARRAY, OPEN, CLOSE, KEY, CLOSE, END },
    };
    static const enum step right[] = { OPEN_ARRAY, OPEN,  KEY,   OPEN_ARRAY,
                                       VALUE,      CLOSE, KEY,   VALUE,
                                       CLOSE,      VALUE, CLOSE, END };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (result_of(wrong[i]) != -1) {
            fail_msg("order %zu was taken", i);
        }
    }
    assert_int_equal(result_of(right), 0);
}

static void
test_depth(void **state)
{
    enum step steps[2 * (JSON_DEPTH + 100) + 1];

    (void)state;
    for (size_t depth = JSON_DEPTH; depth <= JSON_DEPTH + 100; depth += 100) {
        for (size_t i = 0; i < depth; i++) {
            steps[i] = OPEN_ARRAY;
            steps[depth + i] = CLOSE;
        }
        steps[2 * depth] = END;
        assert_int_equal(result_of(steps), depth > JSON_DEPTH ? -1 : 0);
    }
}

static void
test_thousandths(void **state)
{
    static const struct {
        int64_t n;
        const char *text;
    } rows[] = {
        { 0, "0.0" },
        { 25000, "25.0" },
        { 29970, "29.97" },
        { 5, "0.005" },
        { 100100, "100.1" },
        { -1, "-0.001" },
        { -2500000, "-2500.0" },
        { INT64_MIN, "-9223372036854775.808" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct json_out o;
        struct buf b;

        buf_init(&b, 100);
        json_begin(&o, &b, false);
        json_thousandths(&o, rows[i].n);
        assert_int_equal(json_end(&o), 0);
        assert_true(str_eq(buf_str(&b), str_from(rows[i].text)));
        buf_clear(&b);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything), cmocka_unit_test(test_strings),
        cmocka_unit_test(test_pretty),     cmocka_unit_test(test_pool),
        cmocka_unit_test(test_limit),      cmocka_unit_test(test_order),
        cmocka_unit_test(test_depth),      cmocka_unit_test(test_thousandths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

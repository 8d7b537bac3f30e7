/*
 * AMF0, and AMF3 behind its switch: values, broken values, depth.
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
#include <stdlib.h>
#include <string.h>

#include "rtmp/amf.h"

/* A value as text: "{a=1,b=[true,null]}". */
static void
print(struct amf_reader *r, char *dst, size_t size)
{
    static const char *const kinds[] = { "null", "",     "",  "",
                                         "date", "{...", "[", "other" };
    struct amf_value v;
    struct str name = STR_NONE;
    size_t n = strlen(dst);
    while (amf_read(r, &name, &v)) {
        n += (size_t)snprintf(dst + n, size - n, "%.*s%s", STR_ARGS(name),
                              r->named ? "=" : "");
        if (v.kind == AMF_NUMBER) {
            snprintf(dst + n, size - n, "%g,", v.number);
        } else if (v.kind == AMF_BOOL) {
            snprintf(dst + n, size - n, "%s,", v.boolean ? "true" : "false");
        } else if (v.kind == AMF_STRING) {
            snprintf(dst + n, size - n, "\"%.*s\",", STR_ARGS(v.string));
        } else if (v.kind == AMF_OBJECT || v.kind == AMF_ARRAY) {
            snprintf(dst + n, size - n, v.kind == AMF_OBJECT ? "{" : "[");
            print(&v.inside, dst, size);
            n = strlen(dst);
            snprintf(dst + n, size - n, v.kind == AMF_OBJECT ? "}," : "],");
        } else {
            snprintf(dst + n, size - n, "%s,", kinds[v.kind]);
        }
        n = strlen(dst);
    }
}

static void
check(const char *bytes, size_t len, const char *want)
{
    char got[1024] = "";
    struct amf_reader r;
    /* An exact copy, so that the sanitizer sees a byte too far. */
    uint8_t *copy = malloc(len > 0 ? len : 1);
    memcpy(copy, bytes, len);
    amf_reader_init(&r, copy, len);
    print(&r, got, sizeof(got));
    assert_string_equal(got, want);
    assert_int_equal(r.n, 0);
    free(copy);
}

#define CHECK(bytes, want) check(bytes, sizeof(bytes) - 1, want)

#define ONE "\x00\x3f\xf0\0\0\0\0\0\0"
#define TWO "\x00\x40\x00\0\0\0\0\0\0"

static void
scalars(void **state)
{
    (void)state;
    CHECK("", "");
    CHECK(ONE TWO, "1,2,");
    CHECK("\x01\x01\x01\x00\x01\xff", "true,false,true,");
    CHECK("\x02\0\x03"
          "abc\x02\0\0",
          "\"abc\",\"\",");
    CHECK("\x0c\0\0\0\x03"
          "abc",
          "\"abc\",");
    CHECK("\x0f\0\0\0\x04<a/>", "\"<a/>\",");
    CHECK("\x05\x06\x0d", "null,null,null,");
    CHECK("\x0b\x3f\xf0\0\0\0\0\0\0\0\0" ONE, "date,1,");
}

static void
objects(void **state)
{
    (void)state;
    CHECK("\x03\0\x01"
          "a" ONE "\0\x01"
          "b\x05\0\0\x09" TWO,
          "{a=1,b=null,},2,");
    CHECK("\x03\0\0\x09", "{},");
    /* typed object: the class name is of no interest */
    CHECK("\x10\0\x03"
          "Foo\0\x01"
          "a" ONE "\0\0\x09" TWO,
          "{a=1,},2,");
    /* nested */
    CHECK("\x03\0\x01o\x03\0\x01"
          "a" ONE "\0\0\x09\0\x01z" TWO "\0\0\x09",
          "{o={a=1,},z=2,},");
    /* an empty name is a name when a value follows */
    CHECK("\x03\0\0" ONE "\0\0\x09" TWO, "{=1,},2,");
}

static void
arrays(void **state)
{
    (void)state;
    CHECK("\x0a\0\0\0\x02" ONE "\x05" TWO, "[1,null,],2,");
    CHECK("\x0a\0\0\0\0" TWO, "[],2,");
    CHECK("\x08\0\0\0\x01\0\x01"
          "a" ONE "\0\0\x09" TWO,
          "{a=1,},2,");
}

static void
ecma_count_is_not_believed(void **state)
{
    (void)state;
    CHECK("\x08\0\0\0\0\0\x01"
          "a" ONE "\0\x01"
          "b" ONE "\0\0\x09" TWO,
          "{a=1,b=1,},2,");
    CHECK("\x08\xff\xff\xff\xff\0\x01"
          "a" ONE "\0\0\x09" TWO,
          "{a=1,},2,");
}

static void
missing_object_end(void **state)
{
    (void)state;
    CHECK("\x03\0\x01"
          "a" ONE,
          "{a=1,},");
    CHECK("\x08\0\0\0\x05\0\x01"
          "a" ONE,
          "{a=1,},");
    CHECK("\x03", "{},");
}

static void
strict_array_longer_than_the_data(void **state)
{
    (void)state;
    CHECK("\x0a\xff\xff\xff\xff" ONE, "[1,],");
}

static void
broken_values_end_the_reading(void **state)
{
    (void)state;
    CHECK(ONE "\x07\0\x01" TWO, "1,"); /* a reference */
    CHECK(ONE "\x04" TWO, "1,");       /* a movie clip */
    CHECK(ONE "\x09" TWO, "1,");       /* a stray object end */
    CHECK(ONE "\x42", "1,");           /* no such marker */
    CHECK(ONE "\x00\x3f\xf0\0", "1,"); /* cut off */
    CHECK(ONE "\x02\0\x05"
              "ab",
          "1,");
    CHECK(ONE "\x02\0", "1,");
    CHECK(ONE "\x0c\xff\xff\xff\xff"
              "ab",
          "1,");
    CHECK(ONE "\x01", "1,");
    CHECK(ONE "\x0b\0\0\0\0\0\0\0\0\0", "1,");
    CHECK(ONE "\x08\0\0", "1,");
    CHECK(ONE "\x10\0\x05", "1,");
    CHECK(ONE "\x03\0\x01"
              "a\x07\0\x01",
          "1,");
    CHECK(ONE "\x03\0\x09"
              "a",
          "1,{},");
}

static void
depth_is_bounded(void **state)
{
    (void)state;
    char bytes[5 * 100];
    struct amf_reader r;
    struct amf_value v;
    /* An array of one array of one array ... */
    for (size_t i = 0; i < 100; i++) {
        memcpy(bytes + 5 * i, "\x0a\0\0\0\x01", 5);
    }
    amf_reader_init(&r, (uint8_t *)bytes, 5 * AMF_DEPTH_MAX);
    assert_true(amf_read(&r, NULL, &v));
    amf_reader_init(&r, (uint8_t *)bytes, sizeof(bytes));
    assert_false(amf_read(&r, NULL, &v));
    assert_false(amf_read(&r, NULL, &v));
}

static void
amf3_behind_the_switch(void **state)
{
    (void)state;
    CHECK("\x11\x00\x11\x01\x11\x02\x11\x03", "null,null,false,true,");
    CHECK("\x11\x04\x05" ONE, "5,1,");
    CHECK("\x11\x04\x81\x00", "128,");
    CHECK("\x11\x04\xff\xff\xff\xff", "-1,");
    CHECK("\x11\x04\xbf\xff\xff\xff", "2.68435e+08,");
    CHECK("\x11\x05\x3f\xf0\0\0\0\0\0\0", "1,");
    CHECK("\x11\x06\x07"
          "abc" ONE,
          "\"abc\",1,");
    CHECK("\x11\x06\x02" ONE, "\"\",1,"); /* a reference to a string */
    CHECK("\x11\x08\x01\x3f\xf0\0\0\0\0\0\0" ONE, "date,1,");
    CHECK("\x11\x0c\x05zz" ONE, "other,1,");
    /* array: pairs, then values */
    CHECK("\x11\x09\x05\x03"
          "a\x04\x01\x01\x04\x02\x03" ONE,
          "other,1,");
    /* object: dynamic, one member of its class, one more */
    CHECK("\x11\x0a\x1b\x01\x03"
          "a\x04\x07\x03"
          "b\x03\x01" ONE,
          "other,1,");
    CHECK("\x11\x0a\x02" ONE, "other,1,"); /* a reference to an object */
}

static void
amf3_that_cannot_be_passed_over(void **state)
{
    (void)state;
    CHECK(ONE "\x11\x0a\x01" TWO, "1,");     /* refers to a class */
    CHECK(ONE "\x11\x0a\x07\x01" TWO, "1,"); /* externalizable */
    CHECK(ONE "\x11\x0d", "1,");
    CHECK(ONE "\x11", "1,");
    CHECK(ONE "\x11\x04\xff\xff\xff", "1,");
    CHECK(ONE "\x11\x06\x7f"
              "ab",
          "1,");
    CHECK(ONE "\x11\x09\xff\xff\xff\xff\x01\x03", "1,");
}

/* Whether a null inside of so many arrays is read. */
static bool
reads_amf3_inside_of(size_t arrays)
{
    uint8_t bytes[2 + 3 * AMF_DEPTH_MAX] = { 0x11 };
    struct amf_reader r;
    struct amf_value v;

    assert_true(arrays <= AMF_DEPTH_MAX);
    for (size_t i = 0; i < arrays; i++) {
        memcpy(bytes + 1 + 3 * i, "\x09\x03\x01", 3);
    }
    bytes[1 + 3 * arrays] = 1;
    amf_reader_init(&r, bytes, 2 + 3 * arrays);
    return amf_read(&r, NULL, &v);
}

static void
amf3_depth_is_bounded(void **state)
{
    (void)state;
    assert_true(reads_amf3_inside_of(1));
    assert_true(reads_amf3_inside_of(AMF_DEPTH_MAX - 1));
    assert_false(reads_amf3_inside_of(AMF_DEPTH_MAX));
}

static void
arguments_of_the_wrong_kind_are_passed_over(void **state)
{
    (void)state;
    static const uint8_t bytes[] = "\x05\x02\0\x01x" ONE "\x01\x01";
    struct amf_reader r;
    amf_reader_init(&r, bytes, sizeof(bytes) - 1);
    assert_true(str_eq(amf_read_string(&r, STR("none")), STR("none")));
    assert_true(amf_read_number(&r, 7) == 7);
    assert_true(amf_read_bool(&r, false) == false);
    assert_true(amf_read_bool(&r, false) == true);
    assert_true(amf_read_number(&r, 9) == 9); /* the end */
}

static void
what_is_written_is_read(void **state)
{
    (void)state;
    static char big[70000];
    struct buf b;
    struct amf_reader r;
    struct amf_value v;
    char got[1024] = "";
    buf_init(&b, 1024 * 1024);
    struct amf_writer w = { &b, false };
    amf_put_number(&w, -1.5);
    amf_put_bool(&w, true);
    amf_put_string(&w, STR("x"));
    amf_put_null(&w);
    amf_begin_object(&w);
    amf_put_name(&w, STR("list"));
    amf_begin_array(&w, 2);
    amf_put_string(&w, STR("*"));
    amf_put_number(&w, 3);
    amf_put_name(&w, STR("b"));
    amf_put_bool(&w, false);
    amf_end_object(&w);
    assert_false(w.failed);
    amf_reader_init(&r, buf_data(&b), buf_len(&b));
    print(&r, got, sizeof(got));
    assert_string_equal(got,
                        "-1.5,true,\"x\",null,{list=[\"*\",3,],b=false,},");

    buf_clear(&b);
    memset(big, 'y', sizeof(big));
    amf_put_string(&w, str_of(big, sizeof(big)));
    amf_reader_init(&r, buf_data(&b), buf_len(&b));
    assert_true(amf_read(&r, NULL, &v));
    assert_int_equal(v.string.len, sizeof(big));
    buf_clear(&b);
}

static void
a_full_buffer_marks_the_writer(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 10);
    struct amf_writer w = { &b, false };
    amf_put_number(&w, 1);
    assert_false(w.failed);
    amf_put_number(&w, 1);
    assert_true(w.failed);
    buf_clear(&b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars),
        cmocka_unit_test(objects),
        cmocka_unit_test(arrays),
        cmocka_unit_test(ecma_count_is_not_believed),
        cmocka_unit_test(missing_object_end),
        cmocka_unit_test(strict_array_longer_than_the_data),
        cmocka_unit_test(broken_values_end_the_reading),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(amf3_behind_the_switch),
        cmocka_unit_test(amf3_that_cannot_be_passed_over),
        cmocka_unit_test(amf3_depth_is_bounded),
        cmocka_unit_test(arguments_of_the_wrong_kind_are_passed_over),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(a_full_buffer_marks_the_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

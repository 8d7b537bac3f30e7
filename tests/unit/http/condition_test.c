/*
 * Conditional requests in the order of RFC 9110, 13.2.2.
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

#include "http/file/condition.h"

#define BEFORE "Sun, 06 Nov 1994 08:49:36 GMT"
#define EXACT "Sun, 06 Nov 1994 08:49:37 GMT"
#define AFTER "Sun, 06 Nov 1994 08:49:38 GMT"
#define MODIFIED 784111777

static struct http_header fields[4];
static struct http_request request;
static const struct http_validators strong = { { "\"a,b\"", 5 }, MODIFIED };
static const struct http_validators weak = { { "W/\"a,b\"", 7 }, MODIFIED };

/* Of a request with these fields, NULL behind the last. */
static const struct http_request *
asks(const char *method, const char *const *pairs)
{
    size_t n = 0;

    for (; pairs[n * 2] != NULL; n++) {
        fields[n].name = str_from(pairs[n * 2]);
        fields[n].value = str_from(pairs[n * 2 + 1]);
    }
    request = (struct http_request){ .method = str_from(method),
                                     .headers = fields,
                                     .header_count = n };
    return &request;
}

#define ASKS(method, ...) \
    asks(method, (const char *const[]){ __VA_ARGS__, NULL, NULL })
#define VERDICT(...) http_judge_conditions(ASKS("GET", __VA_ARGS__), &strong)

static void
test_none_match(void **state)
{
    (void)state;
    assert_int_equal(VERDICT("Host", "a"), HTTP_PERFORM);
    assert_int_equal(VERDICT("If-None-Match", "\"a,b\""), HTTP_NOT_MODIFIED);
    assert_int_equal(VERDICT("If-None-Match", "W/\"a,b\""), HTTP_NOT_MODIFIED);
    assert_int_equal(VERDICT("if-none-match", "\"x\", \"a,b\""),
                     HTTP_NOT_MODIFIED);
    assert_int_equal(VERDICT("If-None-Match", "*"), HTTP_NOT_MODIFIED);
    assert_int_equal(VERDICT("If-None-Match", "\"a\""), HTTP_PERFORM);
    assert_int_equal(VERDICT("If-None-Match", "a,b"), HTTP_PERFORM);
    assert_int_equal(VERDICT("If-None-Match", "\"a,b"), HTTP_PERFORM);
    assert_int_equal(VERDICT("If-None-Match", "w/\"a,b\""), HTTP_PERFORM);
    assert_int_equal(VERDICT("If-None-Match", ""), HTTP_PERFORM);
    assert_int_equal(
        VERDICT("If-None-Match", "\"x\"", "If-None-Match", "\"a,b\""),
        HTTP_NOT_MODIFIED);
    assert_int_equal(
        http_judge_conditions(ASKS("GET", "If-None-Match", "\"a,b\""), &weak),
        HTTP_NOT_MODIFIED);
    assert_int_equal(
        http_judge_conditions(ASKS("PUT", "If-None-Match", "*"), &strong),
        HTTP_FAILED);
}

static void
test_modified_since(void **state)
{
    (void)state;
    assert_int_equal(VERDICT("If-Modified-Since", BEFORE), HTTP_PERFORM);
    assert_int_equal(VERDICT("If-Modified-Since", EXACT), HTTP_NOT_MODIFIED);
    assert_int_equal(VERDICT("If-Modified-Since", AFTER), HTTP_NOT_MODIFIED);
    assert_int_equal(VERDICT("If-Modified-Since", "no date"), HTTP_PERFORM);
    assert_int_equal(http_judge_conditions(
                         ASKS("POST", "If-Modified-Since", EXACT), &strong),
                     HTTP_PERFORM);
    assert_int_equal(http_judge_conditions(
                         ASKS("HEAD", "If-Modified-Since", EXACT), &strong),
                     HTTP_NOT_MODIFIED);
}

/* A tag outweighs a date, both ways. */
static void
test_tag_before_date(void **state)
{
    (void)state;
    assert_int_equal(
        VERDICT("If-None-Match", "\"x\"", "If-Modified-Since", EXACT),
        HTTP_PERFORM);
    assert_int_equal(
        VERDICT("If-None-Match", "\"a,b\"", "If-Modified-Since", BEFORE),
        HTTP_NOT_MODIFIED);
    assert_int_equal(
        VERDICT("If-Match", "\"a,b\"", "If-Unmodified-Since", BEFORE),
        HTTP_PERFORM);
    assert_int_equal(VERDICT("If-Match", "\"x\"", "If-Unmodified-Since", AFTER),
                     HTTP_FAILED);
}

static void
test_match(void **state)
{
    (void)state;
    assert_int_equal(VERDICT("If-Match", "*"), HTTP_PERFORM);
    assert_int_equal(VERDICT("If-Match", "\"a,b\""), HTTP_PERFORM);
    assert_int_equal(VERDICT("If-Match", "\"x\""), HTTP_FAILED);
    /* 13.1.1: the strong comparison */
    assert_int_equal(VERDICT("If-Match", "W/\"a,b\""), HTTP_FAILED);
    assert_int_equal(
        http_judge_conditions(ASKS("GET", "If-Match", "W/\"a,b\""), &weak),
        HTTP_FAILED);
    /* first 412, then 304 */
    assert_int_equal(VERDICT("If-Match", "\"x\"", "If-None-Match", "\"a,b\""),
                     HTTP_FAILED);
    assert_int_equal(VERDICT("If-Match", "\"a,b\"", "If-None-Match", "\"a,b\""),
                     HTTP_NOT_MODIFIED);
}

static void
test_unmodified_since(void **state)
{
    (void)state;
    assert_int_equal(VERDICT("If-Unmodified-Since", BEFORE), HTTP_FAILED);
    assert_int_equal(VERDICT("If-Unmodified-Since", EXACT), HTTP_PERFORM);
    assert_int_equal(VERDICT("If-Unmodified-Since", AFTER), HTTP_PERFORM);
    assert_int_equal(VERDICT("If-Unmodified-Since", "no date"), HTTP_PERFORM);
    assert_int_equal(
        VERDICT("If-Unmodified-Since", BEFORE, "If-Modified-Since", EXACT),
        HTTP_FAILED);
}

static void
test_if_range(void **state)
{
    int64_t now = MODIFIED + 100;

    (void)state;
    assert_true(http_range_counts(ASKS("GET", "Host", "a"), &strong, now));
    assert_true(
        http_range_counts(ASKS("GET", "If-Range", "\"a,b\""), &strong, now));
    assert_false(
        http_range_counts(ASKS("GET", "If-Range", "\"x\""), &strong, now));
    assert_false(
        http_range_counts(ASKS("GET", "If-Range", "W/\"a,b\""), &strong, now));
    assert_false(
        http_range_counts(ASKS("GET", "If-Range", "W/\"a,b\""), &weak, now));
    assert_true(
        http_range_counts(ASKS("GET", "If-Range", EXACT), &strong, now));
    assert_false(
        http_range_counts(ASKS("GET", "If-Range", AFTER), &strong, now));
    assert_false(
        http_range_counts(ASKS("GET", "If-Range", BEFORE), &strong, now));
    /* changed within this second: the date is no strong validator */
    assert_false(
        http_range_counts(ASKS("GET", "If-Range", EXACT), &strong, MODIFIED));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none_match),
        cmocka_unit_test(test_modified_since),
        cmocka_unit_test(test_tag_before_date),
        cmocka_unit_test(test_match),
        cmocka_unit_test(test_unmodified_since),
        cmocka_unit_test(test_if_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

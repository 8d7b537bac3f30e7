/*
 * Headers, path parameters, query parameters, media types.
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

#include "http/http.h"

static void
test_header(void **state)
{
    const struct http_header headers[] = {
        { STR("Accept"), STR("one") },
        { STR("ACCEPT"), STR("two") },
        { STR("X"), STR("") },
    };
    const struct http_request r = { .headers = headers, .header_count = 3 };

    (void)state;
    assert_ptr_equal(http_header(&r, "accept"), &headers[0].value);
    assert_ptr_equal(http_header(&r, "x"), &headers[2].value);
    assert_null(http_header(&r, "Accep"));
    assert_null(http_header(&r, "Accept-"));
}

static void
test_param(void **state)
{
    const struct http_param params[] = { { STR("id"), STR("7") } };
    const struct http_request r = { .params = params, .param_count = 1 };

    (void)state;
    assert_true(str_eq(http_param(&r, "id"), STR("7")));
    assert_int_equal(http_param(&r, "ID").len, 0);
}

static void
assert_query(const char *query, const char *name, const char *expected)
{
    struct pool *pool = pool_new(256);
    struct http_request r = { .pool = pool, .query = str_from(query) };
    struct str value = STR("untouched");

    if (expected == NULL) {
        assert_false(http_query(&r, name, &value));
        assert_true(str_eq(value, STR("untouched")));
    } else {
        assert_true(http_query(&r, name, &value));
        assert_true(str_eq(value, str_from(expected)));
    }
    pool_free(&pool);
}

static void
test_query_count(void **state)
{
    struct pool *pool = pool_new(256);
    struct http_request r = { .pool = pool,
                              .query = STR("b&r%6fom=a%2Fb&ro=1&room=c%&") };
    struct str raw;

    (void)state;
    assert_int_equal(http_query_count(&r, "none", &raw), 0);
    assert_int_equal(http_query_count(&r, "b", &raw), 1);
    assert_int_equal(raw.len, 0);
    assert_int_equal(http_query_count(&r, "room", &raw), 2);
    assert_true(str_eq(raw, STR("c%")));
    pool_free(&pool);
}

static void
test_query(void **state)
{
    (void)state;
    assert_query("", "a", NULL);
    assert_query("a=1", "a", "1");
    assert_query("b=2&a=1&a=3", "a", "1");
    assert_query("a", "a", "");
    assert_query("a=", "a", "");
    assert_query("a=b=c", "a", "b=c");
    assert_query("&&a=1", "a", "1");
    assert_query("%61=%31+%26x", "a", "1 &x");
    assert_query("aa=1", "a", NULL);
    assert_query("A=1", "a", NULL);
    assert_query("b=a=1", "a", NULL);
}

static void
test_mime_type(void **state)
{
    (void)state;
    assert_string_equal(http_mime_type(STR("/a/b.html")),
                        "text/html; charset=utf-8");
    assert_string_equal(http_mime_type(STR("X.PNG")), "image/png");
    assert_string_equal(http_mime_type(STR("a.tar.gz")), "application/gzip");
    assert_string_equal(http_mime_type(STR("a.html/b")),
                        "application/octet-stream");
    assert_string_equal(http_mime_type(STR("a.")), "application/octet-stream");
    assert_string_equal(http_mime_type(STR("html")),
                        "application/octet-stream");
    assert_string_equal(http_mime_type(STR("")), "application/octet-stream");
}

static void
test_status_text(void **state)
{
    (void)state;
    assert_string_equal(http_status_text(404), "Not Found");
    assert_string_equal(http_status_text(999), "Unknown");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header),    cmocka_unit_test(test_param),
        cmocka_unit_test(test_query),     cmocka_unit_test(test_query_count),
        cmocka_unit_test(test_mime_type), cmocka_unit_test(test_status_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

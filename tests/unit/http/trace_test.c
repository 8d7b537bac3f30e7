/*
 * Request ids and traces: taken, refused, made new.
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

#include "http/trace.h"

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define PARENT "00f067aa0ba902b7"

static struct pool *pool;
static struct http_header headers[40];
static struct http_request request;
static struct http_trace trace;

static int
set_up(void **state)
{
    (void)state;
    pool = pool_new(1024);
    request = (struct http_request){ .pool = pool, .headers = headers };
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    pool_free(&pool);
    return 0;
}

static void
add(const char *name, const char *value)
{
    headers[request.header_count++] =
        (struct http_header){ str_from(name), str_from(value) };
}

static bool
is_new(struct str s)
{
    return s.len == 32 && strspn(s.ptr, "0123456789abcdef") == 32;
}

static void
new_ids_differ(void **state)
{
    char seen[600][33];

    (void)state;
    for (int i = 0; i < 600; i++) { /* more than are drawn at once */
        http_trace_begin(&request, true, &trace);
        assert_true(is_new(request.request_id));
        assert_true(str_eq(request.request_id, request.trace_id));
        str_copy(seen[i], 33, request.request_id);
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(seen[i], seen[k]);
        }
    }
}

static void
ids_of_trusted_peers(void **state)
{
    (void)state;
    add("x-request-id", "Az09._-");
    http_trace_begin(&request, true, &trace);
    assert_true(str_eq(request.request_id, STR("Az09._-")));
    assert_true(is_new(request.trace_id));
    http_trace_begin(&request, false, &trace);
    assert_true(is_new(request.request_id));
}

static void
ids_that_are_not_taken(void **state)
{
    static const char *const bad[] = { "",         "a b", "a\"b", "a/b",
                                       "\xc3\xa4", "a;b", "<x>" };
    char text[130];

    (void)state;
    request.header_count = 1;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        request.header_count = 0;
        add("X-Request-ID", bad[i]);
        http_trace_begin(&request, true, &trace);
        assert_true(is_new(request.request_id));
    }
    memset(text, 'a', 129);
    text[129] = '\0';
    request.header_count = 0;
    add("X-Request-ID", text);
    http_trace_begin(&request, true, &trace);
    assert_true(is_new(request.request_id));
    headers[0].value = str_of(text, 128);
    http_trace_begin(&request, true, &trace);
    assert_int_equal(request.request_id.len, 128);
    add("X-Request-ID", "b"); /* which one? */
    http_trace_begin(&request, true, &trace);
    assert_true(is_new(request.request_id));
}

static bool
continues(const char *parent)
{
    request.header_count = 0;
    add("traceparent", parent);
    http_trace_begin(&request, false, &trace);
    return str_eq(request.trace_id, STR(TRACE));
}

static void
traces(void **state)
{
    static const char *const bad[] = {
        "",
        "00-" TRACE "-" PARENT,
        "00-" TRACE "-" PARENT "-0",
        "00-" TRACE "-" PARENT "-01-x",
        "00-" TRACE "-" PARENT "-01x",
        "ff-" TRACE "-" PARENT "-01",
        "0x-" TRACE "-" PARENT "-01",
        "cc-" TRACE "-" PARENT "-01x",
        "00-" TRACE "-" PARENT "-0g",
        "00-" TRACE "_" PARENT "-01",
        "00_" TRACE "-" PARENT "-01",
        "00-" TRACE "-0000000000000000-01",
        "00-" TRACE "-00F067AA0BA902B7-01",
        "00-00000000000000000000000000000000-" PARENT "-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" PARENT "-01",
    };

    (void)state;
    assert_true(continues("00-" TRACE "-" PARENT "-01"));
    assert_int_equal(trace.flags, 1);
    assert_true(continues("00-" TRACE "-" PARENT "-00"));
    assert_int_equal(trace.flags, 0);
    assert_true(continues("cc-" TRACE "-" PARENT "-01"));
    assert_true(continues("cc-" TRACE "-" PARENT "-01-what-comes-later"));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (continues(bad[i]) || !is_new(request.trace_id)) {
            fail_msg("%s", bad[i]);
        }
    }
    continues("00-" TRACE "-" PARENT "-01");
    add("traceparent", "00-" TRACE "-" PARENT "-01");
    http_trace_begin(&request, false, &trace);
    assert_true(is_new(request.trace_id));
}

static void
states(void **state)
{
    char longest[514];

    (void)state;
    continues("00-" TRACE "-" PARENT "-01");
    add("tracestate", "a=1, b=2");
    add("Tracestate", "c=3");
    http_trace_begin(&request, false, &trace);
    assert_true(str_eq(trace.state, STR("a=1, b=2,c=3")));

    headers[0].value = STR("wrong"); /* without a parent it means nothing */
    http_trace_begin(&request, false, &trace);
    assert_int_equal(trace.state.len, 0);

    continues("00-" TRACE "-" PARENT "-01");
    memset(longest, 'a', sizeof(longest));
    longest[512] = '\0';
    add("tracestate", longest);
    http_trace_begin(&request, false, &trace);
    assert_int_equal(trace.state.len, 512);
    longest[512] = 'a';
    longest[513] = '\0';
    headers[1].value = str_from(longest);
    http_trace_begin(&request, false, &trace);
    assert_int_equal(trace.state.len, 0);

    headers[1].value = str_of(longest, 256); /* with the comma between them */
    add("tracestate", longest + 513 - 255);
    http_trace_begin(&request, false, &trace);
    assert_int_equal(trace.state.len, 512);
    headers[2].value = str_of(longest, 256);
    http_trace_begin(&request, false, &trace);
    assert_int_equal(trace.state.len, 0);

    continues("00-" TRACE "-" PARENT "-01");
    for (int i = 0; i < 32; i++) {
        add("tracestate", "a=1");
    }
    http_trace_begin(&request, false, &trace);
    assert_int_equal(trace.state.len, 32 * 4 - 1);
    add("tracestate", "a=1");
    http_trace_begin(&request, false, &trace);
    assert_int_equal(trace.state.len, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(new_ids_differ),
        TEST(ids_of_trusted_peers),
        TEST(ids_that_are_not_taken),
        TEST(traces),
        TEST(states),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

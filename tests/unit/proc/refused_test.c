/*
 * What is kept of a refused request, and what is never shown.
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

#include <string.h>

#include "base/mem.h"
#include "proc/refused.h"

static struct recent_record record;

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    return refused_create(&err);
}

static int
tear_down(void **state)
{
    (void)state;
    refused_destroy();
    return 0;
}

static struct refused_view
note(struct refused r)
{
    struct refused_view v;

    refused_note(&r);
    assert_true(
        recent_next(refused_list(), recent_last(refused_list()) - 1, &record));
    assert_true(refused_parse(&record, &v));
    return v;
}

static void
expect_str(struct str s, const char *text)
{
    assert_int_equal(s.len, strlen(text));
    assert_memory_equal(s.ptr, text, s.len);
}

static void
test_parts(void **state)
{
    struct refused_view v = note((struct refused){
        .proto = "rtmp",
        .peer = "[::1]:80",
        .reason = "a\nb",
        .bytes = STR("x\ry\"z"),
        .offset = 2,
        .before = 40,
    });

    (void)state;
    expect_str(v.peer, "[::1]:80");
    expect_str(v.reason, "a\\x0ab");
    expect_str(v.bytes, "x\\x0dy\\x22z");
    assert_int_equal(v.offset, 42);
}

static void
test_secrets(void **state)
{
    struct refused_view v = note((struct refused){
        .proto = "http",
        .peer = "p",
        .reason = "r",
        .bytes = STR("GET /a?key=abc HTTP/1.1\r\nCookie: tasty\r\n"),
        .offset = 5,
    });

    (void)state;
    assert_null(memmem(v.bytes.ptr, v.bytes.len, "abc", 3));
    assert_null(memmem(v.bytes.ptr, v.bytes.len, "tasty", 5));
    assert_non_null(memmem(v.bytes.ptr, v.bytes.len, "GET /a?*", 8));
}

/* However far behind the name of its header the shown part begins. */
static void
test_secrets_far_from_their_names(void **state)
{
    char *head = mem_alloc(60000);
    size_t name = strlen("Authorization: ");

    (void)state;
    memcpy(head, "Authorization: ", name);
    memset(head + name, 'S', 60000 - name);
    for (size_t at = 0; at < 60000; at += 997) {
        struct refused_view v =
            note((struct refused){ .proto = "rtmp",
                                   .peer = "p",
                                   .reason = "r",
                                   .bytes = str_of(head, 60000),
                                   .offset = at });

        assert_true(str_find(v.bytes, 'S', 0) == v.bytes.len);
        assert_int_equal(v.offset, at);
    }
    mem_free(&head);
}

static void
test_the_place_is_shown(void **state)
{
    char head[9000];
    struct refused_view v;

    (void)state;
    memset(head, 'a', sizeof(head));
    head[6000] = '\n';
    memcpy(head + 8000, "HERE", 4);
    v = note((struct refused){ .proto = "rtmp",
                               .peer = "p",
                               .reason = "r",
                               .bytes = str_of(head, sizeof(head)),
                               .offset = 8000 });
    assert_non_null(memmem(v.bytes.ptr, v.bytes.len, "HERE", 4));
}

static void
test_longest(void **state)
{
    char bytes[300], reason[400];
    struct refused_view v;

    (void)state;
    memset(bytes, 1, sizeof(bytes));
    memset(reason, 2, sizeof(reason) - 1);
    reason[sizeof(reason) - 1] = '\0';
    v = note((struct refused){ .proto = "http",
                               .peer = "p",
                               .reason = reason,
                               .bytes = str_of(bytes, sizeof(bytes)) });
    assert_true(v.bytes.len > 100);
}

static void
test_not_made(void **state)
{
    (void)state;
    refused_note(
        &(struct refused){ .proto = "rtmp", .peer = "p", .reason = "r" });
    assert_null(refused_list());
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_parts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_secrets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_secrets_far_from_their_names,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_place_is_shown, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_longest, set_up, tear_down),
        cmocka_unit_test(test_not_made),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

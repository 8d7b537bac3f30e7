/*
 * The shapes of answers, as text and as JSON.
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

#include "app/control/control_impl.h"

static struct control_client client;
static struct control_call call;

static void
start(bool json)
{
    buf_clear(&client.out);
    client = (struct control_client){ .conn = NULL };
    buf_init(&client.out, 65536);
    call = (struct control_call){ .client = &client, .json = json };
}

static void
expect(const char *text)
{
    control_answer_end(&call);
    buf_add(&client.out, "", 1);
    assert_string_equal((const char *)buf_data(&client.out), text);
    buf_clear(&client.out);
}

static void
test_ok(void **state)
{
    (void)state;
    start(false);
    control_ok(&call, "%d", 5);
    expect("OK 5\n\n");
    start(false);
    expect("OK\n\n");
    start(true);
    control_ok(&call, "a \"b\"");
    expect("{\"ok\":true,\"text\":\"a \\\"b\\\"\"}\n\n");
}

static void
test_failure(void **state)
{
    (void)state;
    for (int json = 0; json < 2; json++) {
        start(json != 0);
        control_fail(&call, "failed", "one\n\ntwo\n");
        assert_string_equal(call.failure, "failed one");
        expect("ERR failed one\ntwo\n\n");
    }
    start(false);
    control_fail(&call, "failed", "%s", "");
    assert_string_equal(call.failure, "failed ");
    expect("ERR failed no reason is known\n\n");
}

static void
test_lines(void **state)
{
    (void)state;
    start(false);
    control_lines(&call, STR("a\n\n  \n b\n"));
    expect("a\n b\n\n");
    start(true);
    control_lines(&call, STR("a\n\nb"));
    control_lines(&call, STR("c"));
    expect("{\"lines\":[\"a\",\"b\",\"c\"]}\n\n");
}

static void
test_pairs(void **state)
{
    (void)state;
    start(false);
    control_pair(&call, "name", STR("x\ny"));
    control_pair_int(&call, "count", -3);
    expect("name: x\\x0ay\ncount: -3\n\n");
    start(true);
    control_pair(&call, "name", STR("x\ny"));
    control_pair_int(&call, "count", -3);
    expect("{\"name\":\"x\\ny\",\"count\":-3}\n\n");
}

static const struct control_column columns[] = {
    { "a", 4 },
    { "b", 2 },
    { "c", 0 },
    { NULL, 0 },
};

static void
fill_row(const char *a, int64_t b, const char *c)
{
    control_cell(&call, str_from(a));
    control_cell_int(&call, b);
    control_cell(&call, str_from(c));
}

static void
test_table(void **state)
{
    (void)state;
    start(false);
    control_table(&call, columns);
    control_table(&call, columns); /* as a command does that is called again */
    fill_row("x y", 1, "the rest");
    fill_row("", 12345, "");
    expect("a    b  c\nx_y  1  the rest\n-    12345 -\n\n");
    start(true);
    control_table(&call, columns);
    fill_row("x y", 1, "");
    fill_row("z", 2, "w");
    expect("[{\"a\":\"x y\",\"b\":1,\"c\":\"\"},"
           "{\"a\":\"z\",\"b\":2,\"c\":\"w\"}]\n\n");
}

static void
test_empty_table(void **state)
{
    (void)state;
    start(true);
    control_table(&call, columns);
    expect("[]\n\n");
    start(false);
    control_table(&call, columns);
    expect("a    b  c\n\n");
}

static void
test_full(void **state)
{
    (void)state;
    start(false);
    control_table(&call, columns);
    assert_false(control_full(&call));
    for (int i = 0; i < 2000; i++) {
        fill_row("xxxx", 1, "xxxxxxxxxxxxxxxxxx");
    }
    assert_true(control_full(&call));
    buf_clear(&client.out);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ok),    cmocka_unit_test(test_failure),
        cmocka_unit_test(test_lines), cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_table), cmocka_unit_test(test_empty_table),
        cmocka_unit_test(test_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

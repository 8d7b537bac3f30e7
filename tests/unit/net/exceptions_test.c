/*
 * Exceptions of one client or stream: the table, and which row holds.
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

#include "net/exceptions.h"

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    return exceptions_create(&err);
}

static int
tear_down(void **state)
{
    (void)state;
    exceptions_destroy();
    return 0;
}

static struct addr
address(const char *text)
{
    struct addr a = { .family = AF_UNSPEC };

    assert_int_equal(addr_parse_ip(str_from(text), &a), 0);
    return a;
}

/* A name with a slash that begins with a letter is a stream's. */
static struct exception
debug_of(const char *whom)
{
    struct exception e = { .kind = EXCEPTION_DEBUG };

    if (whom[0] >= 'a') {
        str_copy(e.stream, sizeof(e.stream), str_from(whom));
    } else {
        assert_int_equal(access_parse_net(str_from(whom), &e.net), 0);
    }
    return e;
}

static int
set(const char *whom)
{
    struct exception e = debug_of(whom);
    struct errmsg err;

    return exceptions_set(&e, &err);
}

static bool
take_back(const char *whom)
{
    struct exception e = debug_of(whom);

    return exceptions_remove(&e);
}

/* Bits of the network that holds; -1: none. */
static int
bits_for(const char *client)
{
    struct addr a = address(client);
    const struct exception *e = exception_of_client(EXCEPTION_DEBUG, &a);

    return e != NULL ? (int)e->net.bits : -1;
}

static void
test_clients(void **state)
{
    (void)state;
    assert_int_equal(bits_for("192.0.2.1"), -1);
    assert_int_equal(set("192.0.2.0/24"), 0);
    assert_int_equal(set("192.0.2.1"), 0);
    assert_int_equal(set("192.0.0.0/16"), 0);
    assert_int_equal(set("2001:db8::/32"), 0);
    assert_int_equal(exceptions_of_kind[EXCEPTION_DEBUG], 4);
    assert_int_equal(bits_for("192.0.2.1"), 32);
    assert_int_equal(bits_for("192.0.2.2"), 24);
    assert_int_equal(bits_for("192.0.3.2"), 16);
    assert_int_equal(bits_for("192.1.3.2"), -1);
    assert_int_equal(bits_for("2001:db8::7"), 32);
    assert_int_equal(bits_for("::ffff:192.0.2.1"), 32);
    assert_true(take_back("192.0.2.1"));
    assert_false(take_back("192.0.2.1"));
    assert_int_equal(bits_for("192.0.2.1"), 24);
    /* What does not count of a network's address makes no other network. */
    assert_int_equal(set("192.0.2.77/24"), 0);
    assert_int_equal(exceptions_of_kind[EXCEPTION_DEBUG], 3);
    assert_true(take_back("192.0.2.5/24"));
}

static void
test_streams(void **state)
{
    struct addr anybody = address("192.0.2.1");

    (void)state;
    assert_null(exception_of_stream(EXCEPTION_DEBUG, STR("live/a")));
    assert_int_equal(set("live/a"), 0);
    assert_non_null(exception_of_stream(EXCEPTION_DEBUG, STR("live/a")));
    assert_null(exception_of_stream(EXCEPTION_DEBUG, STR("live/ab")));
    assert_null(exception_of_stream(EXCEPTION_DEBUG, STR("live/")));
    assert_null(exception_of_stream(EXCEPTION_DEBUG, STR("")));
    assert_null(exception_of_client(EXCEPTION_DEBUG, &anybody));
}

static void
test_no_room(void **state)
{
    char text[32];

    (void)state;
    for (int i = 0; i < EXCEPTIONS; i++) {
        snprintf(text, sizeof(text), "192.0.2.%d", i);
        assert_int_equal(set(text), 0);
    }
    assert_int_equal(set("192.0.2.200"), -1);
    assert_int_equal(set("192.0.2.7"), 0); /* it has its row */
    assert_true(take_back("192.0.2.7"));
    assert_int_equal(set("192.0.2.200"), 0);
}

/* A row that is made anew begins at 0; one that is changed goes on. */
static void
test_struck(void **state)
{
    (void)state;
    set("live/a");
    exception_strikes(exception_row(0));
    exception_strikes(exception_row(0));
    set("live/a");
    assert_int_equal(exception_struck(0), 2);
    take_back("live/a");
    set("live/b");
    assert_int_equal(exception_struck(0), 0);
}

static void
test_debug_mark(void **state)
{
    struct addr a = address("192.0.2.1"), b = address("192.0.2.2");
    struct debug_mark client = { 0 }, stream = { 0 }, other = { 0 };

    (void)state;
    assert_false(debug_wanted(&client, &a, STR_NONE));
    set("192.0.2.1");
    set("live/a");
    assert_true(debug_wanted(&client, &a, STR_NONE));
    assert_true(debug_wanted(&client, &a, STR_NONE));
    assert_true(debug_wanted(&stream, &b, STR("live/a")));
    assert_false(debug_wanted(&other, &b, STR("live/b")));
    assert_int_equal(exception_struck(0), 2);
    assert_int_equal(exception_struck(1), 1);
    /* The table has changed: it is looked at again. */
    take_back("192.0.2.1");
    assert_false(debug_wanted(&client, &a, STR_NONE));
    set("192.0.2.0/24");
    assert_true(debug_wanted(&other, &b, STR("live/b")));
}

static void
test_take(void **state)
{
    struct exception rows[EXCEPTIONS] = { { .kind = EXCEPTION_FREE } };

    (void)state;
    set("live/a");
    rows[5] = debug_of("live/b");
    exceptions_take(rows);
    assert_int_equal(exceptions_of_kind[EXCEPTION_DEBUG], 1);
    assert_null(exception_of_stream(EXCEPTION_DEBUG, STR("live/a")));
    assert_ptr_equal(exception_of_stream(EXCEPTION_DEBUG, STR("live/b")),
                     exception_row(5));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_clients, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_streams, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_struck, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_debug_mark, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_take, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

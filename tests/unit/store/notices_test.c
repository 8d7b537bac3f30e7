/*
 * Listeners of notices: those that are told, and those that are not any more.
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

#include "store/bus.h"
#include "store/notices.h"
#include "store/wire.h"

static void
count_it(void *arg, struct str text)
{
    int *told = arg;

    *told += text.len > 0 ? 1 : 100;
}

static void
test_topics(void **state)
{
    int one = 0, other = 0;

    (void)state;
    store_listen("one", count_it, &one);
    store_listen("other", count_it, &other);
    listen_tell(STR("one"), STR("text"));
    listen_tell(STR("none"), STR("text"));
    assert_int_equal(one, 1);
    assert_int_equal(other, 0);
    listen_missed();
    assert_int_equal(one, 101);
    assert_int_equal(other, 100);
    listen_forget();
    listen_missed();
    assert_int_equal(one, 101);
}

/* A listener that is gone is told nothing, and its place is used again. */
static void
test_deafened(void **state)
{
    int told[3] = { 0, 0, 0 };

    (void)state;
    store_listen("one", count_it, &told[0]);
    store_listen("one", count_it, &told[1]);
    store_deafen(count_it, &told[0]);
    listen_tell(STR("one"), STR("text"));
    listen_missed();
    assert_int_equal(told[0], 0);
    assert_int_equal(told[1], 101);
    for (int i = 0; i < 100; i++) {
        store_listen("one", count_it, &told[2]);
        store_deafen(count_it, &told[2]);
    }
    listen_missed();
    assert_int_equal(told[2], 0);
    listen_forget();
}

static void
test_one_that_is_cut(void **state)
{
    struct store_value topic = store_text(STR("one"));
    struct store_value text = store_text(STR("text"));
    struct bus_message m = { .fd = -1 };
    struct pack out;
    struct buf bytes;
    int told = 0;

    (void)state;
    buf_init(&bytes, 1000);
    out = (struct pack){ .to = &bytes };
    wire_put_value(&out, &topic);
    wire_put_value(&out, &text);
    store_listen("one", count_it, &told);
    m.data = buf_data(&bytes);
    for (m.len = 0; m.len < buf_len(&bytes); m.len++) {
        listen_on_notice(NULL, &m);
    }
    assert_int_equal(told, 0);
    listen_on_notice(NULL, &m);
    assert_int_equal(told, 1);
    listen_forget();
    buf_clear(&bytes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_topics),
        cmocka_unit_test(test_deafened),
        cmocka_unit_test(test_one_that_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

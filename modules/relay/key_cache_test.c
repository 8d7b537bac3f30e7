/*
 * Keys that were good lately.
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

#include "fake_store.h"
#include "key_cache.h"

static const char *
hash_of(unsigned n)
{
    static char hash[KEY_HASH + 1];

    snprintf(hash, sizeof(hash), "%064u", n);
    return hash;
}

static void
remember(unsigned n, int64_t now)
{
    char room[32];

    snprintf(room, sizeof(room), "room%u", n);
    grace_remember(hash_of(n), str_from(room), now);
}

static bool
has(unsigned n)
{
    struct str room;
    char expected[32];

    if (!grace_find(hash_of(n), 0, 1 << 30, &room)) {
        return false;
    }
    snprintf(expected, sizeof(expected), "room%u", n);
    assert_true(str_eq(room, str_from(expected)));
    return true;
}

static void
forget(unsigned n)
{
    char room[32];

    snprintf(room, sizeof(room), "room%u", n);
    grace_forget(str_from(room));
}

static void
age(void **state)
{
    struct str room;

    (void)state;
    remember(1, 1000);
    assert_true(grace_find(hash_of(1), 1500, 500, &room));
    assert_false(grace_find(hash_of(1), 1000, 0, &room)); /* none */
    assert_true(str_eq(room, STR("room1")));
    assert_false(grace_find(hash_of(1), 1501, 500, &room));
    assert_false(grace_find(hash_of(2), 1000, 500, &room));
    remember(1, 2000);
    assert_true(grace_find(hash_of(1), 2500, 500, &room));
    forget(2);
    assert_true(has(1));
    forget(1);
    assert_false(has(1));
}

static void
bounded_and_the_oldest_goes(void **state)
{
    (void)state;
    for (unsigned i = 0; i < GRACE_KEYS; i++) {
        remember(i, 0);
    }
    remember(0, 0); /* seen again: 1 is the oldest now */
    remember(GRACE_KEYS, 0);
    assert_true(has(0));
    assert_false(has(1));
    assert_true(has(2));
    assert_true(has(GRACE_KEYS));
    for (unsigned i = 0; i <= GRACE_KEYS; i++) {
        forget(i);
    }
}

static void
asks_for_all_one_by_one(void **state)
{
    (void)state;
    for (unsigned i = 1; i <= 4; i++) {
        remember(i, 0);
    }
    grace_check_all();
    assert_int_equal(fake_waiting(), 1);
    fake_answer(STORE_OK, "room4", "key"); /* as it was */
    fake_answer(STORE_OK, NULL, NULL);     /* 3 is gone */
    fake_answer(STORE_OK, "other", "key"); /* 2 is another room's */
    fake_answer(STORE_DOWN, NULL, NULL);   /* 1 stays: that is the grace */
    assert_int_equal(fake_waiting(), 0);
    assert_true(has(4));
    assert_false(has(3));
    assert_false(has(2));
    assert_true(has(1));
    /* 1 is asked for again with the next. */
    grace_check_all();
    fake_answer(STORE_OK, "room4", "key");
    fake_answer(STORE_OK, NULL, NULL);
    assert_int_equal(fake_waiting(), 0);
    assert_false(has(1));
    forget(4);
}

static void
an_answer_from_before_counts_for_nothing(void **state)
{
    (void)state;
    remember(1, 0);
    grace_check_all();
    grace_check_all();
    assert_int_equal(fake_waiting(), 1);
    fake_answer(STORE_OK, "room1", "key");
    assert_int_equal(fake_waiting(), 0);
    /* A key that was forgotten and seen again meanwhile is not looked up. */
    grace_check_all();
    forget(1);
    remember(1, 0);
    fake_answer(STORE_OK, NULL, NULL);
    assert_true(has(1));
    forget(1);
    grace_check_all();
    assert_int_equal(fake_waiting(), 0);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(age),
        cmocka_unit_test(bounded_and_the_oldest_goes),
        cmocka_unit_test(asks_for_all_one_by_one),
        cmocka_unit_test(an_answer_from_before_counts_for_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Which server is chosen, and how often.
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

#include "upstream_balance.h"

static struct balance_seat seats[64];

static void
seat(size_t i, int64_t weight)
{
    seats[i] =
        (struct balance_seat){ .free = true, .weight = weight * BALANCE_UNIT };
}

/* The choices of n requests: "aabacaa". */
static const char *
order(size_t count, size_t n)
{
    static char text[64];

    for (size_t i = 0; i < n; i++) {
        int chosen = balance_round_robin(seats, count);

        text[i] = chosen == -1 ? '-' : (char)('a' + chosen);
    }
    text[n] = '\0';
    return text;
}

static void
round_robin_is_smooth(void **state)
{
    (void)state;
    seat(0, 5);
    seat(1, 1);
    seat(2, 1);
    assert_string_equal(order(3, 14), "aabacaaaabacaa");
    seat(0, 1);
    seat(1, 1);
    seat(2, 1);
    assert_string_equal(order(3, 6), "abcabc");
}

static void
who_may_not_be_chosen_is_left_out(void **state)
{
    (void)state;
    seat(0, 5);
    seat(1, 1);
    seat(2, 1);
    seats[0].free = false;
    assert_string_equal(order(3, 4), "bcbc");
    seats[1].free = seats[2].free = false;
    assert_string_equal(order(3, 2), "--");
}

static void
the_least_busy_for_its_weight_is_chosen(void **state)
{
    (void)state;
    seat(0, 1);
    seat(1, 2);
    seat(2, 1);
    seats[0].open = 2;
    seats[1].open = 3;
    seats[2].open = 2;
    assert_int_equal(balance_least(seats, 3), 1);
    seats[1].open = 4; /* all have two for a weight of one */
    int first = balance_least(seats, 3), second = balance_least(seats, 3);

    assert_int_not_equal(first, second);
    seats[1].free = seats[0].free = false;
    assert_int_equal(balance_least(seats, 3), 2);
    seats[2].free = false;
    assert_int_equal(balance_least(seats, 3), -1);
}

/* ---- slow start ---- */

static void
a_server_that_is_back_begins_slowly(void **state)
{
    (void)state;
    assert_int_equal(balance_weight(4, 0, 10000, 50000), 4000);
    assert_int_equal(balance_weight(4, 50000, 0, 50000), 4000);
    assert_int_equal(balance_weight(4, 50000, 10000, 50000), 40);
    assert_int_equal(balance_weight(4, 50000, 10000, 55000), 2000);
    assert_int_equal(balance_weight(4, 50000, 10000, 59999), 3999);
    assert_int_equal(balance_weight(4, 50000, 10000, 60000), 4000);
}

/* ---- the hash ---- */

#define SERVERS 10
#define KEYS 20000

static char names[SERVERS][16];
static struct str list[SERVERS];
static int64_t weights[SERVERS];
static struct balance_ring ring;

static void
build(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof(names[i]), "10.0.0.%zu:80", i);
        list[i] = str_from(names[i]);
        weights[i] = BALANCE_UNIT;
        seat(i, 1);
    }
    balance_ring_init(&ring, list, weights, count);
}

static int
place_of(int key)
{
    char text[16];
    int len = snprintf(text, sizeof(text), "%d", key);

    return balance_hash(&ring, balance_key(str_of(text, (size_t)len)), seats);
}

static void
keys_of_a_server_that_goes_move_and_no_others(void **state)
{
    int before[KEYS], moved = 0, to[SERVERS] = { 0 };

    (void)state;
    build(SERVERS);
    for (int i = 0; i < KEYS; i++) {
        before[i] = place_of(i);
    }
    seats[3].free = false;
    for (int i = 0; i < KEYS; i++) {
        int now = place_of(i);

        if (before[i] != 3) {
            assert_int_equal(now, before[i]);
        } else {
            assert_int_not_equal(now, 3);
            moved++;
            to[now]++;
        }
    }
    assert_in_range(moved, KEYS / SERVERS / 2, KEYS / SERVERS * 2);
    for (int i = 0; i < SERVERS; i++) {
        assert_true(i == 3 || to[i] > 0);
    }
    balance_ring_clear(&ring);
}

static void
a_new_server_takes_its_part_of_the_keys(void **state)
{
    int before[KEYS], moved = 0;

    (void)state;
    build(SERVERS - 1);
    for (int i = 0; i < KEYS; i++) {
        before[i] = place_of(i);
    }
    balance_ring_clear(&ring);
    build(SERVERS);
    for (int i = 0; i < KEYS; i++) {
        int now = place_of(i);

        assert_true(now == before[i] || now == SERVERS - 1);
        moved += now != before[i];
    }
    assert_in_range(moved, KEYS / SERVERS / 2, KEYS / SERVERS * 2);
    balance_ring_clear(&ring);
}

static void
keys_go_by_weight(void **state)
{
    int count[2] = { 0 };

    (void)state;
    build(2);
    balance_ring_clear(&ring);
    weights[0] = 3 * BALANCE_UNIT;
    balance_ring_init(&ring, list, weights, 2);
    for (int i = 0; i < KEYS; i++) {
        count[place_of(i)]++;
    }
    assert_in_range(count[0], KEYS * 60 / 100, KEYS * 90 / 100);
    balance_ring_clear(&ring);
}

static void
nobody_is_chosen_where_nobody_is_free(void **state)
{
    (void)state;
    build(2);
    seats[0].free = seats[1].free = false;
    assert_int_equal(place_of(1), -1);
    balance_ring_clear(&ring);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_robin_is_smooth),
        cmocka_unit_test(who_may_not_be_chosen_is_left_out),
        cmocka_unit_test(the_least_busy_for_its_weight_is_chosen),
        cmocka_unit_test(a_server_that_is_back_begins_slowly),
        cmocka_unit_test(keys_of_a_server_that_goes_move_and_no_others),
        cmocka_unit_test(a_new_server_takes_its_part_of_the_keys),
        cmocka_unit_test(keys_go_by_weight),
        cmocka_unit_test(nobody_is_chosen_where_nobody_is_free),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Turns of owners.
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

#include "base/fair_queue.h"

#include <string.h>

#define ENTRIES 5001

static struct fair_queue queue;
static struct fair_entry entries[ENTRIES];
static size_t made;

/* Adds an entry for each letter, its owner. */
static void
add(const char *owners)
{
    for (; *owners != '\0'; owners++) {
        const uint64_t owner[2] = { 0, (uint64_t)*owners };

        assert_true(made < ENTRIES);
        fair_entry_init(&entries[made], owner);
        fair_queue_add(&queue, &entries[made++]);
    }
}

static char
serve(void)
{
    struct fair_entry *e = fair_queue_first(&queue);

    if (e == NULL) {
        return '-';
    }
    fair_queue_take(&queue, e);
    return (char)e->owner[1];
}

#define assert_serves(expected)                                \
    do {                                                       \
        for (const char *at = (expected); *at != '\0'; at++) { \
            assert_int_equal(serve(), *at);                    \
        }                                                      \
    } while (0)

static int
setup(void **state)
{
    (void)state;
    fair_queue_init(&queue);
    made = 0;
    return 0;
}

static void
owners_are_served_in_turn(void **state)
{
    static const struct {
        const char *come, *served;
    } rows[] = {
        { "", "-" },           { "AAA", "AAA-" },       { "ABC", "ABC-" },
        { "AAAAB", "ABAAA-" }, { "AAABBC", "ABCABA-" }, { "ABAAC", "ABCAA-" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        setup(state);
        add(rows[i].come);
        assert_serves(rows[i].served);
    }
}

/* Each comes while others have waited for long. */
static void
one_that_comes_later_is_served_next(void **state)
{
    (void)state;
    add("AAAAAA");
    assert_serves("AAA");
    add("B");
    assert_serves("B");
    add("BB");
    assert_serves("BABAA-");
}

/* It has had its turns: what it did not use is not kept for it. */
static void
one_that_was_away_has_saved_nothing(void **state)
{
    (void)state;
    add("AAAA");
    assert_serves("AAA");
    add("BBB");
    assert_serves("BABB-");
}

static void
the_last_one_is_of_who_has_most(void **state)
{
    (void)state;
    assert_null(fair_queue_last(&queue));
    add("AAAB");
    assert_ptr_equal(fair_queue_last(&queue), &entries[2]);
    assert_int_equal(fair_queue_turn(&queue, &entries[0]), 3);
    assert_int_equal(fair_queue_turn(&queue, &entries[3]), 1);
}

static void
one_that_comes_back_is_the_first(void **state)
{
    struct fair_entry *e;

    (void)state;
    add("AAB");
    assert_serves("AB");
    e = &entries[2];
    fair_queue_return(&queue, e);
    assert_serves("BA-");
}

/* Those that come then are no later for it. */
static void
one_that_is_served_before_its_turn(void **state)
{
    (void)state;
    add("AAAB");
    fair_queue_take(&queue, &entries[2]);
    add("C");
    assert_serves("ABCA-");
}

static void
one_that_leaves_has_had_no_turn(void **state)
{
    (void)state;
    add("AAB");
    list_remove(&entries[2].link);
    add("B");
    assert_serves("ABA-");
}

/* ---- places ---- */

static struct list served;

/* As many letters begin as places allow, each when it has come. */
static void
serve_all(const char *owners, size_t most, char *begun)
{
    size_t count = 0;

    list_init(&served);
    for (; *owners != '\0'; owners++) {
        struct fair_entry *e;

        add((const char[]){ *owners, '\0' });
        e = fair_queue_next(&queue, &served, count, most);
        if (e != NULL) {
            fair_queue_take(&queue, e);
            list_append(&served, &e->link);
            begun[count++] = (char)e->owner[1];
        }
    }
    begun[count] = '\0';
}

/* One that has all places keeps none waiting that has none. */
static void
an_owner_without_a_place_gets_one(void **state)
{
    static const struct {
        size_t most;
        const char *come, *begin;
    } rows[] = {
        { 1, "AAAB", "AB" },        { 1, "ABC", "AB" },
        { 2, "AAAAB", "AAB" },      { 2, "AAAABCD", "AABC" },
        { 2, "ABCD", "ABC" },       { 2, "AABB", "AAB" },
        { 3, "AAABCD", "AAABCD" },  { 3, "AAABCDE", "AAABCD" },
        { 3, "AABBCCDD", "AABCD" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char begun[ENTRIES + 1];

        setup(state);
        serve_all(rows[i].come, rows[i].most, begun);
        assert_string_equal(begun, rows[i].begin);
    }
}

/* In a queue of many thousand nobody looks for its place for ever: some entries
 * go before it whose turn comes later. */
static void
a_look_for_a_place_is_bounded(void **state)
{
    int before = 0;

    (void)state;
    for (int i = 0; i < ENTRIES - 1; i++) {
        add("a");
    }
    add("b");
    while (serve() == 'a') {
        before++;
    }
    assert_int_equal(before, ENTRIES - 1 - 4096);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(owners_are_served_in_turn, setup),
        cmocka_unit_test_setup(one_that_comes_later_is_served_next, setup),
        cmocka_unit_test_setup(one_that_was_away_has_saved_nothing, setup),
        cmocka_unit_test_setup(the_last_one_is_of_who_has_most, setup),
        cmocka_unit_test_setup(one_that_comes_back_is_the_first, setup),
        cmocka_unit_test_setup(one_that_is_served_before_its_turn, setup),
        cmocka_unit_test_setup(one_that_leaves_has_had_no_turn, setup),
        cmocka_unit_test_setup(a_look_for_a_place_is_bounded, setup),
        cmocka_unit_test_setup(an_owner_without_a_place_gets_one, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

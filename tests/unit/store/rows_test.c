/*
 * Rows that a backend gathers.
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

#include "store/rows.h"

static struct rows rows;

static int
set_up(void **state)
{
    (void)state;
    rows_init(&rows, 100000);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    rows_clear(&rows);
    return 0;
}

static void
add_int(int64_t n)
{
    const struct store_value v = store_int(n);

    rows_add(&rows, &v);
}

static void
add_text(struct str s)
{
    const struct store_value v = store_text(s);

    rows_add(&rows, &v);
}

/* The memory of cells and texts moves many times meanwhile. */
static void
they_come_as_they_were_added(void **state)
{
    const struct store_result *r;

    (void)state;
    rows_begin_step(&rows, 2);
    for (int i = 0; i < 1000; i++) {
        char text[16];

        snprintf(text, sizeof(text), "text %d", i);
        add_int(i);
        add_text(str_from(text));
    }
    rows_end_step(&rows, 0);
    r = rows_finish(&rows);
    assert_int_equal(r->status, STORE_OK);
    assert_int_equal(r->steps, 1);
    assert_int_equal(r->answer[0].rows, 1000);
    for (int i = 0; i < 1000; i++) {
        const struct store_value *row = &r->answer[0].cells[2 * i];
        char text[16];

        snprintf(text, sizeof(text), "text %d", i);
        assert_true(row[0].type == STORE_INT && row[0].n == i);
        assert_string_equal(row[1].s.ptr, text); /* there is a NUL */
    }
}

static void
each_step_has_its_own(void **state)
{
    const struct store_rows *steps;
    const struct store_value nothing = { .type = STORE_NULL };

    (void)state;
    rows_begin_step(&rows, 1);
    add_text(STR("a"));
    add_text(STR(""));
    rows_end_step(&rows, 0);
    rows_begin_step(&rows, 0);
    rows_end_step(&rows, 7);
    rows_begin_step(&rows, 1);
    rows_add(&rows, &nothing);
    rows_end_step(&rows, 1);
    steps = rows_finish(&rows)->answer;
    assert_int_equal(steps[0].rows, 2);
    assert_true(str_eq(steps[0].cells[0].s, STR("a")));
    assert_true(steps[0].cells[1].s.ptr[0] == '\0');
    assert_int_equal(steps[1].rows, 0);
    assert_int_equal(steps[1].changed, 7);
    assert_int_equal(steps[2].rows, 1);
    assert_int_equal(steps[2].cells[0].type, STORE_NULL);
}

static void
too_many_are_noticed(void **state)
{
    (void)state;
    rows_clear(&rows);
    rows_init(&rows, 3 * ROWS_CELL_BYTES + 5);
    rows_begin_step(&rows, 1);
    add_int(1);
    add_text(STR("12345"));
    assert_false(rows.full);
    add_text(STR("1"));
    assert_true(rows.full);
    add_int(2); /* there would be room for it */
    assert_int_equal(rows.used, 2);
}

static void
cleared_they_are_empty_and_have_their_limit(void **state)
{
    (void)state;
    rows_begin_step(&rows, 1);
    add_text(STR("a"));
    rows_end_step(&rows, 0);
    rows_clear(&rows);
    assert_int_equal(rows.limit, 100000);
    assert_int_equal(rows_finish(&rows)->steps, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(they_come_as_they_were_added),
        TEST(each_step_has_its_own),
        TEST(too_many_are_noticed),
        TEST(cleared_they_are_empty_and_have_their_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

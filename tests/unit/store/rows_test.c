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
#include <string.h>

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

/* A row of one cell. */
static void
add(struct store_value v)
{
    struct store_value *cells = rows_begin_row(&rows);

    if (cells != NULL) {
        cells[0] = v;
        rows_end_row(&rows);
    }
}

static void
add_text(struct str s)
{
    add(store_text(s));
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

        struct store_value *row = rows_begin_row(&rows);

        snprintf(text, sizeof(text), "text %d", i);
        assert_non_null(row);
        row[0] = store_int(i);
        row[1] = store_text(str_from(text));
        rows_end_row(&rows);
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
    add(nothing);
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
    add(store_int(1));
    add_text(STR("12345"));
    assert_false(rows.full);
    add_text(STR("1"));
    assert_true(rows.full);
    add(store_int(2)); /* there would be room for it */
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

/* A row of text bytes and what it says. */
static void
add_and_finish(size_t bytes)
{
    static char text[100000];
    const struct store_value *cell;

    memset(text, 'x', bytes);
    rows_begin_step(&rows, 1);
    add_text(str_of(text, bytes));
    rows_end_step(&rows, 0);
    cell = rows_finish(&rows)->answer[0].cells;
    assert_true(str_eq(cell->s, str_of(text, bytes)));
}

static void
emptied_they_keep_a_little_memory(void **state)
{
    const struct store_value *cells;

    (void)state;
    add_and_finish(100);
    cells = rows.cells;
    rows_empty(&rows);
    assert_int_equal(rows_finish(&rows)->steps, 0);
    assert_int_equal(rows.limit, 100000);
    add_and_finish(10);
    assert_ptr_equal(rows.cells, cells);
    rows_empty(&rows);
    add_and_finish(99000);
    rows_empty(&rows);
    assert_null(rows.cells);
    assert_int_equal(rows.texts.size, 0);
}

static void
emptied_they_are_not_full_any_more(void **state)
{
    (void)state;
    rows_clear(&rows);
    rows_init(&rows, 2 * ROWS_CELL_BYTES);
    rows_begin_step(&rows, 1);
    add_text(STR("more than there is room for"));
    assert_true(rows.full);
    rows_empty(&rows);
    add_and_finish(5);
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
        TEST(emptied_they_keep_a_little_memory),
        TEST(emptied_they_are_not_full_any_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

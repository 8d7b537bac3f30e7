/*
 * The list of schemas.
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

#include "notes.h"

static void
statements_are_found_by_their_place(void **state)
{
    struct schema_place place;

    (void)state;
    schema_forget();
    store_register(&notes_schema);
    store_register(&notes_schema); /* once is enough */
    assert_int_equal(schema_count(), 2);
    assert_int_equal(schema_statements(&notes_schema), STATEMENTS);
    assert_int_equal(schema_migrations(&notes_schema), 1);
    assert_true(schema_find(&notes_statements[GET], &place));
    assert_int_equal(place.schema, 1);
    assert_int_equal(place.statement, GET);
    assert_ptr_equal(schema_statement(place), &notes_statements[GET]);
    schema_forget();
}

static void
what_is_not_there_is_not_found(void **state)
{
    static const struct store_statement stranger = { .name = "x" };
    struct schema_place place = { 7, 0 };

    (void)state;
    schema_forget();
    assert_false(schema_find(&stranger, &place));
    assert_null(schema_statement(place));
    place = (struct schema_place){ 0, 1000 };
    assert_null(schema_statement(place));
    assert_null(schema_at(1));
}

static void
a_checksum_tells_texts_apart(void **state)
{
    char one[17], two[17];

    (void)state;
    schema_checksum("CREATE TABLE a (b)", one);
    schema_checksum("CREATE TABLE a (b)", two);
    assert_string_equal(one, two);
    assert_int_equal(strlen(one), 16);
    schema_checksum("CREATE TABLE a (c)", two);
    assert_string_not_equal(one, two);
    /* What is in databases must not change. */
    schema_checksum("", one);
    assert_string_equal(one, "35276a2dc69a9477");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_are_found_by_their_place),
        cmocka_unit_test(what_is_not_there_is_not_found),
        cmocka_unit_test(a_checksum_tells_texts_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Migrations, and databases that cannot be used.
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

#include "batches.h"

static void
a_migration_that_is_new_is_made_once(void **state)
{
    struct errmsg err;

    (void)state;
    writer_close(&w);
    notes_migrations[1].sqlite = "INSERT INTO note VALUES ('migrated', 1)";
    for (int i = 0; i < 2; i++) {
        assert_true(open_it(BOOT, &err));
        expect_notes("migrated=1");
        writer_close(&w);
    }
}

static void
expect_no(const char *words)
{
    struct errmsg err = { "" };

    assert_false(open_it(BOOT, &err));
    if (strstr(err.text, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
    }
}

static void
a_migration_that_fails_changes_nothing(void **state)
{
    struct errmsg err;

    (void)state;
    writer_close(&w);
    notes_migrations[1].sqlite =
        "INSERT INTO note VALUES ('half', 1); INSERT INTO nowhere VALUES (1)";
    expect_no("migration 2 of schema notes: no such table: nowhere");
    notes_migrations[1].sqlite = NULL;
    assert_true(open_it(BOOT, &err));
    expect_notes("");
}

static void
a_newer_database_is_refused(void **state)
{
    (void)state;
    writer_close(&w);
    struct errmsg err;

    notes_migrations[1].sqlite = "CREATE TABLE more (a)";
    assert_true(open_it(BOOT, &err));
    writer_close(&w);
    notes_migrations[1].sqlite = NULL;
    expect_no("a newer weir made it: schema notes has migration 2, this weir "
              "knows 1");
}

static void
a_migration_that_was_changed_is_refused(void **state)
{
    const char *released = notes_migrations[0].sqlite;

    (void)state;
    writer_close(&w);
    notes_migrations[0].sqlite = "CREATE TABLE note (name, n)";
    expect_no("migration 1 of schema notes is not the one");
    notes_migrations[0].sqlite = released;
}

static void
what_is_no_database_is_refused(void **state)
{
    (void)state;
    writer_close(&w);
    notes_remove();
    assert_int_equal(notes_make(), 0);
    FILE *f = fopen(notes_path, "w");

    for (int i = 0; i < 1000; i++) {
        fputs("this is no database\n", f);
    }
    fclose(f);
    expect_no("not a database");
}

static void
a_folder_that_is_not_there_is_told(void **state)
{
    struct errmsg err;

    (void)state;
    writer_close(&w);
    assert_null(writer_open(STR("/nowhere/at/all.db"), BOOT, alive, &err));
    assert_non_null(strstr(err.text, "cannot open /nowhere/at/all.db: "));
    assert_non_null(strstr(err.text, "No such file or directory"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_migration_that_is_new_is_made_once),
        TEST(a_migration_that_fails_changes_nothing),
        TEST(a_newer_database_is_refused),
        TEST(a_migration_that_was_changed_is_refused),
        TEST(what_is_no_database_is_refused),
        TEST(a_folder_that_is_not_there_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * The files that log lines go to: opened, moved, closed, full.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "log_fixture.h"

static void
reopened_under_a_new_name(void **state)
{
    struct errmsg err;

    (void)state;
    start();
    write_text(0, "before\n");
    wait_for(paths[0]);
    assert_int_equal(rename(paths[0], paths[3]), 0);
    assert_int_equal(logring_reopen(&err), 0);
    write_text(0, "after\n");
    logring_stop();
    is(paths[3], "before\n");
    is(paths[0], "after\n");
}

/* The error log goes to another file; its lines follow. */
static void
moved_to_another_file(void **state)
{
    struct errmsg err;

    (void)state;
    start();
    write_text(0, "before\n");
    wait_for(paths[0]);
    assert_int_equal(logring_move(STR("/nowhere/at/all"), &err), -1);
    assert_int_equal(logring_move(str_from(paths[2]), &err), 0);
    write_text(0, "after\n");
    logring_stop();
    is(paths[0], "before\n");
    is(paths[2], "after\n");
}

/* All lines are out before a number is used again. */
static void
a_closed_file_makes_room(void **state)
{
    struct errmsg err;
    int64_t until = clock_ms() + 100000;
    int first, next;

    (void)state;
    start();
    first = logring_open(str_from(paths[1]), &err);
    assert_true(first > 0);
    assert_int_equal(logring_open(str_from(paths[1]), &err), first);
    write_text(first, "last line\n");
    logring_close(first);
    logring_close(63); /* never opened */
    do {               /* it is given up in the thread's own time */
        next = logring_open(str_from(paths[2]), &err);
        if (next != first) {
            logring_close(next);
        }
    } while (next != first && clock_ms() < until);
    assert_int_equal(next, first);
    is(paths[1], "last line\n");
    write_text(next, "another\n");
    logring_stop();
    is(paths[1], "last line\n");
    is(paths[2], "another\n");
}

static void
a_failed_reopen_keeps_the_file(void **state)
{
    struct errmsg err;

    (void)state;
    start();
    assert_int_equal(unlink(paths[0]), 0);
    assert_int_equal(mkdir(paths[0], 0700), 0);
    assert_int_equal(logring_reopen(&err), -1);
    assert_non_null(strstr(err.text, "cannot open log file"));
    assert_non_null(strstr(err.text, "Is a directory"));
    write_text(0, "still running\n");
    logring_stop();
    assert_int_equal(rmdir(paths[0]), 0);
}

static void
files_that_cannot_be_opened(void **state)
{
    struct errmsg err;

    (void)state;
    assert_int_equal(logring_open(STR("/no/such/folder/log"), &err), -1);
    assert_string_equal(err.text, "cannot open log file /no/such/folder/log: "
                                  "No such file or directory");
    assert_int_equal(logring_open(STR("stderr"), &err), 1);
    assert_int_equal(logring_open(STR("stderr"), &err), 1);
    assert_int_equal(logring_open(STR("stdout"), &err), 2);
}

static void
the_last_number(void **state)
{
    struct errmsg err;
    char path[128];

    (void)state;
    for (int i = 1; i < LOGRING_FILES; i++) {
        memset(path, '/', sizeof(path)); /* many names of one file */
        snprintf(path + i, sizeof(path) - (size_t)i, "dev/null");
        assert_int_equal(logring_open(str_from(path), &err), i);
    }
    assert_int_equal(logring_open(STR("/dev/full"), &err), -1);
    assert_non_null(strstr(err.text, "more than 64"));
}

static void
a_full_disk_loses_lines_only(void **state)
{
    struct errmsg err;

    (void)state;
    assert_int_equal(logring_open(STR("/dev/full"), &err), 1);
    start();
    write_text(1, "one\n");
    write_text(1, "two\n");
    logring_stop();
    contains(paths[0], "cannot write log file /dev/full: No space left on "
                       "device\n");
}

static void
what_a_full_disk_lost_is_told_when_there_is_room(void **state)
{
    struct errmsg err;

    (void)state;
    unlink(paths[0]);
    assert_int_equal(symlink("/dev/full", paths[0]), 0);
    assert_int_equal(logring_reopen(&err), 0);
    start();
    for (int i = 0; i < 3; i++) {
        write_text(0, "lost\n");
        usleep(1000);
    }
    logring_stop();
    unlink(paths[0]);
    assert_int_equal(logring_reopen(&err), 0);
    start();
    write_text(0, "room\n");
    logring_stop();
    contains(paths[0], "room\n");
    contains(paths[0], " 3 log lines were dropped (");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reopened_under_a_new_name),
        TEST(moved_to_another_file),
        TEST(a_closed_file_makes_room),
        TEST(a_failed_reopen_keeps_the_file),
        TEST(files_that_cannot_be_opened),
        TEST(the_last_number),
        TEST(a_full_disk_loses_lines_only),
        TEST(what_a_full_disk_lost_is_told_when_there_is_room),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

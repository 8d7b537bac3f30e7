/*
 * Results: where they go, and links that lie in the way.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "place_help.h"

/* ---- results ---- */

static void
test_a_result_gets_its_name(void **state)
{
    struct stat st;

    (void)state;
    run_with(7, "media.mp4", "video");
    assert_int_equal(chmod(at("d/.weir/7/media.mp4"), 0600), 0);
    take(7, "media.mp4", "", "Title");
    assert_true(told.ok);
    assert_string_equal(told.name, "Title.mp4");
    assert_int_equal(told.size, 5);
    assert_string_equal(text_of("d/Title.mp4"), "video");
    assert_int_equal(stat(at("d/Title.mp4"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
    assert_int_equal(count_names("d/.weir"), 1); /* its mark */
    drop(7);
    assert_int_equal(count_names("d/.weir"), 0);
}

static void
find(int64_t number, const char *folder)
{
    told.calls = 0;
    place_find(p, number, str_from(folder), on_told, NULL);
    wait_for(1);
}

/* As by the fetcher after one that died. */
static void
test_a_result_is_found_again(void **state)
{
    (void)state;
    find(7, "sub");
    assert_false(told.ok);
    result(7, "sub", "list/Title");
    assert_true(told.ok);
    place_free(&p);
    open_place();
    find(7, "sub");
    assert_true(told.ok);
    assert_string_equal(told.name, "list/Title.mp4");
    assert_int_equal(told.size, 1);
    find(8, "sub");
    assert_false(told.ok);
    drop(7);
    find(7, "sub");
    assert_false(told.ok);
}

/* Somebody has put another file in its place. */
static void
test_another_file_is_not_its_result(void **state)
{
    (void)state;
    result(7, "", "Title");
    assert_int_equal(rename(at("d/Title.mp4"), at("d/mine.mp4")), 0);
    result(8, "", "Title");
    find(7, "");
    assert_false(told.ok);
    find(8, "");
    assert_true(told.ok);
}

/* Nor is a folder that has the number of the file. */
static void
test_a_folder_is_no_result(void **state)
{
    char text[64];
    struct stat st;

    (void)state;
    result(7, "", "Title");
    assert_int_equal(unlink(at("d/Title.mp4")), 0);
    assert_int_equal(mkdir(at("d/Title.mp4"), 0755), 0);
    assert_int_equal(stat(at("d/Title.mp4"), &st), 0);
    snprintf(text, sizeof(text), "%ju Title.mp4", (uintmax_t)st.st_ino);
    write_at(AT_FDCWD, at("d/.weir/7.taken"), text);
    find(7, "");
    assert_false(told.ok);
}

static void
test_folders_are_made(void **state)
{
    (void)state;
    result(1, "a/b/", "My Feed/..//Episode 1");
    assert_string_equal(told.name, "My Feed/_/Episode 1.mp4");
    assert_true(is_there("d/a/b/My Feed/_/Episode 1.mp4"));
}

static void
test_a_taken_name_gets_a_number(void **state)
{
    char wanted[400], second[300];

    (void)state;
    result(1, "", "T");
    result(2, "", "T");
    assert_string_equal(told.name, "T (2).mp4");
    result(3, "", "T");
    assert_string_equal(told.name, "T (3).mp4");
    memset(wanted, 'x', sizeof(wanted));
    wanted[sizeof(wanted) - 1] = '\0';
    result(4, "", wanted);
    assert_int_equal(strlen(told.name), PLACE_PART_MAX);
    result(5, "", wanted);
    assert_int_equal(strlen(told.name), PLACE_PART_MAX);
    snprintf(second, sizeof(second), "%.192s (2).mp4", wanted);
    assert_string_equal(told.name, second);
}

/* Even one that is a link to nowhere: nothing is written through it. */
static void
test_a_link_is_a_taken_name(void **state)
{
    (void)state;
    assert_int_equal(symlink(at("outside"), at("d/T.mp4")), 0);
    result(1, "", "T");
    assert_string_equal(told.name, "T (2).mp4");
    assert_false(is_there("outside"));
}

static void
test_endings(void **state)
{
    static const char *const rows[][2] = {
        { "media.mp4", "T.mp4" },
        { "media.tar.gz", "T.gz" },
        { "media", "T" },
        { "media.", "T" },
        { ".mp4", "T" },
        { "media.a b", "T" },
        { "media.abcdefghijklmnopq", "T" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        run_with(9, rows[i][0], "x");
        take(9, rows[i][0], "", "T");
        assert_true(told.ok);
        assert_string_equal(told.name, rows[i][1]);
        remove_result("", told.name);
        assert_true(told.ok);
    }
}

static void
test_what_is_not_a_file_is_not_taken(void **state)
{
    struct errmsg err;
    int folder = place_begin(p, 1, &err);

    (void)state;
    write_at(folder, "one.mp4", "x");
    assert_int_equal(symlinkat("/etc/passwd", folder, "link.mp4"), 0);
    assert_int_equal(symlinkat("..", folder, "up"), 0);
    assert_int_equal(mkdirat(folder, "folder.mp4", 0700), 0);
    assert_int_equal(mkfifoat(folder, "fifo.mp4", 0600), 0);
    assert_int_equal(linkat(folder, "one.mp4", folder, "two.mp4", 0), 0);
    close(folder);
    static const char *const names[] = {
        "link.mp4", "folder.mp4", "fifo.mp4",     "two.mp4",
        "none.mp4", "up/x.mp4",   "../x.mp4",     "/etc/passwd",
        "",         "one.mp4/x",  "up/1/one.mp4",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        take(1, names[i], "", "T");
        assert_false(told.ok);
        assert_string_not_equal(told.msg, "");
        assert_null(strstr(told.msg, top));
    }
    assert_int_equal(count_names("d"), 1);
    drop(1);
    assert_true(told.ok);
    assert_int_equal(count_names("d/.weir"), 0);
}

/* Nothing is done to what it leads to, either. */
static void
test_the_file_behind_a_link_stays_closed(void **state)
{
    struct errmsg err;
    int folder = place_begin(p, 1, &err);
    struct stat st;

    (void)state;
    write_at(AT_FDCWD, at("closed"), "x");
    assert_int_equal(chmod(at("closed"), 0600), 0);
    assert_int_equal(symlinkat(at("closed"), folder, "link.mp4"), 0);
    close(folder);
    take(1, "link.mp4", "", "T");
    assert_false(told.ok);
    assert_int_equal(stat(at("closed"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
}

#define SAME 10000 /* names that are tried */

static void
test_same_names_have_a_bound(void **state)
{
    char name[32];

    (void)state;
    assert_int_equal(symlink("x", at("d/T.mp4")), 0);
    for (int i = 2; i <= SAME; i++) {
        snprintf(name, sizeof(name), "d/T (%d).mp4", i);
        assert_int_equal(symlink("x", at(name)), 0);
    }
    result(1, "", "T");
    assert_false(told.ok);
    assert_string_equal(told.msg, "10000 files have that name");
    assert_true(is_there("d/.weir/1/media.mp4")); /* it is not lost */
}

/* "xxx...x/xxx...x/", so many bytes. */
static void
fill_path(char *path, size_t len)
{
    memset(path, 'x', len);
    for (size_t i = 199; i < len; i += 200) {
        path[i] = '/';
    }
    path[len] = '\0';
}

/* A path that is too long is not cut: it would name something else. */
static void
test_nothing_is_cut(void **state)
{
    static const char why[] = "the name of the result is too long";
    struct errmsg err;
    char path[PLACE_PATH_MAX + 300], file[PLACE_PATH_MAX + 2];
    int folder = place_begin(p, 1, &err);

    (void)state;
    assert_int_equal(mkdirat(folder, "sub", 0755), 0);
    write_at(folder, "sub/media.mp4", "x");
    close(folder);
    fill_path(path, PLACE_PATH_MAX + 1);
    take(1, "sub/media.mp4", path, "T");
    assert_string_equal(told.msg, why);
    fill_path(path, 1200);
    str_append(path, sizeof(path), 1200, STR("T"));
    take(1, "sub/media.mp4", "", path);
    assert_string_equal(told.msg, why);
    memset(file, '/', sizeof(file));
    memcpy(file, "sub", 3);
    memcpy(file + PLACE_PATH_MAX - 9, "media.mp4x", 11);
    take(1, file, "", "T");
    assert_string_equal(told.msg, why);
    assert_int_equal(count_names("d"), 1);
}

static void
test_a_folder_outside_is_refused(void **state)
{
    static const char *const bad[][2] = {
        { "..", "begins with '.'" },     { "a/../../x", "begins with '.'" },
        { ".weir", "begins with '.'" },  { ".", "begins with '.'" },
        { "/etc", "begins with '/'" },   { "a\nb", "control characters" },
        { "a\xff", "not UTF-8" },        { "link", "symbolic link" },
        { "link/sub", "symbolic link" }, { "file", "not a folder" },
        { "file/x", "not a folder" },
    };
    struct errmsg err;

    (void)state;
    assert_int_equal(mkdir(at("outside"), 0755), 0);
    assert_int_equal(symlink(at("outside"), at("d/link")), 0);
    write_at(AT_FDCWD, at("d/file"), "x");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(place_check_folder(p, str_from(bad[i][0]), true, &err),
                         -1);
        assert_non_null(strstr(err.text, bad[i][1]));
        result((int64_t)i, bad[i][0], "T");
        assert_false(told.ok);
        assert_non_null(strstr(told.msg, bad[i][1]));
    }
    assert_int_equal(count_names("outside"), 0);
    assert_false(is_there("T.mp4"));
}

static void
test_folders_that_a_client_may_name(void **state)
{
    char deep[1100], long_part[300];
    struct errmsg err;

    (void)state;
    assert_int_equal(place_check_folder(p, STR(""), false, &err), 0);
    assert_int_equal(place_check_folder(p, STR("new"), true, &err), 0);
    assert_int_equal(place_check_folder(p, STR("new"), false, &err), -1);
    assert_string_equal(
        err.text, "folder \"new\" is not there, and create_custom_dirs is off");
    assert_false(is_there("d/new"));
    assert_int_equal(mkdir(at("d/new"), 0755), 0);
    assert_int_equal(place_check_folder(p, STR("new"), false, &err), 0);
    assert_int_equal(place_check_folder(p, STR("new/"), false, &err), 0);
    assert_int_equal(place_check_folder(p, STR("new/x y/@z"), true, &err), 0);
    memset(deep, 'a', sizeof(deep));
    for (size_t i = 100; i < sizeof(deep); i += 100) {
        deep[i] = '/';
    }
    assert_int_equal(place_check_folder(p, str_of(deep, 1024), true, &err), 0);
    assert_int_equal(place_check_folder(p, str_of(deep, 1025), true, &err), -1);
    memset(long_part, 'a', sizeof(long_part));
    assert_int_equal(place_check_folder(p, str_of(long_part, 256), true, &err),
                     -1);
}

static void
test_results_are_removed(void **state)
{
    (void)state;
    result(1, "a", "l/T");
    remove_result("a", "l/T.mp4");
    assert_true(told.ok);
    assert_false(is_there("d/a/l/T.mp4"));
    remove_result("a", "l/T.mp4"); /* it is gone */
    assert_true(told.ok);
    remove_result("nowhere", "T.mp4");
    assert_true(told.ok);
    write_at(AT_FDCWD, at("kept"), "x");
    assert_int_equal(symlink(top, at("d/link")), 0);
    static const char *const bad[][2] = {
        { "", "../kept" },      { "..", "kept" }, { "link", "kept" },
        { "", "link/kept" },    { "", "" },       { "a", "l" },
        { "", ".weir/x/kept" }, { "", "/kept" },
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        remove_result(bad[i][0], bad[i][1]);
        assert_false(told.ok);
    }
    assert_true(is_there("kept"));
    assert_true(is_there("d/link"));
    remove_result("", "link"); /* the link itself */
    assert_true(told.ok);
    assert_true(is_there("kept"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_result_gets_its_name),
        TEST(test_a_result_is_found_again),
        TEST(test_another_file_is_not_its_result),
        TEST(test_a_folder_is_no_result),
        TEST(test_folders_are_made),
        TEST(test_a_taken_name_gets_a_number),
        TEST(test_a_link_is_a_taken_name),
        TEST(test_endings),
        TEST(test_what_is_not_a_file_is_not_taken),
        TEST(test_the_file_behind_a_link_stays_closed),
        TEST(test_same_names_have_a_bound),
        TEST(test_nothing_is_cut),
        TEST(test_a_folder_outside_is_refused),
        TEST(test_folders_that_a_client_may_name),
        TEST(test_results_are_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

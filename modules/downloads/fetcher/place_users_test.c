/*
 * Other users, other file systems, a full one.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "place_help.h"

#include <errno.h>
#include <grp.h>
#include <sys/mount.h>

#define ROLE 64001 /* users that nobody has */
#define PROGRAM 64002
#define STRANGER 64003

/* ---- file systems and users ---- */

static void
need_root(void)
{
    if (geteuid() != 0) {
        print_message("only root may become other users\n");
        skip();
    }
}

static void
test_another_file_system_below_is_refused(void **state)
{
    struct errmsg err;

    (void)state;
    need_root();
    assert_int_equal(mkdir(at("d/mount"), 0755), 0);
    if (mount("none", at("d/mount"), "tmpfs", 0, "size=1m") == -1) {
        print_message("cannot mount: %s\n", strerror(errno));
        skip();
    }
    int rc = place_check_folder(p, STR("mount"), true, &err);
    result(1, "mount/sub", "T");
    bool made = is_there("d/mount/sub");
    umount(at("d/mount"));
    assert_int_equal(rc, -1);
    assert_non_null(strstr(err.text, "on another file system"));
    assert_false(told.ok);
    assert_non_null(strstr(told.msg, "on another file system"));
    assert_false(made);
}

static void
test_a_full_disk_is_told(void **state)
{
    struct errmsg err;
    char text[64];

    (void)state;
    need_root();
    place_free(&p);
    assert_int_equal(mkdir(at("full"), 0755), 0);
    if (mount("none", at("full"), "tmpfs", 0, "size=64k,nr_inodes=64") == -1) {
        print_message("cannot mount: %s\n", strerror(errno));
        open_place();
        skip();
    }
    snprintf(directory, sizeof(directory), "%s/full", top);
    open_place();
    run_with(1, "media.mp4", "x");
    int64_t free_bytes = place_free_bytes(p);
    int files = 0;
    for (int fd = 0; fd != -1; files++) {
        snprintf(text, sizeof(text), "full/f%d", files);
        fd = open(at(text), O_WRONLY | O_CREAT, 0600);
        close(fd);
    }
    take(1, "media.mp4", "new", "T");
    bool ok = told.ok;
    char why[sizeof(told.msg)];
    memcpy(why, told.msg, sizeof(why));
    int folder = place_begin(p, 2, &err);
    take(1, "media.mp4", "", "T"); /* what needs no room is done */
    bool moved = told.ok && is_there("full/T.mp4");
    place_free(&p);
    umount(at("full"));
    snprintf(directory, sizeof(directory), "%s/d", top);
    open_place();
    assert_in_range(free_bytes, 1, 65536);
    assert_false(ok);
    assert_non_null(strstr(why, "No space left on device"));
    assert_true(moved);
    assert_int_equal(folder, -1);
    assert_non_null(strstr(err.text, "No space left on device"));
}

static void
become(uid_t user)
{
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(setegid(0), 0);
    if (user != 0) {
        assert_int_equal(setgroups(0, NULL), 0);
        assert_int_equal(setegid(user), 0);
        assert_int_equal(seteuid(user), 0);
    }
}

/* The directory is the role's. */
static void
open_as_role(void)
{
    place_free(&p);
    assert_int_equal(chmod(top, 0755), 0);
    snprintf(directory, sizeof(directory), "%s/users", top);
    assert_int_equal(mkdir(directory, 0755), 0);
    assert_int_equal(chown(directory, ROLE, ROLE), 0);
    become(ROLE);
    open_place();
}

static void
test_programs_may_have_another_user(void **state)
{
    struct errmsg err;
    struct stat st;
    int folder;

    (void)state;
    need_root();
    mode_t mask = umask(022);
    open_as_role();
    folder = place_begin(p, 1, &err);
    become(PROGRAM);
    write_at(folder, "media.mp4", "x");
    write_at(folder, "media.part", "x");
    write_at(folder, "closed.mp4", "x");
    assert_int_equal(fchmodat(folder, "closed.mp4", 0666, 0), 0);
    become(ROLE);
    take(1, "closed.mp4", "", "T");
    bool took_open_one = told.ok;
    take(1, "media.mp4", "a", "T");
    become(0);
    umask(mask);
    close(folder);
    assert_false(took_open_one);
    assert_string_equal(told.msg, "");
    assert_true(told.ok);
    assert_int_equal(stat(at("users/a/T.mp4"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
    assert_int_equal(st.st_uid, PROGRAM);
    assert_int_equal(stat(at("users/a"), &st), 0);
    assert_int_equal(st.st_uid, ROLE);
    assert_int_equal(count_names("users/.weir"), 1); /* its mark */
}

/* An engine has closed it: root would not notice. */
static void
test_a_closed_folder_goes(void **state)
{
    struct errmsg err;
    int folder;

    (void)state;
    need_root();
    open_as_role();
    folder = place_begin(p, 1, &err);
    assert_int_equal(mkdirat(folder, "closed", 0755), 0);
    write_at(folder, "closed/file", "x");
    assert_int_equal(fchmodat(folder, "closed", 0500, 0), 0);
    close(folder);
    drop(1);
    become(0);
    assert_string_equal(told.msg, "");
    assert_true(told.ok);
    assert_int_equal(count_names("users/.weir"), 0);
}

static void
test_strangers_reach_no_run(void **state)
{
    static const uid_t others[] = { STRANGER, PROGRAM };
    struct errmsg err;
    int reached = 0;

    (void)state;
    need_root();
    open_as_role();
    run_with(1, "media.mp4", "x");
    for (size_t i = 0; i < 2; i++) {
        become(others[i]);
        reached += open(at("users/.weir/1/media.mp4"), O_RDONLY) != -1;
        reached += open(at("users/.weir"), O_RDONLY) != -1;
        reached += faccessat(AT_FDCWD, at("users/.weir/1/media.mp4"), F_OK,
                             AT_EACCESS) == 0;
        reached += mkdir(at("users/x"), 0755) == 0;
    }
    /* One that was opened to others is closed again. */
    become(ROLE);
    assert_int_equal(chmod(at("users/.weir"), 0777), 0);
    place_free(&p);
    open_place();
    become(STRANGER);
    reached += open(at("users/.weir"), O_RDONLY) != -1;
    become(0);
    assert_int_equal(reached, 0);
    /* Another user's .weir is not believed. */
    assert_int_equal(chown(at("users/.weir"), STRANGER, STRANGER), 0);
    assert_int_equal(chmod(at("users/.weir"), 0755), 0);
    become(ROLE);
    struct place *other = place_new(l, threads, str_from(directory), &err);
    become(0);
    assert_null(other);
    assert_non_null(strstr(err.text, "belongs to user 64003"));
    place_free(&p);
}

static void
test_a_directory_that_cannot_be(void **state)
{
    struct errmsg err;
    char path[128];

    (void)state;
    snprintf(path, sizeof(path), "%s/no/where", top);
    assert_null(place_new(l, threads, str_from(path), &err));
    assert_non_null(strstr(err.text, "No such file or directory"));
    write_at(AT_FDCWD, at("file"), "x");
    snprintf(path, sizeof(path), "%s/file", top);
    assert_null(place_new(l, threads, str_from(path), &err));
    assert_int_equal(mkdir(at("linked"), 0755), 0);
    assert_int_equal(symlink(top, at("linked/.weir")), 0);
    snprintf(path, sizeof(path), "%s/linked", top);
    assert_null(place_new(l, threads, str_from(path), &err));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_another_file_system_below_is_refused),
        TEST(test_a_full_disk_is_told),
        TEST(test_programs_may_have_another_user),
        TEST(test_a_closed_folder_goes),
        TEST(test_strangers_reach_no_run),
        TEST(test_a_directory_that_cannot_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

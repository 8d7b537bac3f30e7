/*
 * Paths below a folder that only root may enter, in children that give root
 * away.
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

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/reach.h"

#define USER 65531
#define CHECK(condition)                                               \
    do {                                                               \
        if (!(condition)) {                                            \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, \
                    strerror(errno));                                  \
            _exit(1);                                                  \
        }                                                              \
    } while (0)

static char closed[] = "/tmp/reach-XXXXXX"; /* 0700; in it, "tree" */
static const struct privilege_ids who = { USER, USER };

/* ---- the tree ---- */

static void
write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static int
make_tree(void **state)
{
    (void)state;
    umask(022);
    if (mkdtemp(closed) == NULL || chdir(closed) == -1 ||
        mkdir("tree", 0755) == -1 || chdir("tree") == -1 ||
        mkdir("html", 0755) == -1 || mkdir("html2", 0755) == -1 ||
        mkdir("bin", 0755) == -1) {
        return -1;
    }
    write_file("html/a", "page");
    write_file("html2/a", "secret");
    write_file("bin/program", "old");
    write_file("secret", "secret");
    return 0;
}

static int
remove_tree(void **state)
{
    char command[PATH_MAX];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", closed);
    return chdir("/") == -1 || system(command) != 0 ? -1 : 0;
}

static struct str
below(const char *name)
{
    static char path[8][PATH_MAX];
    static size_t at;

    at = (at + 1) % 8;
    snprintf(path[at], PATH_MAX, "%s/tree%s%s", closed,
             name[0] != '\0' ? "/" : "", name);
    return str_from(path[at]);
}

/* ---- a child that gives root away ---- */

static void
become(void)
{
    CHECK(setresgid(USER, USER, USER) == 0 && setresuid(USER, USER, USER) == 0);
}

static void
in_child(void (*check)(void))
{
    int status;
    pid_t pid;

    if (geteuid() != 0) {
        print_message("not run: needs root\n");
        skip();
    }
    assert_int_equal(chmod(below("").ptr, 0755), 0);
    write_file("bin/program", "old");
    pid = fork();
    if (pid == 0) {
        check();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static bool
holds(int fd, const char *text)
{
    char bytes[64] = "";
    ssize_t n = fd == -1 ? -1 : read(fd, bytes, sizeof(bytes) - 1);

    return n >= 0 && strcmp(bytes, text) == 0;
}

static bool
has(struct str path, const char *text)
{
    return holds(reach_open(path.ptr, O_RDONLY), text);
}

static size_t
count_high(void)
{
    size_t n = 0;

    for (int fd = REACH_FIRST; fd < REACH_FIRST + 100; fd++) {
        n += fcntl(fd, F_GETFD) != -1;
    }
    return n;
}

static void
hold(struct str read, struct str program)
{
    struct rights r = { .fork = false };

    rights_read(&r, read);
    rights_execute(&r, program);
    reach_hold(&r, &who, 1);
    rights_clear(&r);
}

/* ---- what is held ---- */

static void
reaches(void)
{
    char room[PATH_MAX];

    hold(below("html/"), below("bin/program"));
    become();
    CHECK(open(below("html/a").ptr, O_RDONLY) == -1 && errno == EACCES);
    CHECK(has(below("html/a"), "page"));
    CHECK(has(below("html//a"), "page"));
    CHECK(has(below("bin/program"), "old"));
    CHECK(reach_open(below("html").ptr, O_RDONLY | O_DIRECTORY) != -1);
    CHECK(reach_open(below("html/").ptr, O_RDONLY | O_DIRECTORY) != -1);
    CHECK(holds(open(reach_name(below("html/a").ptr, room), O_RDONLY), "page"));
    CHECK(reach_open(below("html/none").ptr, O_RDONLY) == -1 &&
          errno == ENOENT);
}

static void
reaches_by_relative_paths(void)
{
    CHECK(chmod(".", 0700) == 0);
    hold(STR("html"), STR("./bin/program"));
    become();
    CHECK(open("html/a", O_RDONLY) == -1 && errno == EACCES);
    CHECK(has(STR("html/a"), "page") && has(STR("./html/a"), "page"));
    CHECK(has(STR("bin/program"), "old"));
    CHECK(has(below("html/a"), "page"));
}

static void
reaches_nothing_beside(void)
{
    static const char *const names[] = { "secret", "html2/a", "" };

    hold(below("html"), STR("/bin/sh"));
    become();
    for (size_t i = 0; i < 3; i++) {
        CHECK(reach_open(below(names[i]).ptr, O_RDONLY) == -1 &&
              errno == EACCES);
    }
    CHECK(reach_open(below("bin/program").ptr, O_RDONLY) == -1);
}

/* Another folder that is closed lies between them. */
static void
reaches_behind_what_is_held(void)
{
    CHECK(mkdir("html/deep", 0700) == 0 && mkdir("html/deep/page", 0755) == 0);
    write_file("html/deep/page/a", "deep");
    hold(below("html"), below("html/a"));
    hold(below("html/deep/page"), below("html/deep/page/a"));
    become();
    CHECK(has(below("html/a"), "page"));
    CHECK(has(below("html/deep/page/a"), "deep"));
    CHECK(count_high() == 2);
}

static void
executes(void)
{
    char *arguments[] = { (char *)(uintptr_t) "program", NULL }, *none = NULL;

    write_file("bin/program",
               "#!/bin/sh\ntest -e /proc/self/fd/64 || exit 1\n");
    CHECK(chmod("bin/program", 0755) == 0);
    hold(STR("/usr"), below("bin/program"));
    become();
    reach_execute(reach_of(below("bin/program").ptr), arguments, &none);
    CHECK(false);
}

/* A file takes the name. */
static void
finds_what_is_installed_anew(void)
{
    hold(below("html"), below("bin/program"));
    write_file("bin/new", "new");
    CHECK(rename("bin/new", "bin/program") == 0);
    become();
    CHECK(has(below("bin/program"), "new"));
}

static void
holds_no_more_than_it_has_to(void)
{
    struct rights r = { .fork = false };
    const struct privilege_ids both[] = { { 0, 0 }, { USER, USER } };

    hold(STR("/usr"), STR("/bin/sh"));
    hold(STR("/nowhere/at/all"), STR("/bin/none"));
    CHECK(count_high() == 0);
    rights_read(&r, below("html"));
    reach_hold(&r, both, 1); /* root has a way */
    CHECK(count_high() == 0);
    reach_hold(&r, both, 2);
    reach_hold(&r, both, 2);
    CHECK(count_high() == 1);
    CHECK(geteuid() == 0 && open(below("secret").ptr, O_RDONLY) != -1);
}

/* The way is open to the group that root has, and not to the user. */
static void
judges_without_roots_groups(void)
{
    static const gid_t root;

    CHECK(chmod(closed, 0750) == 0 && setgroups(1, &root) == 0);
    hold(below("html"), STR("/bin/sh"));
    CHECK(chmod(closed, 0700) == 0);
    CHECK(count_high() == 1 && getgroups(0, NULL) == 1);
}

static void
others_hold_nothing(void)
{
    become();
    hold(below("html"), below("bin/program"));
    CHECK(count_high() == 0);
}

static void
closes_the_others(void)
{
    int first, last;

    hold(below("html"), below("bin/program"));
    CHECK(count_high() == 2);
    first = fcntl(STDERR_FILENO, F_DUPFD, 20);
    last = fcntl(STDERR_FILENO, F_DUPFD, REACH_FIRST);
    CHECK(first != -1 && last != -1 && count_high() == 3);
    reach_close_others(20);
    CHECK(count_high() == 2 && fcntl(first, F_GETFD) == -1);
    for (int fd = REACH_FIRST; fd < REACH_FIRST + 100; fd++) {
        int flags = fcntl(fd, F_GETFD);

        CHECK(flags == -1 || (flags & FD_CLOEXEC) != 0);
    }
    become();
    CHECK(has(below("html/a"), "page") && has(below("bin/program"), "old"));
}

#define TEST(check)                        \
    static void test_##check(void **state) \
    {                                      \
        (void)state;                       \
        in_child(check);                   \
    }

TEST(reaches)
TEST(reaches_by_relative_paths)
TEST(reaches_nothing_beside)
TEST(reaches_behind_what_is_held)
TEST(executes)
TEST(finds_what_is_installed_anew)
TEST(holds_no_more_than_it_has_to)
TEST(judges_without_roots_groups)
TEST(others_hold_nothing)
TEST(closes_the_others)

/* A path stays what it is where nothing is held. */
static void
test_usual_paths(void **state)
{
    char room[PATH_MAX];
    struct reach way = reach_of("/usr/bin");

    (void)state;
    assert_int_equal(way.at, AT_FDCWD);
    assert_string_equal(way.path, "/usr/bin");
    assert_string_equal(reach_name("/usr/bin", room), "/usr/bin");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usual_paths),
        cmocka_unit_test(test_reaches),
        cmocka_unit_test(test_reaches_by_relative_paths),
        cmocka_unit_test(test_reaches_nothing_beside),
        cmocka_unit_test(test_reaches_behind_what_is_held),
        cmocka_unit_test(test_executes),
        cmocka_unit_test(test_finds_what_is_installed_anew),
        cmocka_unit_test(test_holds_no_more_than_it_has_to),
        cmocka_unit_test(test_judges_without_roots_groups),
        cmocka_unit_test(test_others_hold_nothing),
        cmocka_unit_test(test_closes_the_others),
    };

    return cmocka_run_group_tests(tests, make_tree, remove_tree);
}

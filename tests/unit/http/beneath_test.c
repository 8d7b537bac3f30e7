/*
 * Opening below a directory, by the kernel's way and by ours.
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
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http/file/beneath.h"

static char folder[] = "/tmp/weir-beneath-XXXXXX";
static int root;

static void
write_file(const char *name)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);

    assert_int_equal(write(fd, name, 1), 1);
    close(fd);
}

static void
make(const char *name, int (*how)(const char *path, mode_t mode))
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(how(path, 0700), 0);
}

static void
make_link(const char *to, const char *name)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(symlink(to, path), 0);
}

static int
set_up(void **state)
{
    char path[256];

    (void)state;
    assert_non_null(mkdtemp(folder));
    make("root", mkdir);
    make("root/a", mkdir);
    make("root/a/b", mkdir);
    make("root/fifo", mkfifo);
    write_file("secret");
    write_file("root/file");
    write_file("root/a/b/deep");
    make_link("a/b/deep", "root/inside");
    make_link("../secret", "root/outside");
    make_link("/etc/passwd", "root/absolute");
    make_link("/proc/self/root", "root/magic");
    make_link("../..", "root/up");
    make_link("loop", "root/loop");
    snprintf(path, sizeof(path), "%s/root", folder);
    root = open(path, O_PATH | O_DIRECTORY);
    return root == -1 ? -1 : 0;
}

static int
tear_down(void **state)
{
    char command[256];

    (void)state;
    close(root);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

typedef int opener(int root_fd, const char *path);

/* First byte of what is opened, 'd' of a directory, '-' of nothing. */
static char
opened(opener *open_it, const char *path)
{
    struct stat st;
    char c = '?';
    int fd = open_it(root, path);

    if (fd == -1) {
        return '-';
    }
    assert_int_equal(fstat(fd, &st), 0);
    if (S_ISDIR(st.st_mode)) {
        c = 'd';
    } else if (S_ISREG(st.st_mode)) {
        assert_int_equal(read(fd, &c, 1), 1);
    }
    close(fd);
    return c;
}

static void
check_files(opener *open_it)
{
    assert_int_equal(opened(open_it, "file"), 'r');
    assert_int_equal(opened(open_it, "a/b/deep"), 'r');
    assert_int_equal(opened(open_it, "a//b/./deep"), 'r');
    assert_int_equal(opened(open_it, ""), 'd');
    assert_int_equal(opened(open_it, "a"), 'd');
    assert_int_equal(opened(open_it, "a/b/"), 'd');
    assert_int_equal(opened(open_it, "fifo"), '?'); /* and does not wait */
    assert_int_equal(opened(open_it, "none"), '-');
    assert_int_equal(errno, ENOENT);
    assert_int_equal(opened(open_it, "file/"), '-');
    assert_int_equal(errno, ENOTDIR);
    assert_int_equal(opened(open_it, "file/x"), '-');
    assert_int_equal(errno, ENOTDIR);
}

static void
check_escapes(opener *open_it)
{
    static const char *const paths[] = {
        "../secret",   "a/../../secret",
        "outside",     "absolute",
        "magic",       "magic/etc/passwd",
        "up/secret",   "up",
        "/etc/passwd", "loop",
        "..",          "a/../..",
    };

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        assert_int_equal(opened(open_it, paths[i]), '-');
    }
}

static void
test_kernel(void **state)
{
    (void)state;
    check_files(http_open_beneath);
    check_escapes(http_open_beneath);
    assert_int_equal(opened(http_open_beneath, "inside"), 'r');
}

static void
test_stepwise(void **state)
{
    (void)state;
    check_files(http_open_stepwise);
    /* "/etc/passwd" is below the root there, and nothing in it */
    check_escapes(http_open_stepwise);
    assert_int_equal(opened(http_open_stepwise, "inside"), '-');
}

static int
count_descriptors(void)
{
    int n = 0;

    for (int fd = 0; fd < 256; fd++) {
        n += fcntl(fd, F_GETFD) != -1;
    }
    return n;
}

static void
test_nothing_stays_open(void **state)
{
    int before = count_descriptors();

    test_kernel(state);
    test_stepwise(state);
    assert_int_equal(count_descriptors(), before);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernel),
        cmocka_unit_test(test_stepwise),
        cmocka_unit_test(test_nothing_stays_open),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}

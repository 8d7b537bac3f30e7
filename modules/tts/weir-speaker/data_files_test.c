/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "data_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#define AT(name) DATA_ROOT "/" name

/* ---- two directories, of both shapes ---- */

static char folder[] = "/tmp/weir-data-XXXXXX";

static void
put(const char *path, const char *text)
{
    int at = open(folder, O_PATH | O_DIRECTORY);
    int fd = openat(at, path, O_WRONLY | O_CREAT | O_EXCL, 0600);

    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    close(at);
}

static void
make_tree(void)
{
    static const char *const directories[] = { "one", "one/voices", "two",
                                               "two/espeak-ng-data",
                                               "two/espeak-ng-data/voices" };
    int at;

    assert_non_null(mkdtemp(folder));
    at = open(folder, O_PATH | O_DIRECTORY);
    for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
        assert_int_equal(mkdirat(at, directories[i], 0700), 0);
    }
    put("outside", "outside");
    put("one/voices/a", "first");
    put("two/espeak-ng-data/voices/a", "second");
    put("two/espeak-ng-data/voices/b", "other");
    put("two/espeak-ng-data/phontab", "table");
    assert_int_equal(symlinkat("../../outside", at, "one/voices/link"), 0);
    assert_int_equal(symlinkat("a", at, "one/voices/inside"), 0);
    assert_int_equal(mkfifoat(at, "one/voices/pipe", 0600), 0);
    close(at);
}

static void
remove_tree(void)
{
    static const char *const names[] = { "two/espeak-ng-data/voices/a",
                                         "two/espeak-ng-data/voices/b",
                                         "two/espeak-ng-data/phontab",
                                         "one/voices/a",
                                         "one/voices/link",
                                         "one/voices/inside",
                                         "one/voices/pipe",
                                         "outside",
                                         "two/espeak-ng-data/voices",
                                         "two/espeak-ng-data",
                                         "two",
                                         "one/voices",
                                         "one" };
    int at = open(folder, O_PATH | O_DIRECTORY);

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_true(unlinkat(at, names[i], 0) == 0 ||
                    unlinkat(at, names[i], AT_REMOVEDIR) == 0);
    }
    close(at);
    rmdir(folder);
}

static int
open_both(void **state)
{
    char one[64], two[64];
    const char *both[] = { one, two };
    struct errmsg err;

    (void)state;
    make_tree();
    snprintf(one, sizeof(one), "%s/one", folder);
    snprintf(two, sizeof(two), "%s/two", folder);
    return data_files_open(both, 2, &err);
}

static int
close_tree(void **state)
{
    (void)state;
    remove_tree();
    return 0;
}

/* ---- tests ---- */

static const char *
content(const char *path)
{
    static char text[64];
    FILE *f = fopen(path, "r");
    size_t n;

    if (f == NULL) {
        return NULL;
    }
    n = fread(text, 1, sizeof(text) - 1, f);
    text[n] = '\0';
    fclose(f);
    return text;
}

static void
the_first_directory_wins(void **state)
{
    (void)state;
    assert_string_equal(content(AT("voices/a")), "first");
    assert_string_equal(content(AT("voices/b")), "other");
    assert_string_equal(content(AT("phontab")), "table");
    assert_string_equal(content(AT("voices/inside")), "first");
    assert_null(content(AT("voices/c")));
    assert_int_equal(errno, ENOENT);
}

static void
nothing_else_is_opened(void **state)
{
    static const char *const paths[] = { "/etc/passwd",
                                         "",
                                         ".",
                                         DATA_ROOT "x/voices/a",
                                         DATA_ROOT "/../outside",
                                         AT("voices/../../outside"),
                                         AT("voices/link"),
                                         AT("voices/pipe"),
                                         AT("voices"),
                                         AT("/etc/passwd/../passwd"),
                                         "/proc/self/fd/../../../etc",
                                         "/proc/self/fd/",
                                         "/proc/self/environ" };

    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        assert_null(content(paths[i]));
    }
    assert_null(fopen(AT("voices/a"), "r+"));
    assert_null(fopen(AT("voices/new"), "w"));
    assert_null(opendir("/etc"));
}

static void
files_and_directories_are_told_apart(void **state)
{
    struct stat st;

    (void)state;
    assert_int_equal(stat(AT("voices/a"), &st), 0);
    assert_true(S_ISREG(st.st_mode) && st.st_size == 5);
    assert_int_equal(stat(AT("voices"), &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_int_equal(stat(DATA_ROOT, &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_int_equal(stat(AT("espeak-ng-data"), &st), -1);
    assert_int_equal(stat("/etc/passwd", &st), -1);
}

static void
a_directory_has_the_names_of_all(void **state)
{
    DIR *dir = opendir(AT("voices"));
    struct dirent *e;
    int a = 0, b = 0, all = 0;

    (void)state;
    assert_non_null(dir);
    while ((e = readdir(dir)) != NULL) {
        a += strcmp(e->d_name, "a") == 0;
        b += strcmp(e->d_name, "b") == 0;
        all += e->d_name[0] != '.';
    }
    assert_int_equal(closedir(dir), 0);
    assert_int_equal(a, 1);
    assert_int_equal(b, 1);
    assert_int_equal(all, 5);
    assert_null(opendir(AT("lang")));
}

static void
a_voice_in_memory_is_read(void **state)
{
    int fd = memfd_create("voice", MFD_CLOEXEC);
    char path[32];

    (void)state;
    assert_int_equal(write(fd, "mine", 4), 4);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    assert_string_equal(content(path), "mine");
    close(fd);
}

/* For good: an old kernel, or a sandbox that does not let it. */
static void
lose_openat2(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

    assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
    assert_int_equal(syscall(SYS_openat2, 0, "", NULL, 0), -1);
    assert_int_equal(errno, ENOSYS);
}

static void
without_openat2_no_link_is_followed(void **state)
{
    struct stat st;

    lose_openat2();
    assert_string_equal(content(AT("voices//a")), "first");
    assert_string_equal(content(AT("voices/b")), "other");
    assert_null(content(AT("voices/inside")));
    assert_int_equal(stat(AT("voices/inside"), &st), -1);
    nothing_else_is_opened(state);
    files_and_directories_are_told_apart(state);
    a_directory_has_the_names_of_all(state);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_directory_wins),
        cmocka_unit_test(nothing_else_is_opened),
        cmocka_unit_test(files_and_directories_are_told_apart),
        cmocka_unit_test(a_directory_has_the_names_of_all),
        cmocka_unit_test(a_voice_in_memory_is_read),
        cmocka_unit_test(without_openat2_no_link_is_followed), /* the last */
    };

    return cmocka_run_group_tests(tests, open_both, close_tree);
}

/*
 * The files in a folder, against bounds.
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

#include "supervise.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[64];
static int folder, ends[2];

static int
begin(void **state)
{
    (void)state;
    snprintf(path, sizeof(path), "/tmp/weir-measure-test-XXXXXX");
    assert_non_null(mkdtemp(path));
    folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(supervise_tell_open(ends[1]), 0);
    return supervise_measure_open(folder);
}

static int
finish(void **state)
{
    char command[sizeof(path) + 16];

    (void)state;
    chmod(path, 0700);
    close(folder);
    close(ends[0]);
    close(ends[1]);
    snprintf(command, sizeof(command), "rm -rf %s", path);
    return system(command);
}

static void
make(const char *name, size_t kilobytes)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    char piece[1024];

    assert_true(fd >= 0);
    memset(piece, 'x', sizeof(piece));
    for (size_t i = 0; i < kilobytes; i++) {
        assert_int_equal(write(fd, piece, sizeof(piece)), sizeof(piece));
    }
    close(fd);
}

static const char *
look(int64_t files, int64_t bytes)
{
    const struct supervise s = { .max_files = files, .max_bytes = bytes };
    const char *said;

    poll(NULL, 0, supervise_measure_wait());
    said = supervise_measure(&s);
    return said == NULL ? "" : said;
}

static const char *
told(void)
{
    static char text[256];
    ssize_t n = read(ends[0], text, sizeof(text) - 1);

    text[n > 0 ? n : 0] = '\0';
    return text;
}

static void
test_files(void **state)
{
    (void)state;
    make("a", 0);
    make("b", 0);
    assert_int_equal(symlinkat("/", folder, "c"), 0); /* leads nowhere */
    assert_string_equal(look(3, 0), "");
    make("d", 0);
    assert_string_equal(look(3, 0), "files");
    assert_string_equal(look(0, 0), "");
}

static void
test_bytes(void **state)
{
    (void)state;
    make("a", 1024);
    make("b", 1024);
    assert_string_equal(look(10, 3 << 20), "");
    make("c", 2048);
    assert_string_equal(look(10, 3 << 20), "bytes");
    assert_string_equal(look(10, 0), "");
}

static void
test_folders(void **state)
{
    (void)state;
    assert_int_equal(mkdirat(folder, "in", 0700), 0);
    make("in/a", 2048);
    assert_string_equal(look(2, 0), "");
    assert_string_equal(look(1, 0), "files");
    assert_string_equal(look(2, 1 << 20), "bytes");
}

/* A hole is no bytes of the disk. */
static void
test_holes(void **state)
{
    int fd;

    (void)state;
    make("a", 0);
    fd = openat(folder, "a", O_WRONLY | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, 1 << 30), 0);
    close(fd);
    assert_string_equal(look(10, 1 << 20), "");
}

static void
test_what_hides(void **state)
{
    char name[] = "d";

    (void)state;
    if (geteuid() == 0) {
        for (int i = 0; i < 10; i++) { /* root sees all but what is too deep */
            assert_int_equal(mkdirat(folder, name, 0700), 0);
            int next = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

            close(folder);
            folder = next;
        }
    } else {
        make("a", 0);
        assert_int_equal(fchmod(folder, 0), 0);
    }
    assert_string_equal(look(100, 1 << 20), "bytes");
}

/* One megabyte more, not each byte. */
static void
test_it_is_told(void **state)
{
    long long bytes;

    (void)state;
    make("a", 100);
    look(10, 0);
    assert_string_equal(told(), "");
    make("b", 2048);
    look(10, 0);
    assert_int_equal(sscanf(told(), "bytes %lld\n", &bytes), 1);
    assert_true(bytes >= 2148 << 10 && bytes < 3000 << 10);
    look(10, 0);
    assert_string_equal(told(), "");
    unlinkat(folder, "b", 0);
    look(10, 0);
    assert_int_equal(sscanf(told(), "bytes %lld\n", &bytes), 1);
    assert_true(bytes < 1000 << 10);
}

static void
test_it_is_not_looked_at_all_the_time(void **state)
{
    const struct supervise s = { .max_files = 1 };

    (void)state;
    assert_string_equal(look(1, 0), "");
    make("a", 0);
    make("b", 0);
    assert_true(supervise_measure_wait() > 0);
    assert_null(supervise_measure(&s));
    assert_string_equal(look(1, 0), "files");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_files, begin, finish),
        cmocka_unit_test_setup_teardown(test_bytes, begin, finish),
        cmocka_unit_test_setup_teardown(test_folders, begin, finish),
        cmocka_unit_test_setup_teardown(test_holes, begin, finish),
        cmocka_unit_test_setup_teardown(test_what_hides, begin, finish),
        cmocka_unit_test_setup_teardown(test_it_is_told, begin, finish),
        cmocka_unit_test_setup_teardown(test_it_is_not_looked_at_all_the_time,
                                        begin, finish),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

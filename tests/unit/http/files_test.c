/*
 * The table of small files: what is kept, for how long, and how much of it.
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

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "event/loop.h"
#include "http/file/files.h"

static char folder[64];
static struct http_files *files;
static const struct http_files_limits limits = {
    .entries = 4, .small = 1000, .memory = 20000, .valid_ms = 100
};

static const char *
path_of(const char *name)
{
    static char path[512];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

/* A file of size bytes c, old enough for its times to tell it. */
static void
write_file(const char *name, char c, size_t size)
{
    static const struct timespec old[2] = { { 1000000, 0 }, { 1000000, 0 } };
    char bytes[2000];
    int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

    memset(bytes, c, sizeof(bytes));
    assert_true(size <= sizeof(bytes));
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    assert_int_equal(futimens(fd, old), 0);
    close(fd);
}

static void
start(const struct http_files_limits *l)
{
    int root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

    assert_int_not_equal(root, -1);
    files = http_files_new(root, l);
}

static int
set_up(void **state)
{
    (void)state;
    hash_init();
    snprintf(folder, sizeof(folder), "/tmp/weir-files-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    start(&limits);
    return 0;
}

static int
tear_down(void **state)
{
    char command[128];

    (void)state;
    http_files_free(&files);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

static struct http_opened *
open_at(const char *name, int64_t now)
{
    struct http_opened *o = NULL;

    assert_int_equal(http_files_open(files, str_from(name), now, &o),
                     HTTP_FILE_OPEN);
    return o;
}

/* Its first byte, as it is served at that time. */
static char
first_byte(const char *name, int64_t now)
{
    struct http_opened *o = open_at(name, now);
    char c = '-';

    if (o->fd == -1) {
        c = o->bytes.ptr[0];
    } else {
        assert_int_equal(pread(o->fd, &c, 1, 0), 1);
    }
    http_opened_drop(o);
    return c;
}

/* Times of change are the kernel's own, so that a file just written is always
 * looked at again; a test cannot wait for it to age. */
static void
test_small_is_kept(void **state)
{
    struct http_opened *o, *again;

    (void)state;
    write_file("a.html", 'a', 500);
    o = open_at("a.html", 0);
    assert_int_equal(o->fd, -1);
    assert_int_equal(o->size, 500);
    assert_int_equal(o->bytes.len, 500);
    assert_int_equal(o->modified, 1000000);
    assert_string_equal(o->type, "text/html; charset=utf-8");
    assert_true(o->tag.ptr[0] == '"' && str_ends(o->tag, STR("\"")));
    assert_non_null(strstr(o->head.ptr, "Content-Length: 500\r\n"));
    assert_non_null(strstr(o->head.ptr, "ETag: \""));
    again = open_at("a.html", 99);
    assert_ptr_equal(o, again);
    assert_int_equal(http_files_count(files), 1);
    http_opened_drop(again);
    http_opened_drop(o);
}

/* tmpfs knows no RWF_NOWAIT, and never has to wait. */
static void
test_small_is_kept_of_memory(void **state)
{
    struct http_opened *o;

    tear_down(state);
    snprintf(folder, sizeof(folder), "/dev/shm/weir-files-XXXXXX");
    assert_non_null(mkdtemp(folder));
    start(&limits);
    write_file("a", 'a', 500);
    o = open_at("a", 0);
    assert_true(o->in_memory);
    assert_int_equal(o->fd, -1);
    http_opened_drop(o);
}

static void
test_large_is_opened_each_time(void **state)
{
    struct http_opened *o;

    (void)state;
    write_file("a", 'a', 1001);
    o = open_at("a", 0);
    assert_int_not_equal(o->fd, -1);
    assert_int_equal(http_files_count(files), 0);
    http_opened_drop(o);
    write_file("a", 'b', 1001);
    assert_int_equal(first_byte("a", 0), 'b');
}

static void
test_stale_only_while_valid(void **state)
{
    char from[512];

    (void)state;
    write_file("a", 'a', 10);
    assert_int_equal(first_byte("a", 1000), 'a');
    write_file("b", 'b', 10);
    snprintf(from, sizeof(from), "%s", path_of("b"));
    assert_int_equal(rename(from, path_of("a")), 0);
    assert_int_equal(first_byte("a", 1099), 'a');
    assert_int_equal(first_byte("a", 1100), 'b');
    unlink(path_of("a"));
    assert_int_equal(first_byte("a", 1199), 'b');
    struct http_opened *o;

    assert_int_equal(http_files_open(files, STR("a"), 1200, &o),
                     HTTP_FILE_NONE);
    assert_int_equal(http_files_count(files), 0);
}

/* What is being sent stays as it was. */
static void
test_held_over_its_end(void **state)
{
    struct http_opened *o;

    (void)state;
    write_file("a", 'a', 10);
    o = open_at("a", 0);
    write_file("a", 'b', 20);
    assert_int_equal(first_byte("a", 100), 'b');
    assert_int_equal(o->bytes.len, 10);
    assert_int_equal(o->bytes.ptr[9], 'a');
    http_files_free(&files);
    assert_int_equal(o->bytes.ptr[9], 'a');
    http_opened_drop(o);
    start(&limits);
}

static void
test_bounds(void **state)
{
    char name[] = "0";

    (void)state;
    for (int i = 0; i < 10; i++) {
        name[0] = (char)('0' + i);
        write_file(name, name[0], 10);
        assert_int_equal(first_byte(name, 0), name[0]);
        assert_int_equal(first_byte("0", 0), '0'); /* in use: stays */
        assert_true(http_files_count(files) <= 4);
    }
    write_file("9", 'x', 10);
    write_file("0", 'x', 10);
    write_file("1", 'x', 10);
    assert_int_equal(first_byte("9", 1), '9');
    assert_int_equal(first_byte("0", 1), '0');
    assert_int_equal(first_byte("1", 1), 'x'); /* had to go */
}

static void
test_memory_is_bounded(void **state)
{
    const struct http_files_limits l = {
        .entries = 1000, .small = 1000, .memory = 20000, .valid_ms = 100
    };
    char name[] = "00";

    (void)state;
    http_files_free(&files);
    start(&l);
    for (int i = 0; i < 50; i++) {
        name[0] = (char)('0' + i / 10);
        name[1] = (char)('0' + i % 10);
        write_file(name, 'a', 1000);
        assert_int_equal(first_byte(name, 0), 'a');
        assert_true(http_files_memory(files) <= 20000);
    }
    assert_true(http_files_count(files) >= 4);
}

static void
test_nothing_is_kept(void **state)
{
    const struct http_files_limits l = { .small = 1000 };

    (void)state;
    http_files_free(&files);
    start(&l);
    write_file("a", 'a', 10);
    assert_int_equal(first_byte("a", 0), 'a');
    write_file("a", 'b', 10);
    assert_int_equal(first_byte("a", 0), 'b');
    assert_int_equal(http_files_count(files), 0);
}

static void
test_what_is_no_file(void **state)
{
    struct http_opened *o;

    (void)state;
    assert_int_equal(mkdir(path_of("d"), 0700), 0);
    assert_int_equal(mkfifo(path_of("p"), 0600), 0);
    assert_int_equal(http_files_open(files, STR("d"), 0, &o),
                     HTTP_FILE_DIRECTORY);
    assert_int_equal(http_files_open(files, STR(""), 0, &o),
                     HTTP_FILE_DIRECTORY);
    assert_int_equal(http_files_open(files, STR("p"), 0, &o), HTTP_FILE_NONE);
    assert_int_equal(http_files_open(files, STR("n"), 0, &o), HTTP_FILE_NONE);
    assert_int_equal(http_files_open(files, STR("../x"), 0, &o),
                     HTTP_FILE_NONE);
}

static void
test_gzip_is_made_once(void **state)
{
    struct http_opened *o;

    (void)state;
    write_file("a", 'a', 1000);
    o = open_at("a", 0);
    struct str gzip = http_files_gzip(o, 6);

    assert_true(gzip.len > 10 && gzip.len < 100);
    assert_ptr_equal(http_files_gzip(o, 6).ptr, gzip.ptr);
    http_opened_drop(o);
    write_file("b", 'b', 3);
    o = open_at("b", 0);
    assert_int_equal(http_files_gzip(o, 6).len, 0); /* it would be longer */
    http_opened_drop(o);
}

/* ---- larger files stay open ---- */

static struct loop *loop;

static int
set_up_open(void **state)
{
    struct http_files_limits l = limits;

    loop = loop_new(NULL);
    if (loop == NULL || set_up(state) != 0) {
        return -1;
    }
    http_files_free(&files);
    l.open = 2;
    l.loop = loop;
    start(&l);
    return 0;
}

static int
tear_down_open(void **state)
{
    int result = tear_down(state);

    loop_free(&loop);
    return result;
}

/* Its descriptor's number, as it is served now. */
static int
descriptor(const char *name)
{
    struct http_opened *o = open_at(name, loop_now(loop));
    int fd = o->fd;

    http_opened_drop(o);
    return fd;
}

/* It is not opened again, and not for ever open. */
static void
test_large_stays_open(void **state)
{
    struct http_opened *o, *again;

    (void)state;
    write_file("a", 'a', 1001);
    o = open_at("a", loop_now(loop));
    again = open_at("a", loop_now(loop));
    assert_ptr_equal(o, again);
    assert_int_equal(http_files_open_count(files), 1);
    assert_int_equal(http_files_count(files), 0);
    http_opened_drop(again);
    while (http_files_open_count(files) > 0) {
        loop_turn(loop, -1);
    }
    assert_int_not_equal(fcntl(o->fd, F_GETFD), -1); /* it is being sent */
    int fd = o->fd;

    http_opened_drop(o);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void
replace(void)
{
    char from[512];

    write_file("next", 'b', 1001);
    snprintf(from, sizeof(from), "%s", path_of("next"));
    assert_int_equal(rename(from, path_of("a")), 0);
}

static void
rewrite(void)
{
    write_file("a", 'b', 1001);
}

static void
extend(void)
{
    write_file("a", 'b', 1002);
}

static void
link_elsewhere(void)
{
    write_file("next", 'b', 1001);
    assert_int_equal(unlink(path_of("a")), 0);
    assert_int_equal(symlink("next", path_of("a")), 0);
}

/* Whatever becomes of it, the next request has what lies there. */
static void
test_open_is_looked_at(void **state)
{
    void (*const changes[])(void) = { replace, rewrite, extend,
                                      link_elsewhere };
    struct http_opened *o;

    (void)state;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        write_file("a", 'a', 1001);
        assert_int_equal(first_byte("a", loop_now(loop)), 'a');
        changes[i]();
        assert_int_equal(first_byte("a", loop_now(loop)), 'b');
        assert_int_equal(unlink(path_of("a")), 0);
        assert_int_equal(http_files_open(files, STR("a"), loop_now(loop), &o),
                         HTTP_FILE_NONE);
        assert_int_equal(http_files_open_count(files), 0);
    }
}

static void
test_open_ones_are_bounded(void **state)
{
    char name[] = "0";

    (void)state;
    for (int i = 0; i < 5; i++) {
        name[0] = (char)('0' + i);
        write_file(name, name[0], 1001);
        assert_int_equal(first_byte(name, loop_now(loop)), name[0]);
        assert_true(http_files_open_count(files) <= 2);
    }
    assert_int_equal(http_files_open_count(files), 2);
}

/* However many tables there are. */
static void
test_open_ones_of_all_are_bounded(void **state)
{
    struct http_files_limits l = limits;
    struct http_files *first = files;
    char name[16];

    (void)state;
    l.open = 1000;
    l.loop = loop;
    start(&l);
    for (int i = 0; i < HTTP_FILES_OPEN + 10; i++) {
        snprintf(name, sizeof(name), "%d", i);
        write_file(name, 'a', 1001);
        assert_int_equal(first_byte(name, loop_now(loop)), 'a');
    }
    assert_int_equal(http_files_open_count(files), HTTP_FILES_OPEN);
    http_files_free(&files);
    files = first;
    assert_int_equal(first_byte("0", loop_now(loop)), 'a');
    assert_int_equal(http_files_open_count(files), 1);
}

/* The last descriptors are not theirs. */
static void
test_open_ones_give_way(void **state)
{
    struct rlimit before, few;
    int fd;

    (void)state;
    write_file("a", 'a', 1001);
    write_file("b", 'b', 1001);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    fd = descriptor("a");
    few.rlim_cur = (rlim_t)fd + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_int_equal(dup(0), -1);
    assert_int_equal(first_byte("b", loop_now(loop)), 'b');
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_small_is_kept),
        TEST(test_small_is_kept_of_memory),
        TEST(test_large_is_opened_each_time),
        TEST(test_stale_only_while_valid),
        TEST(test_held_over_its_end),
        TEST(test_bounds),
        TEST(test_memory_is_bounded),
        TEST(test_nothing_is_kept),
        TEST(test_what_is_no_file),
        TEST(test_gzip_is_made_once),
#undef TEST
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up_open, tear_down_open)
        TEST(test_large_stays_open),
        TEST(test_open_is_looked_at),
        TEST(test_open_ones_are_bounded),
        TEST(test_open_ones_of_all_are_bounded),
        TEST(test_open_ones_give_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

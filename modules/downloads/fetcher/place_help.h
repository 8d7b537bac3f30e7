/*
 * For the tests of the directory: one below /tmp, its files, and work that is
 * waited for.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_PLACE_HELP_H
#define MODULES_DOWNLOADS_FETCHER_PLACE_HELP_H

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "event/task.h"
#include "fetcher/place.h"

#define PATIENCE_MS 120000

static struct loop *l;
static struct task_threads *threads;
static struct place *p;
static char top[64], directory[96];

/* ---- files ---- */

static inline const char *
at(const char *name)
{
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof(paths[0]), "%s/%s", top, name);
    return path;
}

static inline void
write_at(int folder, const char *name, const char *text)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    assert_int_not_equal(fd, -1);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static inline bool
is_there(const char *name)
{
    struct stat st;

    return lstat(at(name), &st) == 0;
}

static inline const char *
text_of(const char *name)
{
    static char text[64];
    int fd = open(at(name), O_RDONLY | O_NOFOLLOW);
    ssize_t n = fd == -1 ? -1 : read(fd, text, sizeof(text) - 1);

    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static inline size_t
count_names(const char *name)
{
    DIR *dir = opendir(at(name));
    const struct dirent *e;
    size_t n = 0;

    assert_non_null(dir);
    while ((e = readdir(dir)) != NULL) {
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    }
    closedir(dir);
    return n;
}

/* ---- work ---- */

static struct {
    int calls;
    bool ok;
    char name[1100], msg[512];
    int64_t size;
} told;

static inline void
on_told(void *arg, bool ok, struct str name, const char *msg, int64_t size)
{
    (void)arg;
    told.calls++;
    told.ok = ok;
    str_copy(told.name, sizeof(told.name), name);
    str_copy(told.msg, sizeof(told.msg), str_from(msg));
    told.size = size;
}

/* Turns the loop until so many callbacks have come. */
static inline void
wait_for(int calls)
{
    int64_t end = clock_ms() + PATIENCE_MS;

    while (told.calls < calls && clock_ms() < end) {
        loop_turn(l, 20);
    }
    assert_int_equal(told.calls, calls);
}

static inline struct place_work *
ask_take(int64_t number, const char *file, const char *folder,
         const char *wanted)
{
    const struct place_move move = { number, str_from(file), str_from(folder),
                                     str_from(wanted) };

    return place_take(p, &move, on_told, NULL);
}

static inline void
take(int64_t number, const char *file, const char *folder, const char *wanted)
{
    told.calls = 0;
    ask_take(number, file, folder, wanted);
    wait_for(1);
}

static inline void
drop(int64_t number)
{
    told.calls = 0;
    place_drop(p, number, on_told, NULL);
    wait_for(1);
}

static inline void
remove_result(const char *folder, const char *name)
{
    told.calls = 0;
    place_remove(p, str_from(folder), str_from(name), on_told, NULL);
    wait_for(1);
}

/* The folder of a run with a file in it. */
static inline void
run_with(int64_t number, const char *file, const char *text)
{
    struct errmsg err;
    int folder = place_begin(p, number, &err);

    assert_int_not_equal(folder, -1);
    write_at(folder, file, text);
    close(folder);
}

static inline void
result(int64_t number, const char *folder, const char *wanted)
{
    run_with(number, "media.mp4", "x");
    take(number, "media.mp4", folder, wanted);
}

static inline void
open_place(void)
{
    struct errmsg err = { "" };

    p = place_new(l, threads, str_from(directory), &err);
    if (p == NULL) {
        print_message("%s\n", err.text);
    }
    assert_non_null(p);
}

static inline int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    snprintf(top, sizeof(top), "/tmp/weir-place-XXXXXX");
    assert_non_null(mkdtemp(top));
    snprintf(directory, sizeof(directory), "%s/d", top);
    l = loop_new(&err);
    threads = task_threads_new(l, 2, 16, &err);
    open_place();
    return 0;
}

static inline int
tear_down(void **state)
{
    char command[128];

    (void)state;
    place_free(&p);
    task_threads_free(&threads);
    loop_free(&l);
    snprintf(command, sizeof(command), "rm -rf '%s'", top);
    return system(command);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#endif

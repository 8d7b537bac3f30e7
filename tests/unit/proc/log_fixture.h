/*
 * A folder with log files, and a master whose log thread writes them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LOG_FIXTURE_H
#define LOG_FIXTURE_H

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
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "proc/logring.h"
#include "proc/slot.h"

static char folder[] = "/tmp/weir-logring-XXXXXX";
static char paths[4][64];

static inline int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    if (slots_create(8, &err) == -1 || logring_create(&err) == -1) {
        return -1;
    }
    while (slot_take(SLOT_WORKER, "writer", 0, 0) != -1) {
    }
    for (int i = 0; i < 4; i++) {
        snprintf(paths[i], sizeof(paths[i]), "%s/log%d", folder, i);
    }
    return logring_open(str_from(paths[0]), &err);
}

static inline int
tear_down(void **state)
{
    (void)state;
    log_set_sink(NULL, NULL);
    logring_stop();
    logring_destroy();
    slots_destroy();
    for (int i = 0; i < 4; i++) {
        unlink(paths[i]);
    }
    return 0;
}

static inline void
start(void)
{
    struct errmsg err;

    log_set_sink(logring_sink, NULL);
    assert_int_equal(logring_start(&err), 0);
}

/* The whole file as a string, to be freed. */
static inline char *
content(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY);

    assert_int_not_equal(fd, -1);
    assert_int_equal(fstat(fd, &st), 0);
    char *text = mem_zero((size_t)st.st_size + 1);

    assert_int_equal(read(fd, text, (size_t)st.st_size), st.st_size);
    close(fd);
    return text;
}

static inline void
contains(const char *path, const char *what)
{
    char *text = content(path);

    if (strstr(text, what) == NULL) {
        fail_msg("no \"%s\" in %s:\n%s", what, path, text);
    }
    mem_free(&text);
}

static inline void
is(const char *path, const char *what)
{
    char *text = content(path);

    assert_string_equal(text, what);
    mem_free(&text);
}

/* Until something is in the file; the drain thread needs no stop for that. */
static inline void
wait_for(const char *path)
{
    struct stat st;
    int64_t until = clock_ms() + 100000;

    while (clock_ms() < until) {
        if (stat(path, &st) == 0 && st.st_size > 0) {
            return;
        }
        usleep(1000);
    }
    fail_msg("nothing was written to %s", path);
}

static inline void
write_text(int file, const char *text)
{
    logring_write(file, text, strlen(text));
}

static inline int
make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static inline int
remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#endif

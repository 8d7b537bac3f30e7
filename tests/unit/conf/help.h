/*
 * What the tests of conf/ share: files in a directory of their own, and
 * loading a text as the made-up configuration.  Included after cmocka.h.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TESTS_CONF_HELP_H
#define TESTS_CONF_HELP_H

#include "sample.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

static char help_dir[] = "/tmp/weir-conf-XXXXXX";

/* Group set-up: into a new directory. */
static inline int
help_enter(void **state)
{
    (void)state;
    return mkdtemp(help_dir) == NULL ? -1 : chdir(help_dir);
}

static inline int
help_remove(const char *path, const struct stat *st, int flag, struct FTW *w)
{
    (void)st;
    (void)flag;
    (void)w;
    return remove(path);
}

/* Group tear-down. */
static inline int
help_leave(void **state)
{
    (void)state;
    return chdir("/") == 0 ? nftw(help_dir, help_remove, 8, FTW_DEPTH) : -1;
}

static inline void
help_write(const char *name, struct str text)
{
    FILE *f = fopen(name, "w");

    assert_non_null(f);
    assert_int_equal(fwrite(text.ptr, 1, text.len, f), text.len);
    assert_int_equal(fclose(f), 0);
}

/* Loads text as file "t.conf"; the test fails on a mistake. */
static inline struct conf *
help_load(const char *text)
{
    char *mistakes;
    struct conf *c;

    help_write("t.conf", str_from(text));
    c = conf_load("t.conf", sample_keys, sizeof(struct sample), &mistakes);
    if (c == NULL) {
        fail_msg("refused: %s", mistakes);
    }
    assert_null(mistakes);
    return c;
}

static inline void
help_refused_bytes(struct str text, const char *expected)
{
    char *mistakes;
    struct conf *c;

    help_write("t.conf", text);
    c = conf_load("t.conf", sample_keys, sizeof(struct sample), &mistakes);
    assert_null(c);
    assert_string_equal(mistakes, expected);
    mem_free(&mistakes);
}

/* The text must be refused with exactly these mistakes. */
static inline void
help_refused(const char *text, const char *expected)
{
    help_refused_bytes(str_from(text), expected);
}

#endif

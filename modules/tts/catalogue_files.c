/*
 * The files of a data directory: voices below voices/ and lang/, variants in
 * voices/!v.
 *
 * Folders are walked in the order of their names, so that a catalogue is the
 * same each time.  Links, devices and what lies too deep are left out.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "catalogue_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc/reach.h"
#include "request.h"

#define DEPTH 4                   /* of folders below lang/ or voices/ */
#define NAMES_MAX 2048            /* of a folder; no more are looked at */
#define FILE_SIZE_MAX (16 * 1024) /* of a voice file */

#define FOLDER (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

typedef void add_file(struct catalogue *c, struct str file, struct str text);

/* ---- names of a folder ---- */

struct names {
    struct pool *pool;
    char *items[NAMES_MAX]; /* in the pool */
    size_t count;
};

static int
compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Takes over dir. */
static void
read_names(DIR *dir, struct names *n)
{
    struct dirent *e;

    while (n->count < NAMES_MAX && (e = readdir(dir)) != NULL) {
        if (catalogue_takes_name(str_from(e->d_name))) {
            n->items[n->count++] = pool_cstr(n->pool, str_from(e->d_name));
        }
    }
    closedir(dir);
    qsort(n->items, n->count, sizeof(*n->items), compare_names);
}

/* NULL: it cannot be read. */
static struct names *
names_of(int folder)
{
    int again = openat(folder, ".", FOLDER);
    DIR *dir = again == -1 ? NULL : fdopendir(again);

    if (dir == NULL) {
        if (again != -1) {
            close(again);
        }
        return NULL;
    }
    struct pool *pool = pool_new(sizeof(struct names) + 4096);
    struct names *n = pool_zero(pool, sizeof(*n));

    n->pool = pool;
    read_names(dir, n);
    return n;
}

static void
names_free(struct names *n)
{
    struct pool *pool = n->pool;

    pool_free(&pool);
}

/* ---- files ---- */

/* How much of a file was read; -1: nothing, or it is too long. */
static ssize_t
read_whole(int fd, char *to)
{
    size_t have = 0;

    for (;;) {
        ssize_t n = read(fd, to + have, FILE_SIZE_MAX + 1 - have);

        if (n == -1 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n == -1 ? -1 : (ssize_t)have;
        }
        have += (size_t)n;
        if (have > FILE_SIZE_MAX) {
            return -1;
        }
    }
}

/* A link is not followed, and opening a device does not wait. */
static void
read_file(struct catalogue *c, int folder, const char *name, struct str file,
          add_file *add)
{
    char text[FILE_SIZE_MAX + 1];
    int fd =
        openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd == -1 ? -1 : read_whole(fd, text);

    if (fd != -1) {
        close(fd);
    }
    if (n != -1) {
        add(c, file, str_of(text, (size_t)n));
    }
}

/* Those of espeak-ng that are no voices: of MBROLA, and the variants. */
static bool
is_apart(const char *name)
{
    return strcmp(name, "mb") == 0 || strcmp(name, "!v") == 0;
}

/* A folder of voices; `above` is its path below lang/ or voices/, with a '/'
 * at its end. */
static void
walk(struct catalogue *c, int folder, struct str above, int depth)
{
    struct names *names = names_of(folder);
    char path[SPEECH_FILE_MAX + 2];

    for (size_t i = 0; names != NULL && i < names->count; i++) {
        const char *name = names->items[i];
        struct stat st;
        int n = snprintf(path, sizeof(path), "%.*s%s", STR_ARGS(above), name);

        if (n > SPEECH_FILE_MAX || (depth == 0 && is_apart(name)) ||
            fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == -1) {
            continue;
        }
        if (S_ISREG(st.st_mode)) {
            read_file(c, folder, name, str_from(path), catalogue_add_voice);
        } else if (S_ISDIR(st.st_mode) && depth < DEPTH) {
            int below = openat(folder, name, FOLDER | O_NOFOLLOW);

            path[n] = '/';
            if (below != -1) {
                walk(c, below, str_of(path, (size_t)n + 1), depth + 1);
                close(below);
            }
        }
    }
    if (names != NULL) {
        names_free(names);
    }
}

static void
walk_variants(struct catalogue *c, int folder)
{
    struct names *names = names_of(folder);

    for (size_t i = 0; names != NULL && i < names->count; i++) {
        const char *name = names->items[i];
        struct stat st;

        if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode)) {
            read_file(c, folder, name, str_from(name), catalogue_add_variant);
        }
    }
    if (names != NULL) {
        names_free(names);
    }
}

/* ---- directories ---- */

static bool
has(int folder, const char *name)
{
    return faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The directory in which phontab, lang/ or voices/ lie; -1 with err. */
static int
open_data(struct str path, struct errmsg *err)
{
    char name[4096];
    int at, inner;

    if (str_copy(name, sizeof(name), path) < path.len) {
        return errmsg_set(err, "the path of a directory of voices is too long");
    }
    at = reach_open(name, FOLDER);
    if (at == -1) {
        return errmsg_sys(err, "cannot open the directory of voices \"%s\"",
                          name);
    }
    inner = openat(at, "espeak-ng-data", FOLDER);
    if (inner != -1) {
        close(at);
        at = inner;
    }
    if (!has(at, "phontab") && !has(at, "lang") && !has(at, "voices")) {
        close(at);
        return errmsg_set(err,
                          "no voices in \"%s\": it has none of "
                          "espeak-ng-data/, phontab, lang/, voices/",
                          name);
    }
    return at;
}

int
catalogue_check_directory(struct str path, struct errmsg *err)
{
    int at = open_data(path, err);

    if (at == -1) {
        return -1;
    }
    close(at);
    return 0;
}

/* Folder after folder: of a path with several, the last alone would be no
 * link. */
static void
each_file_below(struct catalogue *c, int at, const char *name, bool variants)
{
    int folder = openat(at, name, FOLDER | O_NOFOLLOW), below = -1;

    if (folder == -1) {
        return;
    }
    walk(c, folder, STR_NONE, 0);
    if (variants) {
        below = openat(folder, "!v", FOLDER | O_NOFOLLOW);
    }
    if (below != -1) {
        walk_variants(c, below);
        close(below);
    }
    close(folder);
}

int
catalogue_add_directory(struct catalogue *c, struct str path,
                        struct errmsg *err)
{
    int at = open_data(path, err);

    if (at == -1) {
        return -1;
    }
    c->has_phontab |= has(at, "phontab");
    each_file_below(c, at, "voices", true);
    each_file_below(c, at, "lang", false);
    close(at);
    return 0;
}

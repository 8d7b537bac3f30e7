/*
 * The library calls fopen(), stat(), opendir(), readdir() and closedir(), and
 * finds those of the program before those of the C library, as all libraries of
 * this process do.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "data_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

#define LISTS 16   /* directories that are read at once: the depth of a tree */
#define NAMES 4096 /* in a directory, of all data directories together */
#define NESTED "espeak-ng-data"
#define TO_WALK (O_PATH | O_DIRECTORY | O_CLOEXEC)

static struct {
    int fds[DATA_DIRS]; /* in the order in which they win */
    size_t count;
} dirs;

/* ---- below the data directories ---- */

/* The path below a data directory; ".": itself.  STR_NONE: it is none of
 * theirs. */
static const char *
path_below(const char *path)
{
    static const char root[] = DATA_ROOT;

    if (strncmp(path, root, sizeof(root) - 1) != 0) {
        return NULL;
    }
    path += sizeof(root) - 1;
    if (*path != '/' && *path != '\0') {
        return NULL;
    }
    while (*path == '/') {
        path++;
    }
    return *path == '\0' ? "." : path;
}

static int
step(int at, struct str segment, int flags)
{
    char name[NAME_MAX + 1];
    struct stat st;
    int fd;

    if (segment.len >= sizeof(name) || str_eq(segment, STR(".."))) {
        return -1;
    }
    str_copy(name, sizeof(name), segment.len > 0 ? segment : STR("."));
    fd = openat(at, name, flags | O_NOFOLLOW);
    if (fd != -1 && (fstat(fd, &st) == -1 || S_ISLNK(st.st_mode))) {
        close(fd); /* with O_PATH it is the link */
        fd = -1;
    }
    return fd;
}

/* Where the kernel has no openat2(), or the sandbox cannot look at its flags:
 * segment by segment, and no link is followed. */
static int
open_stepwise(int dir, const char *path, uint64_t flags)
{
    struct str rest = str_from(path);
    int at = dir;

    while (at != -1 && rest.len > 0) {
        struct str segment = str_cut(&rest, '/');
        int next = step(at, segment, rest.len > 0 ? TO_WALK : (int)flags);

        if (at != dir) {
            close(at);
        }
        at = next;
    }
    return at;
}

static int
open_below(int dir, const char *path, int flags)
{
    struct open_how how = {
        .flags = (uint64_t)(flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };

    int fd;

    if ((flags & O_PATH) != 0) {
        how.flags = (uint64_t)(flags | O_CLOEXEC);
    }
    fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
    return fd == -1 && errno == ENOSYS ? open_stepwise(dir, path, how.flags)
                                       : fd;
}

/* In the first directory that has it; with from, the search goes on at *from
 * and leaves the next place there. */
static int
open_next(const char *path, int flags, size_t *from)
{
    while (*from < dirs.count) {
        int fd = open_below(dirs.fds[(*from)++], path, flags);

        if (fd != -1) {
            return fd;
        }
    }
    errno = ENOENT;
    return -1;
}

static int
open_first(const char *path, int flags)
{
    size_t from = 0;

    return open_next(path, flags, &from);
}

/* At its number; takes fd. */
static int
keep(int fd, struct errmsg *err)
{
    int to = DATA_FIRST + (int)dirs.count;

    if (dup3(fd, to, O_CLOEXEC) == -1) {
        return errmsg_sys(err, "cannot keep a directory open");
    }
    close(fd);
    dirs.fds[dirs.count++] = to;
    return 0;
}

int
data_files_open(const char *const *directories, size_t count,
                struct errmsg *err)
{
    for (size_t i = 0; i < count; i++) {
        int outer = open(directories[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
        int inner;

        if (outer == -1) {
            return errmsg_sys(err, "cannot open %s", directories[i]);
        }
        inner = openat(outer, NESTED, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (inner != -1) {
            close(outer);
        }
        if (keep(inner != -1 ? inner : outer, err) == -1) {
            return -1;
        }
    }
    return 0;
}

/* ---- files ---- */

static FILE *
open_data(const char *path, const char *mode)
{
    struct stat st;
    FILE *f = NULL;
    int fd;

    if (mode[0] != 'r' || strchr(mode, '+') != NULL) {
        errno = EROFS;
        return NULL;
    }
    fd = open_first(path, O_RDONLY);
    if (fd == -1) {
        return NULL;
    }
    errno = EACCES;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        f = fdopen(fd, "r");
    }
    if (f == NULL) {
        close(fd);
    }
    return f;
}

/* A voice that lies in memory: "/proc/self/fd/N". */
static FILE *
open_memory(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    FILE *f = fd == -1 ? NULL : fdopen(fd, "r");

    if (f == NULL && fd != -1) {
        close(fd);
    }
    return f;
}

static bool
is_memory(const char *path)
{
    static const char prefix[] = "/proc/self/fd/";
    size_t n = sizeof(prefix) - 1;

    return strncmp(path, prefix, n) == 0 && path[n] != '\0' &&
           strspn(path + n, "0123456789") == strlen(path + n);
}

FILE *
fopen(const char *restrict path, const char *restrict mode)
{
    const char *below = path_below(path);

    if (below != NULL) {
        return open_data(below, mode);
    }
    if (is_memory(path) && strcmp(mode, "r") == 0) {
        return open_memory(path);
    }
    errno = EACCES;
    return NULL;
}

FILE *
fopen64(const char *restrict path, const char *restrict mode)
{
    return fopen(path, mode);
}

static int
stat_memory(const char *path, struct stat *st)
{
    return fstatat(AT_FDCWD, path, st, 0);
}

int
stat(const char *restrict path, struct stat *restrict st)
{
    const char *below = path_below(path);
    int fd, rc;

    if (is_memory(path)) {
        return stat_memory(path, st);
    }
    fd = below != NULL ? open_first(below, O_PATH) : -1;
    if (fd == -1) {
        errno = ENOENT;
        return -1;
    }
    rc = fstat(fd, st);
    close(fd);
    return rc;
}

/* ---- directories ---- */

/* A directory that is read; the library gets its address as a DIR. */
struct list {
    bool open;
    char **names; /* owned, all of them */
    size_t count, next;
    struct dirent entry;
};

static struct list lists[LISTS];

static struct list *
find_list(const DIR *dir)
{
    for (size_t i = 0; i < LISTS; i++) {
        if ((const void *)dir == (const void *)&lists[i]) {
            return &lists[i];
        }
    }
    return NULL;
}

static bool
has_name(const struct list *l, const char *name)
{
    for (size_t i = 0; i < l->count; i++) {
        if (strcmp(l->names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void
add_name(struct list *l, const char *name)
{
    if (l->count < NAMES && !has_name(l, name)) {
        l->names = mem_resize(l->names, (l->count + 1) * sizeof(l->names[0]));
        l->names[l->count++] = mem_dup(name, strlen(name));
    }
}

/* Those of one directory that no earlier one has.  The C library's ways of
 * reading one are this file's. */
static void
add_names(struct list *l, int fd)
{
    _Alignas(struct dirent64) char bytes[8192];
    ssize_t n;

    while ((n = getdents64(fd, bytes, sizeof(bytes))) > 0) {
        const struct dirent64 *e;

        for (ssize_t at = 0; at < n; at += e->d_reclen) {
            e = (const void *)(bytes + at);
            add_name(l, e->d_name);
        }
    }
}

static struct list *
free_list(void)
{
    for (size_t i = 0; i < LISTS; i++) {
        if (!lists[i].open) {
            return &lists[i];
        }
    }
    return NULL;
}

static void
clear_list(struct list *l)
{
    for (size_t i = 0; i < l->count; i++) {
        mem_free(&l->names[i]);
    }
    mem_free(&l->names);
    *l = (struct list){ .open = false };
}

DIR *
opendir(const char *path)
{
    const char *below = path_below(path);
    struct list *l = free_list();
    size_t from = 0;
    int fd;

    errno = below == NULL ? EACCES : EMFILE;
    if (below == NULL || l == NULL) {
        return NULL;
    }
    while ((fd = open_next(below, O_RDONLY | O_DIRECTORY, &from)) != -1) {
        l->open = true;
        add_names(l, fd);
        close(fd);
    }
    errno = ENOENT;
    return l->open ? (DIR *)l : NULL;
}

struct dirent *
readdir(DIR *dir)
{
    struct list *l = find_list(dir);

    if (l == NULL || l->next == l->count) {
        return NULL;
    }
    str_copy(l->entry.d_name, sizeof(l->entry.d_name),
             str_from(l->names[l->next++]));
    return &l->entry;
}

int
closedir(DIR *dir)
{
    struct list *l = find_list(dir);

    if (l == NULL) {
        errno = EBADF;
        return -1;
    }
    clear_list(l);
    return 0;
}

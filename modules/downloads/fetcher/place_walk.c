/*
 * Folders beneath the directory, a part of the path at a time: none is a link,
 * and none is a mount of another file system.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/place_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/utf8.h"

#define FOLDER (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
/* EAGAIN: something was renamed while the kernel looked. */
#define TRIES 4
#define SHOWN 200 /* bytes of a path in a message */
#define SHOW(s) STR_ARGS(str_first(s, SHOWN))

/* ---- one part ---- */

static void
close_keeping_errno(int fd)
{
    int why = errno;

    close(fd);
    errno = why;
}

/* On a kernel before Linux 5.6. */
static int
old_step(int at, const char *name)
{
    struct stat here, there;
    int fd = openat(at, name, FOLDER | O_NOFOLLOW);

    if (fd != -1 && (fstat(at, &here) == -1 || fstat(fd, &there) == -1 ||
                     here.st_dev != there.st_dev)) {
        close(fd);
        errno = EXDEV;
        return -1;
    }
    return fd;
}

int
place_step(int at, const char *name)
{
    struct open_how how = {
        .flags = FOLDER,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
    };

    for (int i = 0; i < TRIES; i++) {
        long fd = syscall(SYS_openat2, at, name, &how, sizeof(how));

        if (fd != -1 || (errno != EAGAIN && errno != ENOSYS)) {
            return (int)fd;
        }
        if (errno == ENOSYS) {
            return old_step(at, name);
        }
    }
    return -1;
}

/* ---- the form of a path ---- */

static bool
has_control(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if ((unsigned char)s.ptr[i] < ' ' || s.ptr[i] == 0x7f) {
            return true;
        }
    }
    return false;
}

static int
check_parts(struct str path, struct errmsg *err)
{
    struct str rest = path;

    while (rest.len > 0) {
        struct str part = str_cut(&rest, '/');

        if (str_starts(part, STR("."))) {
            return errmsg_set(err,
                              "folder \"%.*s\" has a part that begins with '.'",
                              SHOW(path));
        }
        if (part.len > NAME_MAX) {
            return errmsg_set(
                err, "folder \"%.*s\" has a part of more than %d bytes",
                SHOW(path), NAME_MAX);
        }
    }
    return 0;
}

int
place_check_path(struct str path, struct errmsg *err)
{
    if (path.len > PLACE_PATH_MAX) {
        return errmsg_set(err, "a folder has at most %d bytes", PLACE_PATH_MAX);
    }
    if (str_starts(path, STR("/"))) {
        return errmsg_set(err,
                          "folder \"%.*s\" begins with '/': it is one below "
                          "the directory of downloads",
                          SHOW(path));
    }
    if (has_control(path) || !utf8_valid(path)) {
        return errmsg_set(err, "a folder has control characters, or is not "
                               "UTF-8");
    }
    return check_parts(path, err);
}

/* ---- a path ---- */

static void
explain(struct str path, struct errmsg *err)
{
    int why = errno;

    switch (errno) {
    case ENOENT:
        errmsg_set(err, "folder \"%.*s\" is not there", SHOW(path));
        break;
    case ELOOP:
        errmsg_set(err, "folder \"%.*s\" is behind a symbolic link",
                   SHOW(path));
        break;
    case ENOTDIR:
        errmsg_set(err, "folder \"%.*s\" is not a folder", SHOW(path));
        break;
    case EXDEV:
        errmsg_set(err,
                   "folder \"%.*s\" is on another file system than the "
                   "directory of downloads",
                   SHOW(path));
        break;
    default:
        errmsg_sys(err, "folder \"%.*s\"", SHOW(path));
        break;
    }
    errno = why;
}

/* Into the folder `part` of at, which is closed but for the root. */
static int
enter(int root, int at, struct str part, bool make)
{
    char name[NAME_MAX + 1];
    int fd = -1;

    str_copy(name, sizeof(name), part);
    if (!make || mkdirat(at, name, 0755) == 0 || errno == EEXIST) {
        fd = place_step(at, name);
    }
    if (at != root) {
        close_keeping_errno(at);
    }
    return fd;
}

int
place_open_folder(int root, struct str path, bool make, struct errmsg *err)
{
    struct str rest = path;
    int at = root;

    if (place_check_path(path, err) == -1) {
        errno = EINVAL;
        return -1;
    }
    while (at != -1 && rest.len > 0) {
        struct str part = str_cut(&rest, '/');

        if (part.len > 0) {
            at = enter(root, at, part, make);
        }
    }
    if (at == root) {
        at = openat(root, ".", FOLDER);
    }
    if (at == -1) {
        explain(path, err);
    }
    return at;
}

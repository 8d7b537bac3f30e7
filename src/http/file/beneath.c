/*
 * openat2(RESOLVE_BENEATH), and what stands in for it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/file/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"

/* Not to wait for the other end of a FIFO, nor to get a terminal. */
#define FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
/* EAGAIN: something was renamed while the kernel looked. */
#define TRIES 4

/* The directory called segment in the directory at; takes at, unless it is
 * the root. */
static int
step(int root, int at, struct str segment, int flags)
{
    char name[NAME_MAX + 1];
    int fd = -1;

    if (segment.len >= sizeof(name)) {
        errno = ENAMETOOLONG;
    } else if (str_eq(segment, STR(".."))) {
        errno = EXDEV;
    } else {
        str_copy(name, sizeof(name), segment);
        fd = openat(at, name, flags | O_NOFOLLOW | O_CLOEXEC);
    }
    if (at != root) {
        int why = errno;

        close(at);
        errno = why;
    }
    return fd;
}

int
http_open_stepwise(int root, const char *path)
{
    struct str rest = str_from(path);
    int at = root;

    while (at != -1 && rest.len > 0) {
        bool last = str_find(rest, '/', 0) == rest.len;
        struct str segment = str_cut(&rest, '/');

        if (segment.len == 0 || str_eq(segment, STR("."))) {
            continue;
        }
        at = step(root, at, segment, last ? FLAGS : O_PATH | O_DIRECTORY);
    }
    if (at == root || (at != -1 && str_ends(str_from(path), STR("/")))) {
        /* A directory it is, opened only to be walked on. */
        int fd = openat(at, ".", FLAGS | O_DIRECTORY);

        if (at != root) {
            close(at);
        }
        return fd;
    }
    return at;
}

int
http_open_beneath(int root, const char *path)
{
    static bool missing; /* an old kernel stays one */
    struct open_how how = {
        .flags = FLAGS,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };

    for (int i = 0; i < TRIES && !missing; i++) {
        long fd = syscall(SYS_openat2, root, *path != '\0' ? path : ".", &how,
                          sizeof(how));

        if (fd != -1 || (errno != EAGAIN && errno != ENOSYS)) {
            return (int)fd;
        }
        missing = errno == ENOSYS;
    }
    return missing ? http_open_stepwise(root, path) : -1;
}

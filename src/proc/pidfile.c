/*
 * The pid file.
 *
 * The lock is fcntl's, which belongs to the process: children do not inherit
 * it, so it is gone with the master, however that died, and F_GETLK names the
 * holder.  It is lost when the process closes any descriptor of the file.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/life.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define TRIES 10 /* another weir may remove the file between open and lock */

static struct {
    char *path; /* owned; NULL: none */
    int fd;
    pid_t owner;
} held = { .fd = -1 };

static struct flock
whole_file(void)
{
    return (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET };
}

/* The process that holds the lock, 0 if none does, -1 with errno. */
static pid_t
holder(int fd)
{
    struct flock lock = whole_file();

    if (fcntl(fd, F_GETLK, &lock) == -1) {
        return -1;
    }
    return lock.l_type == F_UNLCK ? 0 : lock.l_pid;
}

/* Whether path still names the file that fd has open. */
static bool
is_same(int fd, const char *path)
{
    struct stat a, b;

    return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* An open, locked file; -1 with err. */
static int
open_locked(const char *path, struct errmsg *err)
{
    for (int i = 0; i < TRIES; i++) {
        struct flock lock = whole_file();
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0644);

        if (fd == -1) {
            return errmsg_sys(err, "cannot open pid file %s", path);
        }
        if (fcntl(fd, F_SETLK, &lock) == -1) {
            pid_t pid = holder(fd);

            errmsg_set(err, "weir is running as pid %d (%s)", (int)pid, path);
            close(fd);
            return -1;
        }
        if (is_same(fd, path)) {
            return fd;
        }
        close(fd);
    }
    return errmsg_set(err, "cannot lock pid file %s", path);
}

static int
write_pid(int fd)
{
    char text[32];
    int n = snprintf(text, sizeof(text), "%d\n", (int)getpid());

    if (ftruncate(fd, 0) == -1) {
        return -1;
    }
    return pwrite(fd, text, (size_t)n, 0) == n ? 0 : -1;
}

int
pidfile_create(const char *path, struct errmsg *err)
{
    int fd;

    if (held.path != NULL && held.owner == getpid()) {
        return errmsg_set(err, "pid file %s is held already", held.path);
    }
    fd = open_locked(path, err);
    if (fd == -1) {
        return -1;
    }
    if (write_pid(fd) == -1) {
        errmsg_sys(err, "cannot write pid file %s", path);
        unlink(path);
        close(fd);
        return -1;
    }
    held.path = mem_dup(path, strlen(path));
    held.fd = fd;
    held.owner = getpid();
    return 0;
}

void
pidfile_remove(void)
{
    if (held.path == NULL || held.owner != getpid()) {
        return;
    }
    if (is_same(held.fd, held.path)) {
        unlink(held.path);
    }
    close(held.fd);
    held.fd = -1;
    mem_free(&held.path);
}

pid_t
pidfile_read(const char *path, struct errmsg *err)
{
    if (held.path != NULL && held.owner == getpid() && is_same(held.fd, path)) {
        return getpid(); /* to open and close it would lose the lock */
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    if (fd == -1) {
        return errmsg_sys(err, "cannot read pid file %s", path);
    }
    pid_t pid = holder(fd);

    close(fd);
    if (pid == -1) {
        return errmsg_sys(err, "cannot read the lock of pid file %s", path);
    }
    if (pid == 0) {
        return errmsg_set(err, "no weir is running: pid file %s is stale",
                          path);
    }
    return pid;
}

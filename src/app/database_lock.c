/*
 * Taking the lock, and saying which weir has it if it is taken.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/database_lock.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/node_name.h"

static struct {
    int fd;
    pid_t owner;
    bool taken; /* another weir has it */
} held = { .fd = -1 };

/* Two names of one database have one lock; it belongs to whom the database
 * belongs to. */
static int
open_file(const struct settings *s, struct errmsg *err)
{
    char real[PATH_MAX], path[PATH_MAX + 8];
    struct stat st;
    int fd;

    if (realpath(s->store.path.ptr, real) == NULL || stat(real, &st) == -1) {
        return errmsg_sys(err, "cannot find %.*s", STR_ARGS(s->store.path));
    }
    snprintf(path, sizeof(path), "%s-lock", real);
    fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd == -1) {
        return errmsg_sys(err, "cannot open %s", path);
    }
    if (geteuid() == 0 && fchown(fd, st.st_uid, (gid_t)-1) == -1) {
        close(fd);
        return errmsg_sys(err, "cannot give %s to its user", path);
    }
    return fd;
}

/* The holder has written its node's name there. */
static void
tell_holder(int fd, const struct settings *s, struct errmsg *err)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    char node[LEASE_NODE_MAX + 1];
    ssize_t n = pread(fd, node, LEASE_NODE_MAX, 0);

    node[n > 0 ? n : 0] = '\0';
    if (fcntl(fd, F_GETLK, &lock) == -1 || lock.l_type == F_UNLCK) {
        lock.l_pid = 0;
    }
    errmsg_set(err,
               "%.*s is used by another weir, %s (process %d): an SQLite "
               "database is one weir's",
               STR_ARGS(s->store.path), node, (int)lock.l_pid);
}

static int
write_node(int fd, const struct settings *s, struct errmsg *err)
{
    char node[LEASE_NODE_MAX + 1];
    struct str name = node_name(s, node);

    if (ftruncate(fd, 0) == -1 ||
        pwrite(fd, name.ptr, name.len, 0) != (ssize_t)name.len) {
        return errmsg_sys(err, "cannot write the lock of %.*s",
                          STR_ARGS(s->store.path));
    }
    return 0;
}

int
database_lock(const struct settings *s, struct errmsg *err)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    int fd;

    if (held.fd != -1) {
        return 0;
    }
    fd = open_file(s, err);
    if (fd == -1) {
        return -1;
    }
    if (fcntl(fd, F_SETLK, &lock) == -1) {
        held.taken = true;
        tell_holder(fd, s, err);
        close(fd);
        return -1;
    }
    if (write_node(fd, s, err) == -1) {
        close(fd);
        return -1;
    }
    held.fd = fd;
    held.owner = getpid();
    return 0;
}

bool
database_lock_is_taken(void)
{
    return held.taken;
}

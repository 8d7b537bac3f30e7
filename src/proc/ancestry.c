/*
 * From a process up through its parents, by /proc/PID/stat.
 *
 * Numbers of processes are used again.  So the kernel is asked for a handle of
 * the peer, which must still be that process's when all was read; and of each
 * step upwards the child is read again after its parent: while it still has
 * that parent, that parent is what was read.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/ancestry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

#define STEPS 64 /* ancestors that are looked at */
#define TRIES 8  /* when one of them ends meanwhile */
#define KERNEL_THREAD 0x00200000UL
#define BAD (-1)     /* with err */
#define CHANGED (-2) /* while it was looked at */

struct relative {
    pid_t pid, parent;
    unsigned long flags;
    unsigned long long started; /* ticks since the system's start */
};

int
ancestry_adopt(struct errmsg *err)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == -1
               ? errmsg_sys(err, "cannot become the parent of orphans")
               : 0;
}

/* ---- one process ---- */

/* The name, which may hold anything, ends with the last parenthesis. */
static bool
parse(const char *text, struct relative *r)
{
    const char *rest = strrchr(text, ')');
    int parent;

    if (rest == NULL ||
        sscanf(rest + 1,
               " %*c %d %*d %*d %*d %*d %lu %*u %*u %*u %*u %*u %*u %*d %*d "
               "%*d %*d %*d %*d %llu",
               &parent, &r->flags, &r->started) != 3) {
        return false;
    }
    r->parent = parent;
    return true;
}

static int
read_stat(pid_t pid, struct relative *r, struct errmsg *err)
{
    char path[32], text[1024];
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd == -1) {
        return errmsg_sys(err, "cannot open %s", path);
    }
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    r->pid = pid;
    return n > 0 && parse(text, r) ? 0
                                   : errmsg_set(err, "cannot read %s", path);
}

/* ---- upwards ---- */

/* From *r to its parent. */
static int
climb(struct relative *r, struct errmsg *err)
{
    struct relative parent, again;

    if (read_stat(r->parent, &parent, err) == -1) {
        return CHANGED;
    }
    if (read_stat(r->pid, &again, err) == -1) {
        return BAD;
    }
    if (again.parent != parent.pid || again.started != r->started ||
        parent.started > r->started) {
        errmsg_set(err, "the parent of process %d changed", (int)r->pid);
        return CHANGED;
    }
    *r = parent;
    return 0;
}

/* An enum ancestry, BAD or CHANGED. */
static int
walk(pid_t pid, struct errmsg *err)
{
    const pid_t self = getpid();
    struct relative r;

    if (read_stat(pid, &r, err) == -1) {
        return BAD;
    }
    if ((r.flags & KERNEL_THREAD) != 0) { /* works for anybody */
        return errmsg_set(err, "process %d is the kernel's", (int)pid);
    }
    for (int i = 0; i < STEPS; i++) {
        int rc;

        if (r.parent == self) {
            return ANCESTRY_DESCENDANT;
        }
        if (r.parent <= 1) { /* init; 0: outside of our namespace */
            return ANCESTRY_STRANGER;
        }
        rc = climb(&r, err);
        if (rc != 0) {
            return rc;
        }
    }
    return errmsg_set(err, "process %d has more than %d ancestors", (int)pid,
                      STEPS);
}

static int
walk_steadily(pid_t pid, struct errmsg *err)
{
    int rc = CHANGED;

    for (int i = 0; i < TRIES && rc == CHANGED; i++) {
        rc = walk(pid, err);
    }
    return rc;
}

/* ---- the peer ---- */

/* A handle; -1: the kernel makes none, or with *gone that the peer has
 * ended. */
static int
handle_of(int socket, bool *gone)
{
    int fd = -1;
    socklen_t size = sizeof(fd);

    *gone = false;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) == -1) {
        *gone = errno != ENOPROTOOPT;
        return -1;
    }
    return fd;
}

/* A zombie is not: its number is not used again before it is reaped. */
static bool
has_ended(int handle)
{
    return syscall(SYS_pidfd_send_signal, handle, 0, NULL, 0) == -1 &&
           errno == ESRCH;
}

enum ancestry
ancestry_of_peer(int socket, pid_t pid, struct errmsg *err)
{
    bool gone;
    int handle, rc;

    if (pid == 0 || pid == getpid()) {
        return ANCESTRY_STRANGER;
    }
    handle = handle_of(socket, &gone);
    rc = gone ? BAD : walk_steadily(pid, err);
    if (handle != -1) {
        gone = has_ended(handle);
        close(handle);
    }
    if (gone) {
        rc = errmsg_set(err, "process %d has ended", (int)pid);
    }
    return rc < 0 ? ANCESTRY_UNKNOWN : (enum ancestry)rc;
}

/*
 * The start of a daemon, seen from the terminal.
 *
 * The waiting process reads one message from a pipe: the status, then text to
 * its end.  An empty message means that the daemon died before it was ready.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/master/daemonize.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "proc/life.h"

#define STATUS_DIED 2

static int told = -1; /* write end of the pipe; -1: nobody waits */

/* Reads until the end; bytes. */
static size_t
read_all(int fd, char *dst, size_t size)
{
    size_t n = 0;

    while (n < size) {
        ssize_t got = read(fd, dst + n, size - n);

        if (got > 0) {
            n += (size_t)got;
        } else if (got == 0 || errno != EINTR) {
            break;
        }
    }
    return n;
}

static void __attribute__((noreturn)) wait_for_daemon(int fd)
{
    char message[1024];
    size_t n = read_all(fd, message, sizeof(message));

    if (n == 0) {
        fputs("weir: ended while it was starting\n", stderr);
        _exit(STATUS_DIED);
    }
    if (n > 1) {
        fprintf(stderr, "weir: %.*s\n", (int)n - 1, message + 1);
    }
    fflush(stderr);
    _exit(message[0]);
}

static int
become_daemon(struct errmsg *err)
{
    char here[PATH_MAX];

    if (getcwd(here, sizeof(here)) == NULL) {
        return errmsg_sys(err, "cannot tell the current directory");
    }
    if (daemonise(err) == -1) {
        return -1;
    }
    /* Relative paths go on standing where they stood. */
    return chdir(here) == -1 ? errmsg_sys(err, "cannot go back to %s", here)
                             : 0;
}

int
daemonize(struct errmsg *err)
{
    int ends[2];
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) == -1) {
        return errmsg_sys(err, "cannot make a pipe");
    }
    fflush(NULL);
    pid = fork();
    if (pid > 0) {
        close(ends[1]);
        wait_for_daemon(ends[0]);
    }
    close(ends[0]);
    if (pid == -1) {
        close(ends[1]);
        return errmsg_sys(err, "cannot become a daemon");
    }
    told = ends[1];
    return become_daemon(err);
}

void
daemonize_tell(int status, const char *text)
{
    char code = (char)status;
    const struct iovec message[] = {
        { .iov_base = &code, .iov_len = 1 },
        { .iov_base = (void *)(uintptr_t)text, .iov_len = strlen(text) },
    };

    if (told == -1) {
        return;
    }
    /* The one who waits may have been ended: then nobody wants to know. */
    (void)!writev(told, message, 2);
    close(told);
    told = -1;
}

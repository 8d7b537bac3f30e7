/*
 * Lines on a pipe that the fetcher reads and the engine never has: it cannot
 * say them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "supervise.h"

static int pipe_end = -1; /* owned */

int
supervise_tell_open(int fd)
{
    pipe_end = fd;
    return fcntl(fd, F_SETFD, FD_CLOEXEC) == -1 ||
                   fcntl(fd, F_SETFL, O_WRONLY | O_NONBLOCK) == -1
               ? -1
               : 0;
}

void
supervise_tell(const char *format, ...)
{
    char line[SUPERVISE_FACT];
    va_list words;
    int n;

    va_start(words, format);
    n = vsnprintf(line, sizeof(line) - 1, format, words);
    va_end(words);
    if (pipe_end != -1 && n > 0 && n < (int)sizeof(line) - 1) {
        line[n] = '\n';
        (void)!write(pipe_end, line, (size_t)n + 1);
    }
}

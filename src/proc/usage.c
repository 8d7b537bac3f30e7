/*
 * Reading /proc/PID/stat, status and smaps_rollup.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/usage.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc/offspring.h"

#define TEXT 4096 /* bytes of a file of /proc, with its NUL */

/* Pages in memory, or put away.  Pages of files, which go when memory is
 * needed, count too, and those that processes share. */
static const char *const resident[] = { "VmRSS:", "VmSwap:", NULL };
static const char *const proportional[] = { "Pss:", "SwapPss:", NULL };
static const char *const threads_of[] = { "Threads:", NULL };

/* -1: it is gone, or not shown. */
static int
read_text(pid_t pid, const char *name, char text[static TEXT])
{
    char path[64];
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd == -1 ? -1 : read(fd, text, TEXT - 1);
    if (fd != -1) {
        close(fd);
    }
    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? 0 : -1;
}

/* A process names itself as it likes, but has no say in what follows the last
 * bracket. */
int
usage_times(const char *stat, struct usage_times *out)
{
    const char *rest = strrchr(stat, ')');
    int64_t own, system, theirs, their_system;

    if (rest == NULL ||
        sscanf(rest,
               ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNd64
               " %" SCNd64 " %" SCNd64 " %" SCNd64 " %*d %*d %*d %*d %" SCNd64,
               &own, &system, &theirs, &their_system, &out->begun) != 5) {
        return -1;
    }
    out->own = own + system;
    out->waited = theirs + their_system;
    return 0;
}

static int64_t
number_of_line(const char *text, const char *name)
{
    size_t len = strlen(name);

    while (text != NULL && strncmp(text, name, len) != 0) {
        text = strchr(text, '\n');
        text = text == NULL ? NULL : text + 1;
    }
    return text == NULL ? 0 : strtoll(text + len, NULL, 10);
}

int64_t
usage_sum(const char *text, const char *const *names)
{
    int64_t sum = 0;

    for (; *names != NULL; names++) {
        sum += number_of_line(text, *names) * 1024;
    }
    return sum;
}

static void
look_at(size_t i, struct usage *out)
{
    struct usage_times times = { .own = 0 };
    int64_t a_second = sysconf(_SC_CLK_TCK);
    char text[TEXT];

    if (read_text(out->pids[i], "stat", text) == 0 &&
        usage_times(text, &times) == 0) {
        out->cpu_ms += (times.own + times.waited) * 1000 / a_second;
    }
    out->own_ms[i] = times.own * 1000 / a_second;
    out->begun[i] = times.begun;
    if (read_text(out->pids[i], "status", text) == 0) {
        out->memory += usage_sum(text, resident);
        out->threads += (size_t)(usage_sum(text, threads_of) / 1024);
    }
}

void
usage_look(pid_t process, size_t processes, size_t threads, struct usage *out)
{
    if (processes > USAGE_PROCESSES) {
        processes = USAGE_PROCESSES;
    }
    out->pids[0] = process;
    out->processes = 1;
    out->threads = 0;
    out->memory = out->cpu_ms = 0;
    for (size_t i = 0; i < out->processes && out->threads <= threads; i++) {
        look_at(i, out);
        out->processes += offspring_of(out->pids[i], out->pids + out->processes,
                                       processes - out->processes);
    }
}

int64_t
usage_shared_memory(const struct usage *u)
{
    int64_t sum = 0;

    for (size_t i = 0; i < u->processes; i++) {
        char text[TEXT];

        if (read_text(u->pids[i], "smaps_rollup", text) == 0) {
            sum += usage_sum(text, proportional);
        } else if (read_text(u->pids[i], "status", text) == 0) {
            sum += usage_sum(text, resident);
        }
    }
    return sum;
}

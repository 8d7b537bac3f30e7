/*
 * Reading /proc/PID/task/NUMBER/children.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/offspring.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

#define CHUNK 4096

/* A number that may go on in the next bytes. */
struct reading {
    pid_t *pids;
    size_t count, room;
    pid_t number; /* 0: between two */
};

static void
take(struct reading *r, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] >= '0' && bytes[i] <= '9') {
            r->number = r->number * 10 + (bytes[i] - '0');
        } else if (r->number != 0) {
            if (r->count < r->room) {
                r->pids[r->count++] = r->number;
            }
            r->number = 0;
        }
    }
}

static void
read_children(struct reading *r, int tasks, const char *thread)
{
    char path[64], bytes[CHUNK];
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "%.20s/children", thread);
    fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    if (fd == -1) {
        return;
    }
    while (r->count < r->room && (n = read(fd, bytes, sizeof(bytes))) > 0) {
        take(r, bytes, (size_t)n);
    }
    close(fd);
}

static int
open_tasks(const char *process)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%s/task", process);
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

size_t
offspring_list(pid_t *pids, size_t room)
{
    struct reading r = { .pids = pids, .room = room };
    int tasks = open_tasks("self");
    char thread[16];

    snprintf(thread, sizeof(thread), "%d", (int)getpid());
    if (tasks != -1) {
        read_children(&r, tasks, thread);
        close(tasks);
    }
    return r.count;
}

size_t
offspring_of(pid_t pid, pid_t *pids, size_t room)
{
    struct reading r = { .pids = pids, .room = room };
    char process[16];
    const struct dirent *e;
    DIR *d;
    int tasks;

    snprintf(process, sizeof(process), "%d", (int)pid);
    tasks = open_tasks(process);
    d = tasks == -1 ? NULL : fdopendir(tasks);
    while (d != NULL && r.count < room && (e = readdir(d)) != NULL) {
        if (e->d_name[0] != '.') {
            read_children(&r, tasks, e->d_name);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    return r.count;
}

const char *
offspring_name(pid_t pid, char *dst)
{
    char path[64], name[32];
    ssize_t n = -1;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd != -1) {
        n = read(fd, name, sizeof(name));
        close(fd);
    }
    if (n > 0 && name[n - 1] == '\n') {
        n--;
    }
    str_escape(dst, OFFSPRING_NAME, n > 0 ? str_of(name, (size_t)n) : STR("?"));
    return dst;
}

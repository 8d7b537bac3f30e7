/*
 * The files below the folder of a run, against its bounds.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "supervise.h"

#define LOOK_MS 500
#define COST 100 /* it looks for a part of its time at most: 1 of 100 */
#define LONGEST_MS 2000
#define DEEPEST 8 /* folders, where the kernel lets an engine make them */
#define BLOCK 512 /* of st_blocks */
#define TOLD_BYTES (1 << 20) /* a change of fewer is not told */

struct sum {
    int64_t files, bytes;
    const struct supervise *most;
    bool hidden; /* something cannot be looked at */
};

static bool
is_over(int64_t used, int64_t most)
{
    return most > 0 && used > most;
}

static bool
goes_on(const struct sum *sum)
{
    return !sum->hidden && !is_over(sum->files, sum->most->max_files);
}

static void walk(DIR *d, int depth, struct sum *sum);

static void
walk_below(int folder, const char *name, int depth, struct sum *sum)
{
    int fd = depth == DEEPEST
                 ? -1
                 : openat(folder, name,
                          O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd == -1 ? NULL : fdopendir(fd);

    if (d == NULL) {
        sum->hidden = true;
        return;
    }
    walk(d, depth + 1, sum);
    closedir(d);
}

/* One that is gone by now is none.  Links lead nowhere. */
static void
count(int folder, const char *name, int depth, struct sum *sum)
{
    struct stat st;

    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == -1) {
        sum->hidden |= errno != ENOENT;
        return;
    }
    sum->files++;
    sum->bytes += (int64_t)st.st_blocks * BLOCK;
    if (S_ISDIR(st.st_mode)) {
        walk_below(folder, name, depth, sum);
    }
}

static void
walk(DIR *d, int depth, struct sum *sum)
{
    const struct dirent *e;

    while (goes_on(sum) && (e = readdir(d)) != NULL) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            count(dirfd(d), e->d_name, depth, sum);
        }
    }
}

/* ---- looking ---- */

static struct {
    DIR *folder; /* owned; NULL: nothing is written */
    int64_t next_ms;
    int64_t told; /* bytes */
} own;

int
supervise_measure_open(int folder)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (own.folder != NULL) {
        closedir(own.folder);
    }
    memset(&own, 0, sizeof(own));
    own.folder = fd == -1 ? NULL : fdopendir(fd);
    return own.folder == NULL ? -1 : 0;
}

int
supervise_measure_wait(void)
{
    int64_t left = own.next_ms - clock_ms();

    return own.folder == NULL ? -1 : left > 0 ? (int)left : 0;
}

static void
tell_bytes(int64_t bytes)
{
    if (bytes - own.told >= TOLD_BYTES || own.told - bytes >= TOLD_BYTES) {
        own.told = bytes;
        supervise_tell("bytes %lld", (long long)bytes);
    }
}

/* An engine that hides what it writes has too much of it. */
const char *
supervise_measure(const struct supervise *s)
{
    struct sum sum = { .most = s };
    int64_t began = clock_ms(), cost;

    if (own.folder == NULL || began < own.next_ms) {
        return NULL;
    }
    rewinddir(own.folder);
    walk(own.folder, 0, &sum);
    tell_bytes(sum.bytes);
    cost = (clock_ms() - began) * COST;
    own.next_ms = began + (cost < LOOK_MS      ? LOOK_MS
                           : cost < LONGEST_MS ? cost
                                               : LONGEST_MS);
    if (is_over(sum.files, s->max_files)) {
        return "files";
    }
    return sum.hidden || is_over(sum.bytes, s->max_bytes) ? "bytes" : NULL;
}

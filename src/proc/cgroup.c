/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/cgroup_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

#define PREFIX "weir."
#define SWEEP_MS 1000
#define SOON_MS 5
#define TRIES 3
#define NAME 16 /* bytes of a run's, with its NUL */

static void
act(const struct cgroup *g, bool as_owner)
{
    setfsuid(as_owner ? g->owner : geteuid());
}

/* ---- ending what is in it ---- */

/* Before Linux 5.14 the kernel kills no cgroup: each process then, and who is
 * forked meanwhile the next time. */
static void
kill_each(int folder, const char *name)
{
    char path[NAME + 16], line[32];
    FILE *f = NULL;
    int fd;

    snprintf(path, sizeof(path), "%s/cgroup.procs", name);
    fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    if (fd != -1) {
        f = fdopen(fd, "r");
    }
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        int64_t pid; /* 0: of another name space */

        if (str_to_int(str_trim(str_of(line, strcspn(line, "\n"))), 1,
                       INT32_MAX, &pid)) {
            kill((pid_t)pid, SIGKILL);
        }
    }
    if (f != NULL) {
        fclose(f);
    }
}

static void
kill_run(int folder, const char *name)
{
    char path[NAME + 16];
    int fd;

    snprintf(path, sizeof(path), "%s/cgroup.kill", name);
    fd = openat(folder, path, O_WRONLY | O_CLOEXEC);
    if (fd == -1 || write(fd, "1", 1) != 1) {
        kill_each(folder, name);
    }
    if (fd != -1) {
        close(fd);
    }
}

static bool
is_number(const char *name)
{
    return name[0] != '\0' && name[strspn(name, "0123456789")] == '\0' &&
           strlen(name) < NAME;
}

/* Kills all runs of a folder, and removes those that are empty.  false: some
 * are not. */
static bool
sweep_runs(int folder)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again == -1 ? NULL : fdopendir(again);
    const struct dirent *e;
    bool all = true;

    while (dir != NULL && (e = readdir(dir)) != NULL) {
        if (is_number(e->d_name)) {
            kill_run(folder, e->d_name);
            all &= unlinkat(folder, e->d_name, AT_REMOVEDIR) == 0;
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return all;
}

static void
end_runs(int folder, int64_t until)
{
    while (!sweep_runs(folder) && clock_ms() < until) {
        poll(NULL, 0, SOON_MS);
    }
}

/* ---- folders ---- */

/* false: it is longer than paths are. */
static bool
join_path(char dst[static PATH_MAX], const char *path, const char *name)
{
    int n = snprintf(dst, PATH_MAX, "%s/%s", path, name);

    return n > 0 && n < PATH_MAX;
}

/* One whose maker is there is locked. */
static void
end_left_over(const char *path, int64_t until)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd != -1 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        end_runs(fd, until);
        rmdir(path);
    }
    if (fd != -1) {
        close(fd);
    }
}

static void
end_left_overs(const char *own, int64_t until)
{
    DIR *dir = opendir(own);
    char path[PATH_MAX];
    const struct dirent *e;

    while (dir != NULL && (e = readdir(dir)) != NULL) {
        if (str_starts(str_from(e->d_name), STR(PREFIX)) &&
            is_number(e->d_name + strlen(PREFIX)) &&
            join_path(path, own, e->d_name)) {
            end_left_over(path, until);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

void
cgroup_sweep(int64_t wait_ms)
{
    char own[PATH_MAX];
    struct errmsg ignored;

    if (cgroup_find(own, &ignored) == 0) {
        end_left_overs(own, clock_ms() + wait_ms);
    }
}

/* Processes may be in it; below a cgroup of threads they may not. */
static bool
is_domain(int folder)
{
    int fd = openat(folder, "cgroup.type", O_RDONLY | O_CLOEXEC);
    char text[32];
    ssize_t n = fd == -1 ? -1 : read(fd, text, sizeof(text));

    if (fd != -1) {
        close(fd);
    }
    return n > 0 && str_eq(str_of(text, (size_t)n), STR("domain\n"));
}

/* Another that starts may have taken it for left over. */
static bool
is_still_there(const struct cgroup *g)
{
    struct stat here, there;

    return fstat(g->folder, &here) == 0 && stat(g->path, &there) == 0 &&
           here.st_ino == there.st_ino && here.st_dev == there.st_dev;
}

/* 1: try again. */
static int
try_make(struct cgroup *g, struct errmsg *err)
{
    if (mkdir(g->path, 0755) == -1) {
        return errmsg_sys(err, "cannot make %s", g->path);
    }
    g->folder = open(g->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (g->folder != -1 && flock(g->folder, LOCK_EX | LOCK_NB) == 0 &&
        is_still_there(g)) {
        return 0;
    }
    cgroup_leave(g);
    errmsg_set(err, "%s was removed", g->path);
    return 1;
}

int
cgroup_make(struct cgroup *g, struct errmsg *err)
{
    char own[PATH_MAX], name[32];
    int rc = 1;

    *g = (struct cgroup){ .folder = -1, .owner = geteuid() };
    if (cgroup_find(own, err) == -1) {
        return -1;
    }
    end_left_overs(own, clock_ms() + SWEEP_MS);
    snprintf(name, sizeof(name), PREFIX "%d", (int)getpid());
    if (!join_path(g->path, own, name)) {
        return errmsg_set(err, "%s is too long", own);
    }
    for (int i = 0; i < TRIES && rc == 1; i++) {
        rc = try_make(g, err);
    }
    if (rc == 0 && !is_domain(g->folder)) {
        cgroup_leave(g);
        rmdir(g->path);
        rc = errmsg_set(err, "%s is a cgroup of threads", own);
    }
    if (rc == 0) {
        cgroup_hand_on(g->folder, g->controllers);
    }
    return rc == 0 ? 0 : -1;
}

void
cgroup_leave(struct cgroup *g)
{
    if (g->folder != -1) {
        close(g->folder);
        g->folder = -1;
    }
}

void
cgroup_end(struct cgroup *g, int64_t wait_ms)
{
    if (g->folder != -1) {
        act(g, true);
        end_runs(g->folder, clock_ms() + wait_ms);
        act(g, false);
    }
    cgroup_leave(g);
}

/* ---- runs ---- */

static const char *
name_of(unsigned run, char dst[static NAME])
{
    snprintf(dst, NAME, "%u", run);
    return dst;
}

static void
set_number(int folder, const char *name, int64_t n)
{
    char text[32];

    snprintf(text, sizeof(text), "%" PRId64, n);
    cgroup_write(folder, name, text);
}

/* Files of controllers that are not handed on are not there.  Runs together
 * have the processors that a process so nice has: what shares them is in front
 * of their folder. */
static void
limit(const struct cgroup *g, const char *name, const struct cgroup_limits *l)
{
    int run = openat(g->folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (run == -1) {
        return;
    }
    if (l->memory > 0) {
        set_number(run, "memory.max", l->memory);
        cgroup_write(run, "memory.oom.group", "1");
    }
    if (l->tasks > 0) {
        set_number(run, "pids.max", l->tasks);
    }
    set_number(g->folder, "cpu.weight.nice", l->nice);
    close(run);
}

unsigned
cgroup_begin(struct cgroup *g, const struct cgroup_limits *l, int *join)
{
    unsigned run = g->runs == UINT_MAX ? 1 : g->runs + 1;
    char name[NAME], path[NAME + 16];

    *join = -1;
    if (g->folder == -1) {
        return 0;
    }
    g->runs = run;
    name_of(run, name);
    snprintf(path, sizeof(path), "%s/cgroup.procs", name);
    act(g, true);
    if (mkdirat(g->folder, name, 0755) == 0) {
        limit(g, name, l);
        *join = openat(g->folder, path, O_WRONLY | O_CLOEXEC);
        if (*join == -1) {
            unlinkat(g->folder, name, AT_REMOVEDIR);
        }
    }
    act(g, false);
    return *join == -1 ? 0 : run;
}

void
cgroup_join(struct cgroup *g, int join)
{
    if (join != -1) {
        act(g, true); /* Linux asks for the writer's rights before 5.16 */
        (void)!write(join, "0", 1);
        act(g, false);
        close(join);
    }
    cgroup_leave(g);
}

void
cgroup_kill(const struct cgroup *g, unsigned run)
{
    char name[NAME];

    if (run != 0) {
        act(g, true);
        kill_run(g->folder, name_of(run, name));
        act(g, false);
    }
}

bool
cgroup_remove(const struct cgroup *g, unsigned run)
{
    char name[NAME];
    bool busy;

    if (run == 0) {
        return true;
    }
    act(g, true);
    busy = unlinkat(g->folder, name_of(run, name), AT_REMOVEDIR) == -1 &&
           errno == EBUSY;
    act(g, false);
    return !busy;
}

bool
cgroup_ran_out(const struct cgroup *g, unsigned run)
{
    char name[NAME], path[NAME + 16], text[256];
    struct str events, line;
    bool out = false;
    ssize_t n = -1;
    int fd;

    if (run == 0) {
        return false;
    }
    snprintf(path, sizeof(path), "%s/memory.events", name_of(run, name));
    fd = openat(g->folder, path, O_RDONLY | O_CLOEXEC);
    if (fd != -1) {
        n = read(fd, text, sizeof(text));
        close(fd);
    }
    events = str_of(text, n > 0 ? (size_t)n : 0);
    while (events.len > 0) {
        line = str_cut(&events, '\n');
        out |= str_starts(line, STR("oom ")) && !str_eq(line, STR("oom 0"));
    }
    return out;
}

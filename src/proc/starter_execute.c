/*
 * From a fork of the starter to the program.
 *
 * Nothing here may use the heap of weir beyond what the sandbox needs.  Its log
 * lines are lost: the starter has no log.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/starter_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proc/reach.h"

#define CANNOT_EXECUTE 127 /* as shells have it */

/* ---- descriptors ---- */

/* Out of the way of those that the program gets. */
static int
lift(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, PROGRAM_FILES + 1);
}

/* How many the program has, from 0 on. */
static int
count_files(uint32_t passed)
{
    int count = STDERR_FILENO + 1;

    while (passed >> count != 0) {
        count++;
    }
    return count;
}

/* All of them, the report last, where none is in the way of another. */
static int
lift_files(uint32_t passed, const int *files, int *report, int *lifted,
           struct errmsg *err)
{
    int count = count_files(passed), next = 0;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null == -1) {
        return errmsg_sys(err, "cannot open /dev/null");
    }
    for (int i = 0; i <= count; i++) {
        bool given = i < count && (passed >> i & 1) != 0;
        int fd = given ? files[next++] : i < count ? null : *report;

        lifted[i] = lift(fd);
        if (lifted[i] == -1) {
            return errmsg_sys(err, "no number is left for descriptor %d", i);
        }
    }
    *report = lifted[count];
    return 0;
}

/* Each at its number, the report behind them, and no others but those that are
 * held until it executes the program. */
static int
place_files(uint32_t passed, const int *files, int *report, struct errmsg *err)
{
    int lifted[PROGRAM_FILES + 1], count = count_files(passed);

    if (lift_files(passed, files, report, lifted, err) == -1) {
        return -1;
    }
    for (int i = 0; i <= count; i++) {
        if (dup2(lifted[i], i) == -1) {
            return errmsg_sys(err, "cannot place descriptor %d", i);
        }
    }
    *report = count;
    fcntl(count, F_SETFD, FD_CLOEXEC);
    reach_close_others((unsigned)count + 1);
    return 0;
}

/* ---- who and where ---- */

static int
become(const struct privilege_ids *who, struct errmsg *err)
{
    if (geteuid() == who->uid) {
        return 0; /* root has not started weir */
    }
    if (setgroups(1, &who->gid) == -1 ||
        setresgid(who->gid, who->gid, who->gid) == -1 ||
        setresuid(who->uid, who->uid, who->uid) == -1) {
        return errmsg_sys(err, "cannot become user %u", (unsigned)who->uid);
    }
    return 0;
}

static int
give_up(const struct privilege_ids *who, struct errmsg *err)
{
    if (become(who, err) == -1) {
        return -1;
    }
    if (privilege_capabilities(0) == -1) {
        return errmsg_sys(err, "cannot give up capabilities");
    }
    if (who->uid != 0 && (setresuid(0, 0, 0) == 0 || setuid(0) == 0)) {
        return errmsg_set(err, "root could be had back");
    }
    return 0;
}

/* A change of the user has cleared it; and the starter may have ended
 * before. */
static int
die_with(pid_t starter, struct errmsg *err)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1) {
        return errmsg_sys(err, "cannot end with the starter");
    }
    return getppid() == starter ? 0 : errmsg_set(err, "the starter has ended");
}

static int
enter(struct str folder, struct errmsg *err)
{
    char path[PATH_MAX];
    int fd;

    str_copy(path, sizeof(path), folder);
    umask(S_IWGRP | S_IWOTH);
    fd = reach_open(path, O_PATH | O_DIRECTORY);
    if (fd == -1 || fchdir(fd) == -1) {
        return errmsg_sys(err, "cannot enter %s", path);
    }
    close(fd);
    return 0;
}

/* ---- limits ---- */

static int
limit(int what, int64_t soft, int64_t hard)
{
    struct rlimit l = { (rlim_t)soft, (rlim_t)hard };

    return soft == 0 ? 0 : setrlimit((__rlimit_resource_t)what, &l);
}

/* A weir that was started nicer stays so: only root goes back. */
static int
be_nice(int64_t least)
{
    return getpriority(PRIO_PROCESS, 0) >= least
               ? 0
               : setpriority(PRIO_PROCESS, 0, (int)least);
}

static int
set_limits(const struct program_limits *l, const struct starter_options *o,
           struct errmsg *err)
{
    int64_t processes = o->program.uid != o->role.uid ? l->processes : 0;
    int64_t files = l->files != 0 ? l->files : PROGRAM_OPEN;
    struct rlimit none = { 0, 0 };

    if ((l->nice > 0 && be_nice(l->nice) == -1) ||
        limit(RLIMIT_CPU, l->cpu, l->cpu + 1) == -1 ||
        limit(RLIMIT_NOFILE, files, files) == -1 ||
        limit(RLIMIT_FSIZE, l->file_size, l->file_size) == -1 ||
        limit(RLIMIT_NPROC, processes, processes) == -1 ||
        limit(RLIMIT_AS, l->memory, l->memory) == -1 ||
        (!o->sandbox->core_dumps && setrlimit(RLIMIT_CORE, &none) == -1)) {
        return errmsg_sys(err, "cannot set the limits of a program");
    }
    return 0;
}

/* By system calls: the C library keeps two signals for itself, which weir may
 * have been started with ignored. */
static void
reset_signals(void)
{
    static const uint64_t no_action[4], none; /* as the kernel has them */

    for (int number = 1; number < NSIG; number++) {
        syscall(SYS_rt_sigaction, number, no_action, NULL, sizeof(none));
    }
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none));
}

/* ---- all of it ---- */

/* The starter hears of calls from now on. */
static int
enter_sandbox(const struct sandbox *s, int report, struct errmsg *err)
{
    int listener = -1;
    struct sandbox own = *s;

    own.listener = &listener;
    if (sandbox_enter(&own, err) == -1) {
        return -1;
    }
    if (listener != -1 && starter_calls_send(report, listener) == -1) {
        return errmsg_sys(err, "cannot tell the starter of the filter");
    }
    close(listener);
    return 0;
}

static int
prepare(const struct starter_options *o, const struct starter_request *r,
        int report, struct errmsg *err)
{
    pid_t starter = getppid();

    if (setsid() == -1) {
        return errmsg_sys(err, "cannot make a session");
    }
    /* Relative paths of its rights stand on the directory of weir. */
    if (give_up(&o->program, err) == -1 || die_with(starter, err) == -1 ||
        enter_sandbox(o->sandbox, report, err) == -1 ||
        enter(o->folders[r->folder], err) == -1) {
        return -1;
    }
    reset_signals();
    return set_limits(&r->limits, o, err);
}

void
starter_execute(const struct starter_options *o,
                const struct starter_request *r, const int *passed, int report)
{
    struct errmsg err;
    char path[PATH_MAX];

    str_copy(path, sizeof(path), o->programs[r->program]);
    if (place_files(r->passed, passed, &report, &err) == 0 &&
        prepare(o, r, report, &err) == 0) {
        reach_execute(reach_of(path), (char *const *)(uintptr_t)r->arguments,
                      (char *const *)(uintptr_t)r->environment);
        errmsg_sys(&err, "cannot execute %s", path);
    }
    (void)!write(report, err.text, strlen(err.text));
    _exit(CANNOT_EXECUTE);
}

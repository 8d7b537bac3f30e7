/*
 * Cgroups of programs (cgroups(7), version 2): below its own cgroup a process
 * makes a folder "weir.PID", and in it one for each run, named by a number.
 *
 * A process cannot leave its cgroup by any fork, session or parent.  No
 * controllers are needed, and none are enabled.
 *
 * The maker locks its folder, and the kernel unlocks it when the maker ends,
 * however it does.  So cgroup_sweep() knows the folders of those that have
 * ended, whatever has their numbers now.  The maker itself removes its runs
 * alone: it may have lost the right to more.
 *
 * Nothing depends on it: there is often no such hierarchy, or none that can be
 * written.  The files are the maker's user's.  A process that has become
 * another user since needs CAP_SETUID to use them: its file system user is that
 * one (setfsuid(2)) during these calls, and the effective user after them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_CGROUP_H
#define PROC_CGROUP_H

#include "base/errmsg.h"
#include "base/str.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroup {
    int folder;          /* owned, locked; -1: there is none */
    uid_t owner;         /* of the files */
    unsigned runs;       /* number of the newest */
    char path[PATH_MAX]; /* of the folder */
};

/* The folder of cgroup own ("/a/b", as /proc/self/cgroup has it), if that line
 * of /proc/self/mountinfo is of a hierarchy of version 2 that shows it.  false:
 * it is not. */
bool cgroup_path(struct str line, struct str own, char dst[static PATH_MAX]);

/* Ends what makers have left in this process's cgroup that are gone, for up to
 * wait_ms, and removes their folders. */
void cgroup_sweep(int64_t wait_ms);
/* Sweeps, for up to a second, and makes a folder.  -1 with err, and g->folder
 * -1: it cannot be. */
int cgroup_make(struct cgroup *g, struct errmsg *err);
/* Another process goes on with a copy of it: closes the descriptor here. */
void cgroup_leave(struct cgroup *g);
/* Ends all runs and closes it; waits up to wait_ms for that.  If g->folder is
 * -1, it does nothing. */
void cgroup_end(struct cgroup *g, int64_t wait_ms);

/* Makes the cgroup of a run.  Returns its number, and in *join what a process
 * joins it by, owned; 0 and -1: there is none. */
unsigned cgroup_begin(struct cgroup *g, int *join);
/* A process that the maker has forked: is in it from now on, if the kernel lets
 * it be.  Closes join, which may be -1, and the folder. */
void cgroup_join(struct cgroup *g, int join);
/* SIGKILL to all that are in it; 0 is no run. */
void cgroup_kill(const struct cgroup *g, unsigned run);
/* false: processes are in it yet; 0 is removed. */
bool cgroup_remove(const struct cgroup *g, unsigned run);

#endif

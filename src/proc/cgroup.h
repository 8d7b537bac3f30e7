/*
 * Cgroups of programs (cgroups(7), version 2): below its own cgroup a process
 * makes a folder "weir.PID", and in it one for each run, named by a number.
 *
 * A process cannot leave its cgroup by any fork, session or parent.
 *
 * Where controllers are delegated to this process (memory, pids, cpu), the
 * kernel also bounds runs.  A cgroup that hands controllers on has no processes
 * itself: so the master, while it is alone in there, goes to "weir.main" beside
 * the folders of runs.  Without controllers, others count what a run uses
 * (starter_bounds.c).
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

#define CGROUP_TOLD 32 /* "cpu, memory, pids" */

struct cgroup {
    int folder;                    /* owned, locked; -1: there is none */
    uid_t owner;                   /* of the files */
    unsigned runs;                 /* number of the newest */
    char path[PATH_MAX];           /* of the folder */
    char controllers[CGROUP_TOLD]; /* that runs have; "": none */
};

/* Of a run; 0: none. */
struct cgroup_limits {
    int64_t memory; /* bytes, with what the kernel keeps of its files */
    int64_t tasks;  /* processes and threads */
    int64_t nice;   /* the processors that all runs together have: as one
                     * process that nice, beside all that is not in a run */
};

/* The folder of cgroup own ("/a/b", as /proc/self/cgroup has it), if that line
 * of /proc/self/mountinfo is of a hierarchy of version 2 that shows it.  false:
 * it is not. */
bool cgroup_path(struct str line, struct str own, char dst[static PATH_MAX]);

/* For the master, before it has children: goes to "weir.main", if controllers
 * are delegated to its cgroup and no other process is in there.  -1 with err:
 * that cannot be, and runs have no bounds by the kernel. */
int cgroup_settle(struct errmsg *err);

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

/* Makes the cgroup of a run with these limits, as far as there are controllers.
 * Returns its number, and in *join what a process
 * joins it by, owned; 0 and -1: there is none. */
unsigned cgroup_begin(struct cgroup *g, const struct cgroup_limits *l,
                      int *join);
/* A process that the maker has forked: is in it from now on, if the kernel lets
 * it be.  Closes join, which may be -1, and the folder. */
void cgroup_join(struct cgroup *g, int join);
/* SIGKILL to all that are in it; 0 is no run. */
void cgroup_kill(const struct cgroup *g, unsigned run);
/* Whether it wanted more memory than its limit; the kernel ends it then. */
bool cgroup_ran_out(const struct cgroup *g, unsigned run);
/* false: processes are in it yet; 0 is removed. */
bool cgroup_remove(const struct cgroup *g, unsigned run);

#endif

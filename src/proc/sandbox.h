/*
 * The sandbox of workers and roles: what a process that talks to strangers
 * gives up when it has opened all it needs.
 *
 *   - new privileges (always) and capabilities, the bounding set included
 *   - system calls that it has no use for: programs (execve), other processes
 *     (fork, ptrace, kill), listening sockets, code made at run time, mounts,
 *     name spaces, keys, bpf, new io_uring rings (an open one goes on)
 *   - files: it reads below the paths it was given and writes nowhere
 *   - being traced or dumped: memory has stream keys in it
 *
 * What is asked for and what the kernel lacks is left out.  All of it is
 * inherited by threads that are made later, none of it by those before.
 *
 * A build with sanitizers has to look at itself, write its reports and find
 * leaks: files are not restricted there, nor is being traced, and the filter
 * lets processes, ptrace and code pass (sandbox_is_wide()).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_SANDBOX_H
#define PROC_SANDBOX_H

#include "base/errmsg.h"
#include "base/str.h"

#include <stdbool.h>

enum sandbox_seccomp {
    SANDBOX_SECCOMP_OFF,
    SANDBOX_SECCOMP_LOG,     /* the kernel's log tells, the call is made */
    SANDBOX_SECCOMP_ENFORCE, /* EPERM */
};

struct sandbox {
    int seccomp; /* enum sandbox_seccomp */
    bool landlock;
    bool capabilities;       /* true: given up */
    bool core_dumps;         /* true: the system's limit stays */
    bool file_sizes;         /* of files it has open, it may change */
    const struct str *paths; /* directories and files that may be read */
    size_t path_count;
};

/* Before the privileges are dropped, which the bounding set needs. */
void sandbox_prepare(const struct sandbox *s);
/* Everything is open, and privileges are dropped: there is no way back.
 * -1 with err when what the kernel has cannot be used. */
int sandbox_enter(const struct sandbox *s, struct errmsg *err);

/* Calls that the filter refused in this process; *last: number of the last. */
unsigned sandbox_refused(int *last);

/* The master: logs what is in force, and at notice what the kernel lacks. */
void sandbox_tell(const struct sandbox *s);

bool sandbox_is_wide(void);
/* The version of Landlock; 0: there is none. */
int sandbox_landlock_version(void);

#endif

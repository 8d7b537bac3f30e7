/*
 * The sandbox of workers and roles: the rights that a process which talks to
 * strangers gives up once it has opened all that it needs.
 *
 *   - new privileges (always) and capabilities, the bounding set included
 *   - system calls that it has no use for: programs (execve), other processes
 *     (fork, ptrace, kill), listening sockets, code made at run time, mounts,
 *     name spaces, keys, bpf, new io_uring rings (an open one goes on)
 *   - files: it reads below the paths it was given and writes nowhere
 *   - being traced or dumped: memory has stream keys in it
 *
 * A part that the kernel lacks is left out.  Threads that are started later
 * inherit all of it, threads that run already nothing.
 *
 * A build with sanitizers has to trace itself, write its reports and find
 * leaks.  Its sandbox is wide (sandbox_is_wide()): it restricts neither files
 * nor tracing, and its filter lets processes, ptrace and code pass.
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
    SANDBOX_SECCOMP_LOG,     /* the kernel logs the call and does it */
    SANDBOX_SECCOMP_ENFORCE, /* EPERM */
};

struct sandbox {
    int seccomp; /* enum sandbox_seccomp */
    bool landlock;
    bool capabilities;       /* true: given up */
    bool core_dumps;         /* true: the system's limit stays */
    bool file_sizes;         /* may change the sizes of its open files */
    const struct str *paths; /* directories and files that may be read */
    size_t path_count;
};

/* Called before privileges are dropped: the bounding set needs them. */
void sandbox_prepare(const struct sandbox *s);
/* Everything is open, and privileges are dropped: there is no way back.
 * -1 with err when a part that the kernel has fails. */
int sandbox_enter(const struct sandbox *s, struct errmsg *err);

/* How many calls the filter refused in this process; *last: the last one's
 * number. */
unsigned sandbox_refused(int *last);

/* The master: logs what is in force, and at notice what the kernel lacks. */
void sandbox_tell(const struct sandbox *s);

bool sandbox_is_wide(void);
/* The version of Landlock; 0: there is none. */
int sandbox_landlock_version(void);

#endif

/*
 * The sandbox: what a process gives up when it has opened all it needs.
 *
 *   - new privileges (always) and capabilities, the bounding set included
 *   - system calls that it has no use for: programs (execve), other processes
 *     (fork, ptrace, kill), listening sockets, code made at run time, mounts,
 *     name spaces, keys, bpf, new io_uring rings (an open one goes on)
 *   - files and connections but those that it has rights to (proc/rights.h)
 *   - being traced or dumped: memory has stream keys in it
 *
 * sandbox_table.c says which kind of process, with which right, may make
 * which system calls.  Landlock holds paths and ports (sandbox_files.c).
 *
 * What is asked for and what the kernel lacks is left out; sandbox_tell()
 * says so.  All of it is inherited by threads and processes that are made
 * later, none of it by those before.
 *
 * A build with sanitizers has to look at itself, write its reports and find
 * leaks: files and ports are not restricted there, nor is being traced, and
 * the filter lets processes, ptrace and code pass (sandbox_is_wide()).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_SANDBOX_H
#define PROC_SANDBOX_H

#include "base/errmsg.h"
#include "base/str.h"
#include "proc/rights.h"

#include <stdbool.h>

enum sandbox_seccomp {
    SANDBOX_SECCOMP_OFF,
    SANDBOX_SECCOMP_LOG,     /* the kernel's log tells, the call is made */
    SANDBOX_SECCOMP_ENFORCE, /* EPERM */
};

enum sandbox_kind {
    /* A worker or role: a list of what it may call, all else is refused. */
    SANDBOX_CHILD,
    /* What forks and executes programs for a role.  A program inherits its
     * sandbox, so that it cannot be narrower than a program's. */
    SANDBOX_STARTER,
    /* What is executed next: all that an ordinary program calls.  What no
     * program has any use for here is refused, by errno alone: handlers of
     * signals do not live through execve(). */
    SANDBOX_PROGRAM,
};

struct sandbox {
    enum sandbox_kind kind;
    int seccomp; /* enum sandbox_seccomp */
    bool landlock;
    bool capabilities; /* true: given up */
    bool core_dumps;   /* true: the system's limit stays */
    /* Borrowed; NULL: none.  Starters and programs may read below programs,
     * execute what is there, and make links, pipes and sockets in what they
     * write to; fork and resize are always theirs. */
    const struct rights *rights;
};

/* Before the privileges are dropped, which the bounding set needs. */
void sandbox_prepare(const struct sandbox *s);
/* Everything is open, and privileges are dropped: there is no way back.
 * -1 with err when what the kernel has cannot be used. */
int sandbox_enter(const struct sandbox *s, struct errmsg *err);

/* Calls that the filter refused in this process (none are counted in starters
 * and programs); *last: number of the last. */
unsigned sandbox_refused(int *last);

/* The master: logs what is in force, and at notice, a line each, what the
 * kernel lacks. */
void sandbox_tell(const struct sandbox *s);

bool sandbox_is_wide(void);
/* The version of Landlock; 0: there is none. */
int sandbox_landlock_version(void);
/* The versions from which it holds what is named. */
#define SANDBOX_HOLDS_FILES 1
#define SANDBOX_HOLDS_SIZES 3
#define SANDBOX_HOLDS_PORTS 4
#define SANDBOX_HOLDS_ABSTRACT 6

#endif

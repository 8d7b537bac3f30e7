/*
 * Programs of a role, executed by a process of their own: the starter.
 *
 * A role never executes anything.  Before it gives up its privileges it forks
 * a starter, which knows the programs (absolute paths) and the folders to run
 * them in.  The role asks it over a socket to start the program of a number;
 * no path ever goes over that socket.  The starter has the role's user, and of
 * root's rights those three that it needs: to give a program a user of its
 * own, a group, and to kill it.  It has the sandbox of its programs, too, reads
 * below /proc, and may execute what lies in the programs' folders: a program
 * that is installed anew while weir runs is executed from then on.
 *
 * A run is the program and all that it starts.  Each has a session of its
 * own.  When the program ends, the run is over: all that is left of its
 * session is killed.  A process that leaves the session falls to the starter
 * when its parents end, which kills it then, at the latest half a second
 * later.  Where cgroups can be made, each run has one of its own, and all that
 * is in it is killed with the run (proc/cgroup.h).  When the role, the starter
 * or the master ends, however it does, all runs end.
 *
 * A program has nothing of weir's: the arguments, environment and descriptors
 * that it is given, no signal that is ignored or blocked, no privileges, and
 * the sandbox that the options name.
 *
 *   starter.c          the role's side
 *   starter_serve.c    the starter's process: requests, runs, their ends
 *   starter_rights.c   its rights
 *   starter_bounds.c   what a run uses
 *   starter_oom.c      who goes first without memory
 *   starter_execute.c  from a fork of the starter to the program
 *   starter_calls.c    calls that are not on the program's list, signals
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_STARTER_H
#define PROC_STARTER_H

#include "base/errmsg.h"
#include "base/str.h"
#include "event/loop.h"
#include "proc/life.h"
#include "proc/sandbox.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define STARTER_RUNS 64   /* at once, of one role */
#define PROGRAM_TEXTS 256 /* arguments; as many of an environment */
#define PROGRAM_FILES 24  /* descriptors, 0 and up */
#define PROGRAM_OPEN 1024 /* descriptors that it may open by itself */
#define PROGRAM_WHY 256   /* bytes of a reason */
#define PROGRAM_NICE_MAX 19
#define PROGRAM_PROCESSES_MAX 1000

/* 0: none, but for `files`, which then is PROGRAM_OPEN. */
struct program_limits {
    int64_t memory;    /* bytes of addresses (RLIMIT_AS) */
    int64_t cpu;       /* seconds of processor time: SIGXCPU, a second later
                        * SIGKILL */
    int64_t files;     /* descriptors */
    int64_t file_size; /* bytes of a file that it writes */
    int64_t processes; /* and threads, of the programs' user, whoever started
                        * them; none where it is also the role's */
    int64_t nice;      /* at least, 0 .. PROGRAM_NICE_MAX */
};

/* Of all processes of a run together; 0: none.  A run that has more is ended:
 * its program hears SIGTERM, and all of it SIGKILL a moment later. */
struct program_bounds {
    int64_t memory;    /* bytes that they have, shared ones once */
    int64_t processes; /* at once, 1000 at most; 16 threads count as one */
    int64_t cpu_ms;    /* processor time */
};

enum program_excess {
    PROGRAM_IN_BOUNDS,
    PROGRAM_MEMORY,
    PROGRAM_PROCESSES,
    PROGRAM_CPU,
    PROGRAM_EXCESSES
};

/* How a run was. */
struct program_end {
    bool started;    /* false: it could not be; *why says so */
    int status;      /* as wait() has it */
    int64_t user_us; /* processor time of the program and of those it waited */
    int64_t system_us; /* for: its own, and the kernel's */
    int64_t memory;    /* bytes, at most in use */
    const char *why;   /* "": it has started */
    bool lost;         /* the starter has ended: nothing is known of the run */
    enum program_excess excess; /* the bound that ended it */
};

struct program {
    unsigned number, folder;        /* in the lists of the options */
    const char *const *arguments;   /* NULL ends; the first is its name */
    const char *const *environment; /* all of it; NULL ends */
    /* Its descriptors 0, 1, 2 ..., PROGRAM_FILES at most; -1, and those of the
     * first three that are not here: /dev/null. */
    const int *files;
    size_t file_count;
    struct program_limits limits;
    struct program_bounds bounds;
    /* It runs, as process pid.  May be NULL. */
    void (*on_start)(void *arg, pid_t pid);
    /* The run is over, or never was: the last call. */
    void (*on_end)(void *arg, const struct program_end *end);
    void *arg;
};

struct starter_options {
    const char *name; /* the role's, for the title; NULL: none is set */
    const struct str *programs; /* absolute paths */
    size_t program_count;
    const struct str *folders; /* absolute paths; at least one */
    size_t folder_count;
    const struct sandbox *sandbox; /* of programs, not SANDBOX_CHILD */
    /* The role's, and that of its programs; the same when root has not started
     * weir. */
    struct privilege_ids role, program;
    bool cgroups; /* one for each run, where it can be; else the log says why */
};

struct starter;     /* of a role, in its process */
struct starter_run; /* one program that runs, or is about to */

/* Role, before it drops its privileges and opens anything: forks the starter.
 * The options are borrowed until then.  NULL with err. */
struct starter *starter_new(const struct starter_options *o,
                            struct errmsg *err);
/* Role, once it has a loop, which is borrowed.  on_gone: the starter has ended
 * by itself, all runs with it (each was told); nothing runs any more. */
int starter_open(struct starter *s, struct loop *l, void (*on_gone)(void *arg),
                 void *arg, struct errmsg *err);
/* Ends all runs, without a call, and the starter; waits up to two seconds for
 * that. */
void starter_free(struct starter **s);

/* Starts a program.  The files are taken: closed in this process, also when it
 * fails.  NULL with err: too many run, it is too much, the starter is gone. */
struct starter_run *starter_run(struct starter *s, const struct program *p,
                                struct errmsg *err);
/* Signals the session's first group; SIGKILL ends the run. */
void starter_signal(struct starter_run *run, int number);
/* Nobody wants to know any more: the run is killed, and no call is made. */
void starter_forget(struct starter_run **run);
size_t starter_running(const struct starter *s);
/* It has ended: no run can begin. */
bool starter_is_gone(const struct starter *s);

#endif

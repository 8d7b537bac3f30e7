/*
 * The parts of the starter.
 *
 *   starter_serve.c    its process
 *   starter_rights.c   its rights
 *   starter_bounds.c   what a run uses
 *   starter_oom.c      who goes first without memory
 *   starter_execute.c  from its fork to the program
 *   starter_calls.c    calls that are not on the program's list
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_STARTER_IMPL_H
#define PROC_STARTER_IMPL_H

#include "proc/cgroup.h"
#include "proc/starter_wire.h"

/* The starter, right after its fork: serves the role at the other end of the
 * socket until that is gone, ends all runs and exits. */
void starter_serve(const struct starter_options *o, const struct cgroup *cgroup,
                   int socket) __attribute__((noreturn));

/* Adds rights as wide as those of programs, which inherit them, and what it
 * needs itself.  Paths are the pool's, or borrowed. */
struct pool;
void starter_rights(struct rights *r, const struct rights *programs,
                    const struct cgroup *cgroup, struct pool *pool);

struct starter_seen { /* a process, when it was looked at */
    pid_t pid;
    int64_t begun, own_ms; /* as struct usage has them */
};

/* Of a run: { .most = ... } at its beginning. */
struct starter_bounds {
    struct program_bounds most;
    int64_t next_ms; /* not looked at before */
    int64_t seen_ms; /* processor time that processes had at looks */
    struct starter_seen seen[PROGRAM_PROCESSES_MAX + 1]; /* the last one */
    size_t seen_count;
};

/* Looks at the run of process pid, if it is time to, as the user of programs.
 * Another than PROGRAM_IN_BOUNDS: it has to end. */
enum program_excess starter_bounds_look(struct starter_bounds *b, pid_t pid,
                                        const struct privilege_ids *program);

/* The bounds that the kernel can hold, and whether the run is nice. */
struct cgroup_limits starter_bounds_cgroup(const struct starter_request *r);
struct rusage;
void starter_bounds_end(struct program_end *end, const struct rusage *u);

/* Before it is in its sandbox; then around each fork of a program: true, and
 * false when it is done. */
void starter_oom_open(void);
void starter_oom_first(bool first);

/* A process that the starter has forked: becomes the program.  passed: the
 * descriptors of r, in order.  report: a socket that keeps messages apart and
 * is closed on exec; the listener goes there.  If it cannot, it writes why, and
 * exits. */
void starter_execute(const struct starter_options *o,
                     const struct starter_request *r, const int *passed,
                     int report) __attribute__((noreturn));

/* ---- calls that are not on the list of a run's program ---- */

struct starter_calls {
    int listener; /* owned; -1: none */
    unsigned count;
    unsigned signals; /* until next_ms: clock_ms() */
    int64_t next_ms;
    struct sandbox_told told;
    size_t said; /* numbers of told that the role has */
};

/* The process that becomes the program. */
int starter_calls_send(int report, int listener);
/* Takes its message as recv() does, and the listener in passing. */
ssize_t starter_calls_report(int report, struct starter_calls *calls,
                             char *text, size_t size);
/* Returns the listener; -1 while its calls have to wait. */
int starter_calls_wait(const struct starter_calls *calls);
/* poll() has said so of the listener: answers one call at most.  run: the
 * process of the program, which is not reaped yet. */
void starter_calls_hear(struct starter_calls *calls, pid_t run, short ready);
void starter_calls_close(struct starter_calls *calls);

/* The descriptors of a message that was received; there is room for them. */
struct msghdr;
size_t starter_descriptors(struct msghdr *m, int *fds);

#endif

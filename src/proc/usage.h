/*
 * The use of a process and all that it has started, as /proc says.
 *
 * Processes come and go while they are looked at: one may be missed, and is
 * seen the next time.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_USAGE_H
#define PROC_USAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define USAGE_PROCESSES 1024 /* that are looked at, at most */

struct usage {
    pid_t pids[USAGE_PROCESSES]; /* the first is the process itself */
    size_t processes;            /* with those that are not reaped yet */
    size_t threads;
    int64_t memory; /* bytes, in memory or swapped; a page that several have
                     * counts for each */
    int64_t cpu_ms; /* with that of processes which were waited for */
    int64_t own_ms[USAGE_PROCESSES]; /* of each, without these */
    int64_t begun[USAGE_PROCESSES];  /* when: a pid may be used again */
};

/* Looks at no more than so many processes, USAGE_PROCESSES at most, and stops
 * where there are more threads. */
void usage_look(pid_t process, size_t processes, size_t threads,
                struct usage *out);
/* The memory of those that it has found, in which a page of several counts once
 * in all.  It costs much more.  One whose user is another, or that hides,
 * counts as in usage_look(). */
int64_t usage_shared_memory(const struct usage *u);

/* ---- for tests ---- */

/* Of the text of /proc/PID/stat. */
struct usage_times {
    int64_t own, waited; /* ticks: of itself, and of those it waited for */
    int64_t begun;
};
int usage_times(const char *stat, struct usage_times *out); /* -1: it is none */
/* The sum of the lines of these names, "Pss:" ..., ended by NULL, of a text of
 * lines as "Pss:  12 kB", in bytes. */
int64_t usage_sum(const char *text, const char *const *names);

#endif

/*
 * The use of all processes of a run together, against its bounds.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/starter_impl.h"
#include "proc/usage.h"

#define COST 100        /* it looks for a part of its time at most: 1 of 100 */
#define LONGEST_MS 2000 /* and so often at least */
#define THREADS_OF_ONE 16 /* threads that count as a process */

/* One task more than its bound: else the run would not be seen to have it. */
struct cgroup_limits
starter_bounds_cgroup(const struct starter_request *r)
{
    int64_t most = r->bounds.processes;

    return (struct cgroup_limits){
        .memory = r->bounds.memory,
        .tasks = most > 0 ? most * THREADS_OF_ONE + 1 : 0,
        .nice = r->limits.nice,
    };
}

static int64_t
had_before(const struct starter_bounds *b, const struct usage *u, size_t i)
{
    for (size_t k = 0; k < b->seen_count; k++) {
        if (b->seen[k].pid == u->pids[i] && b->seen[k].begun == u->begun[i]) {
            return b->seen[k].own_ms;
        }
    }
    return 0;
}

/* The time of a process goes to its parent when that waits for it, and is lost
 * when nobody does.  So two sums are kept: the kernel's, and that of what was
 * seen; the larger one is true. */
static int64_t
cpu_of(struct starter_bounds *b, const struct usage *u)
{
    size_t count = u->processes < PROGRAM_PROCESSES_MAX ? u->processes
                                                        : PROGRAM_PROCESSES_MAX;

    for (size_t i = 0; i < count; i++) {
        b->seen_ms += u->own_ms[i] - had_before(b, u, i);
    }
    for (size_t i = 0; i < count; i++) {
        b->seen[i] =
            (struct starter_seen){ u->pids[i], u->begun[i], u->own_ms[i] };
    }
    b->seen_count = count;
    return u->cpu_ms > b->seen_ms ? u->cpu_ms : b->seen_ms;
}

static bool
is_over(int64_t used, int64_t most)
{
    return most > 0 && used > most;
}

static enum program_excess
judge(struct starter_bounds *b, const struct usage *u)
{
    const struct program_bounds *most = &b->most;
    int64_t cpu_ms = cpu_of(b, u);

    if (is_over((int64_t)u->processes, most->processes) ||
        is_over((int64_t)u->threads, most->processes * THREADS_OF_ONE)) {
        return PROGRAM_PROCESSES;
    }
    if (is_over(u->memory, most->memory) &&
        usage_shared_memory(u) > most->memory) {
        return PROGRAM_MEMORY;
    }
    return is_over(cpu_ms, most->cpu_ms) ? PROGRAM_CPU : PROGRAM_IN_BOUNDS;
}

static bool
has_bounds(const struct program_bounds *b)
{
    return b->memory > 0 || b->processes > 0 || b->cpu_ms > 0;
}

/* Their user may look at how they share memory; this process's may not. */
enum program_excess
starter_bounds_look(struct starter_bounds *b, pid_t pid,
                    const struct privilege_ids *program)
{
    size_t processes = (size_t)b->most.processes;
    static struct usage u;
    enum program_excess excess;
    int64_t began = clock_ms(), cost;

    if (!has_bounds(&b->most) || began < b->next_ms) {
        return PROGRAM_IN_BOUNDS;
    }
    setfsgid(program->gid);
    setfsuid(program->uid);
    usage_look(pid, processes == 0 ? USAGE_PROCESSES : processes + 1,
               processes == 0 ? SIZE_MAX : processes * THREADS_OF_ONE, &u);
    excess = judge(b, &u);
    setfsuid(geteuid());
    setfsgid(getegid());
    cost = (clock_ms() - began) * COST;
    b->next_ms = began + (cost < LONGEST_MS ? cost : LONGEST_MS);
    return excess;
}

static int64_t
microseconds(struct timeval t)
{
    return (int64_t)t.tv_sec * 1000000 + t.tv_usec;
}

void
starter_bounds_end(struct program_end *end, const struct rusage *u)
{
    end->user_us = microseconds(u->ru_utime);
    end->system_us = microseconds(u->ru_stime);
    end->memory = (int64_t)u->ru_maxrss * 1024;
}

/*
 * Work that may block (a cold file, a long query), done on a thread.
 *
 * A process has one small set of threads and a bounded queue; the result
 * comes back on the loop.  A task touches only what it owns.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef EVENT_TASK_H
#define EVENT_TASK_H

#include "event/loop.h"

struct task_threads;

struct task {
    struct list link;                /* ours */
    void (*work)(struct task *task); /* on a thread */
    void (*done)(struct task *task); /* on the loop, always, exactly once */
    /* Set by task_cancel(): done() is still called.  The loop's, work() does
     * not look at it. */
    bool cancelled;
};

/* count threads; queue is the most tasks that may wait.  The first task starts
 * the threads, so they inherit the sandbox that the process has entered by
 * then. */
struct task_threads *task_threads_new(struct loop *l, unsigned count,
                                      unsigned queue, struct errmsg *err);
/* Waits for running tasks, then drops the rest (done() called, cancelled). */
/* A task_run() from done() fails then.  Not from within done(). */
void task_threads_free(struct task_threads **threads);

/* 0, or -1 when the queue is full (or no thread can be started): the caller
 * answers "busy". */
int task_run(struct task_threads *threads, struct task *task);
/* Its result is not wanted any more; work() may or may not run. */
void task_cancel(struct task_threads *threads, struct task *task);

#endif

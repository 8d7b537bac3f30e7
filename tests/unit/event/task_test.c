/*
 * Task threads: results on the loop, bounds, cancelling, ending.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "event/task.h"

#define MANY 200

static struct loop *l;
static struct task_threads *threads;
static pthread_t loop_thread;

struct job {
    struct task task;
    int in, out;
    atomic_int worked;
    int done;
    bool was_cancelled;
    sem_t *started, *go; /* work() posts, then waits, where not NULL */
    bool again;          /* done() asks for it again */
    int refused;
};

static void
work(struct task *task)
{
    struct job *j = LIST_ITEM(task, struct job, task);

    assert_false(pthread_equal(pthread_self(), loop_thread));
    if (j->started != NULL) {
        sem_post(j->started);
        sem_wait(j->go);
    }
    j->out = j->in * 2;
    atomic_fetch_add(&j->worked, 1);
}

static void
done(struct task *task)
{
    struct job *j = LIST_ITEM(task, struct job, task);

    assert_true(pthread_equal(pthread_self(), loop_thread));
    j->done++;
    j->was_cancelled = task->cancelled;
    if (j->again) {
        j->again = false;
        j->refused = task_run(threads, task) == -1;
    }
}

static void
job_init(struct job *j)
{
    *j = (struct job){ .task = { .work = work, .done = done } };
}

static void
start(unsigned count, unsigned queue)
{
    struct errmsg err;

    loop_thread = pthread_self();
    l = loop_new(&err);
    threads = task_threads_new(l, count, queue, &err);
    assert_non_null(threads);
}

static void
stop(void)
{
    task_threads_free(&threads);
    task_threads_free(&threads);
    loop_free(&l);
}

static void
results_come_on_the_loop(void **state)
{
    static struct job jobs[MANY];
    int finished = 0;

    (void)state;
    start(4, MANY);
    for (int i = 0; i < MANY; i++) {
        job_init(&jobs[i]);
        jobs[i].in = i;
        assert_int_equal(task_run(threads, &jobs[i].task), 0);
    }
    while (finished < MANY) {
        loop_turn(l, -1);
        finished = 0;
        for (int i = 0; i < MANY; i++) {
            finished += jobs[i].done;
        }
    }
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(jobs[i].out, 2 * i);
        assert_int_equal(jobs[i].done, 1);
        assert_false(jobs[i].was_cancelled);
    }
    stop();
}

static void
may_run_again_from_done(void **state)
{
    struct job j;

    (void)state;
    start(1, 1);
    job_init(&j);
    j.again = true;
    assert_int_equal(task_run(threads, &j.task), 0);
    while (j.done < 2) {
        loop_turn(l, -1);
    }
    assert_int_equal(j.worked, 2);
    stop();
}

static void
full_queue_and_cancelling(void **state)
{
    struct job running, waiting, refused;
    sem_t started, go;

    (void)state;
    sem_init(&started, 0, 0);
    sem_init(&go, 0, 0);
    start(1, 1);
    job_init(&running);
    job_init(&waiting);
    job_init(&refused);
    running.started = &started;
    running.go = &go;
    assert_int_equal(task_run(threads, &running.task), 0);
    sem_wait(&started);
    assert_int_equal(task_run(threads, &waiting.task), 0);
    assert_int_equal(task_run(threads, &refused.task), -1);

    task_cancel(threads, &waiting.task); /* leaves room */
    assert_int_equal(waiting.done, 0);   /* not from within the call */
    assert_int_equal(task_run(threads, &refused.task), 0);
    task_cancel(threads, &running.task);
    sem_post(&go);
    while (running.done + waiting.done + refused.done < 3) {
        loop_turn(l, -1);
    }
    assert_true(waiting.was_cancelled);
    assert_int_equal(waiting.worked, 0);
    assert_true(running.was_cancelled);
    assert_int_equal(running.worked, 1);
    assert_false(refused.was_cancelled);
    assert_int_equal(refused.worked, 1);
    stop();
}

static void
ending_waits_for_what_runs_and_drops_the_rest(void **state)
{
    struct job running, waiting;
    sem_t started, go;

    (void)state;
    sem_init(&started, 0, 0);
    sem_init(&go, 0, 1);
    start(1, 5);
    job_init(&running);
    job_init(&waiting);
    running.started = waiting.started = &started;
    running.go = waiting.go = &go;
    waiting.again = true;
    assert_int_equal(task_run(threads, &running.task), 0);
    sem_wait(&started);
    assert_int_equal(task_run(threads, &waiting.task), 0);
    sem_post(&go); /* should the second run after all, it ends */
    stop();
    assert_int_equal(running.done, 1);
    assert_false(running.was_cancelled);
    assert_int_equal(running.worked, 1);
    assert_int_equal(waiting.done, 1);
    assert_int_equal(waiting.was_cancelled, !waiting.worked);
    assert_int_equal(waiting.refused, 1);
}

/* Signals go to the loop's thread, whose signalfd reads them. */
static int slow_done;

static void
work_nothing(struct task *task)
{
    (void)task;
}

/* Takes a millisecond of the loop's time. */
static void
done_slowly(struct task *task)
{
    int64_t until = clock_ms() + 1;

    (void)task;
    slow_done++;
    while (clock_ms() < until) {
    }
}

static void
a_turn_takes_results_for_a_while_only(void **state)
{
    struct task tasks[100];
    int most = 0;

    (void)state;
    start(2, 100);
    slow_done = 0;
    for (int i = 0; i < 100; i++) {
        tasks[i] = (struct task){ .work = work_nothing, .done = done_slowly };
        assert_int_equal(task_run(threads, &tasks[i]), 0);
    }
    while (slow_done < 100) {
        int before = slow_done;

        loop_turn(l, -1);
        most = slow_done - before > most ? slow_done - before : most;
    }
    assert_in_range(most, 1, 40);
    stop();
    assert_int_equal(slow_done, 100);
}

static void
masks(struct task *task)
{
    struct job *j = LIST_ITEM(task, struct job, task);
    sigset_t set;

    pthread_sigmask(SIG_SETMASK, NULL, &set);
    j->out = sigismember(&set, SIGTERM) && sigismember(&set, SIGHUP);
}

static void
threads_take_no_signals(void **state)
{
    struct job j;

    (void)state;
    start(1, 1);
    job_init(&j);
    j.task.work = masks;
    assert_int_equal(task_run(threads, &j.task), 0);
    while (j.done == 0) {
        loop_turn(l, -1);
    }
    assert_int_equal(j.out, 1);
    stop();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_come_on_the_loop),
        cmocka_unit_test(may_run_again_from_done),
        cmocka_unit_test(full_queue_and_cancelling),
        cmocka_unit_test(ending_waits_for_what_runs_and_drops_the_rest),
        cmocka_unit_test(threads_take_no_signals),
        cmocka_unit_test(a_turn_takes_results_for_a_while_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

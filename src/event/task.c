/*
 * A set of threads that run tasks, and the way of the results to the loop.
 *
 * A task is in the queue, or running, or finished; the lock guards the lists.
 * The eventfd is written when the list of finished tasks stops being empty.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "event/task.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "event/loop_impl.h"

#define STACK_SIZE 1048576

struct task_threads {
    struct io io;
    struct loop *loop; /* borrowed */
    int eventfd;
    pthread_t *threads; /* owned */
    unsigned count;     /* that run */
    unsigned wanted;    /* to run; with the first task */
    unsigned room;      /* tasks that may still be queued */
    bool stopping;
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct list queue;    /* waiting */
    struct list finished; /* done() not yet called */
};

static void
finish(struct task_threads *t, struct task *task)
{
    if (list_empty(&t->finished)) {
        eventfd_write(t->eventfd, 1);
    }
    list_append(&t->finished, &task->link);
}

static void *
run_thread(void *arg)
{
    struct task_threads *t = arg;

    pthread_mutex_lock(&t->lock);
    for (;;) {
        while (list_empty(&t->queue) && !t->stopping) {
            pthread_cond_wait(&t->work, &t->lock);
        }
        if (t->stopping) {
            break;
        }
        struct task *task = LIST_ITEM(t->queue.next, struct task, link);

        list_remove(&task->link);
        t->room++;
        pthread_mutex_unlock(&t->lock);
        task->work(task);
        pthread_mutex_lock(&t->lock);
        finish(t, task);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* Results that have to wait for the next turn go first then. */
static void
give_back(struct task_threads *t, struct list *finished)
{
    pthread_mutex_lock(&t->lock);
    list_splice(finished, &t->finished);
    list_splice(&t->finished, finished);
    pthread_mutex_unlock(&t->lock);
    eventfd_write(t->eventfd, 1);
}

/* Calls done() of what is finished, for its share of a turn or, at the end, all
 * of it. */
static void
call_done(struct task_threads *t, bool all)
{
    int64_t share = loop_share();
    struct list finished;

    list_init(&finished);
    pthread_mutex_lock(&t->lock);
    list_splice(&finished, &t->finished);
    pthread_mutex_unlock(&t->lock);
    while (!list_empty(&finished)) {
        struct task *task = LIST_ITEM(finished.next, struct task, link);

        list_remove(&task->link);
        task->done(task);
        if (!all && loop_share_used(share)) {
            break;
        }
    }
    if (!list_empty(&finished)) {
        give_back(t, &finished);
    }
}

static void
on_finished(struct io *io, unsigned ready)
{
    struct task_threads *t = LIST_ITEM(io, struct task_threads, io);
    eventfd_t count;

    (void)ready;
    eventfd_read(t->eventfd, &count);
    call_done(t, false);
}

/* Signals go to the loop's thread, except those that a thread itself causes;
 * stacks are small. */
static int
start_threads(struct task_threads *t)
{
    static const int own[] = {
        SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS
    };
    pthread_attr_t attr;
    sigset_t all, old;
    int rc = 0;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_SIZE);
    sigfillset(&all);
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        sigdelset(&all, own[i]);
    }
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (t->count < t->wanted && rc == 0) {
        rc = pthread_create(&t->threads[t->count], &attr, run_thread, t);
        t->count += rc == 0;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return t->count > 0 ? 0 : -1;
}

struct task_threads *
task_threads_new(struct loop *l, unsigned count, unsigned queue,
                 struct errmsg *err)
{
    struct task_threads *t = mem_zero(sizeof(*t));

    io_init(&t->io);
    t->loop = l;
    t->room = queue;
    t->wanted = count;
    t->threads = mem_zero((count > 0 ? count : 1) * sizeof(t->threads[0]));
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->work, NULL);
    list_init(&t->queue);
    list_init(&t->finished);
    t->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (t->eventfd == -1 ||
        io_start(l, &t->io, t->eventfd, IO_READ, on_finished) == -1) {
        errmsg_sys(err, "cannot watch task threads");
        task_threads_free(&t);
    }
    return t;
}

static void
join_threads(struct task_threads *t)
{
    pthread_mutex_lock(&t->lock);
    t->stopping = true;
    pthread_cond_broadcast(&t->work);
    pthread_mutex_unlock(&t->lock);
    for (unsigned i = 0; i < t->count; i++) {
        pthread_join(t->threads[i], NULL);
    }
}

void
task_threads_free(struct task_threads **threads)
{
    struct task_threads *t = *threads;

    if (t == NULL) {
        return;
    }
    join_threads(t);
    LIST_EACH (node, &t->queue) {
        LIST_ITEM(node, struct task, link)->cancelled = true;
    }
    list_splice(&t->finished, &t->queue);
    call_done(t, true);
    io_stop(t->loop, &t->io);
    if (t->eventfd != -1) {
        close(t->eventfd);
    }
    pthread_cond_destroy(&t->work);
    pthread_mutex_destroy(&t->lock);
    mem_free(&t->threads);
    mem_free(threads);
}

int
task_run(struct task_threads *t, struct task *task)
{
    int rc = -1;

    task->cancelled = false;
    if (!t->stopping && t->count < t->wanted && start_threads(t) == -1) {
        return -1;
    }
    pthread_mutex_lock(&t->lock);
    if (t->room > 0 && !t->stopping) {
        t->room--;
        list_append(&t->queue, &task->link);
        pthread_cond_signal(&t->work);
        rc = 0;
    }
    pthread_mutex_unlock(&t->lock);
    return rc;
}

/* Whether task waits in the queue; the lock is held. */
static bool
is_queued(const struct task_threads *t, const struct task *task)
{
    LIST_EACH (node, &t->queue) {
        if (node == &task->link) {
            return true;
        }
    }
    return false;
}

void
task_cancel(struct task_threads *t, struct task *task)
{
    task->cancelled = true;
    pthread_mutex_lock(&t->lock);
    if (is_queued(t, task)) {
        list_remove(&task->link);
        t->room++;
        finish(t, task);
    }
    pthread_mutex_unlock(&t->lock);
}

/*
 * Work of a directory, for a thread: one piece after the other, in the order in
 * which it was asked for.  So a folder is not removed while a result is moved
 * out of it, and a slow disk holds one thread at most.
 *
 * A piece waits in place.waiting, then a thread is at it (place.running), then
 * its owner is told on the loop, and it is freed.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/place_impl.h"

#include <unistd.h>

#include "base/mem.h"

#define AGAIN_MS 100 /* the queue of the threads was full */

static void pump(struct place *p);

void
place_base_drop(struct place_base *b)
{
    if (--b->holds > 0) {
        return;
    }
    if (b->root != -1) {
        close(b->root);
    }
    if (b->hidden != -1) {
        close(b->hidden);
    }
    mem_free(&b);
}

static void
free_work(struct place_work *w)
{
    if (w->clear != NULL) {
        w->clear(w);
    }
    place_base_drop(w->base);
    mem_free(&w);
}

/* ---- a thread is at it ---- */

static void
on_work(struct task *task)
{
    struct place_work *w = LIST_ITEM(task, struct place_work, task);

    w->run(w);
}

/* A callback may free the place, which then is not touched any more. */
static void
on_done(struct task *task)
{
    struct place_work *w = LIST_ITEM(task, struct place_work, task);

    if (w->place != NULL && task->cancelled) {
        w->ok = false;
        errmsg_set(&w->why, "weir stops");
    } else if (w->place != NULL && w->end != NULL) {
        w->end(w);
    }
    if (w->place != NULL && w->done != NULL) {
        w->done(w->arg, w->ok, w->name, w->why.text, w->size);
    }
    if (w->place != NULL) {
        w->place->running = NULL;
        pump(w->place);
    }
    free_work(w);
}

static void
on_again(struct timer *t)
{
    pump(LIST_ITEM(t, struct place, again));
}

/* Gives the next piece to a thread. */
static void
pump(struct place *p)
{
    struct place_work *w;

    if (p->running != NULL || list_empty(&p->waiting)) {
        return;
    }
    w = LIST_ITEM(p->waiting.next, struct place_work, link);
    if (task_run(p->threads, &w->task) == -1) {
        timer_init(&p->again, on_again);
        timer_set(p->loop, &p->again, AGAIN_MS);
        return;
    }
    list_remove(&w->link);
    p->running = w;
}

/* ---- its owner ---- */

void *
place_work_new(struct place *p, size_t size, void (*run)(struct place_work *w),
               place_done *done, void *arg)
{
    struct place_work *w = mem_zero(size);

    w->task = (struct task){ .work = on_work, .done = on_done };
    list_init(&w->task.link);
    list_init(&w->link);
    w->place = p;
    w->base = p->base;
    w->base->holds++;
    w->run = run;
    w->done = done;
    w->arg = arg;
    w->name = STR_NONE;
    return w;
}

void
place_work_start(struct place_work *w)
{
    list_append(&w->place->waiting, &w->link);
    pump(w->place);
}

void
place_forget(struct place_work **w)
{
    if (*w != NULL) {
        (*w)->done = NULL;
        *w = NULL;
    }
}

void
place_work_stop_all(struct place *p)
{
    LIST_EACH (node, &p->waiting) {
        list_remove(node);
        free_work(LIST_ITEM(node, struct place_work, link));
    }
    if (p->running != NULL) {
        p->running->place = NULL;
    }
    timer_stop(p->loop, &p->again);
}

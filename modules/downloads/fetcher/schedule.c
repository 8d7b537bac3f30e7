/*
 * Which entry runs next: the oldest of the queue, as many as max_concurrent.
 *
 * Nothing starts while the directory has less than min_free, or is not there;
 * the log and weirctl say so.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "fetcher/life.h"
#include "fetcher/nodes.h"
#include "fetcher/queue.h"
#include "fetcher/tell.h"
#include "proc/starter.h"

#define LOOK_MS 5000 /* at the disk, while nothing starts */
#define TURN_MS 1000 /* until it is looked whether there are fewer programs */
#define KEPT 8       /* programs that only extractions may start */

static void
set_pause(struct queue *q, const char *why)
{
    if (strcmp(q->pause, why) == 0) {
        return;
    }
    q->pause = why;
    if (why[0] != '\0') {
        log_warn("downloads %.*s: nothing starts: %s", STR_ARGS(q->plan.name),
                 why);
    } else {
        log_notice("downloads %.*s: downloads start again",
                   STR_ARGS(q->plan.name));
    }
}

static void
open_place(struct queue *q)
{
    struct fetcher *f = q->fetcher;
    struct errmsg why;

    if (q->place != NULL) {
        return;
    }
    q->place = place_new(f->loop, f->threads, q->plan.directory, &why);
    if (q->place != NULL && q->loaded) {
        nodes_sweep(q); /* else that is done when the lists are there */
    }
}

/* Whether there is room; if not, it is looked at again. */
static bool
may_start(struct queue *q)
{
    int64_t space;

    open_place(q);
    if (q->place == NULL) {
        set_pause(q, "its directory is not there");
    } else {
        space = place_free_bytes(q->place);
        set_pause(q, space >= 0 && space < q->plan.min_free
                         ? "the disk has less than min_free"
                         : "");
    }
    if (q->pause[0] != '\0' && !timer_is_set(&q->retry)) {
        timer_set(q->fetcher->loop, &q->retry, LOOK_MS);
    }
    return q->pause[0] == '\0';
}

bool
schedule_is_open(const struct queue *q)
{
    return q->loaded && !q->retired && !q->fetcher->draining &&
           !q->fetcher->stopping;
}

static bool
is_next(const struct entry *e)
{
    return e->phase == PHASE_IDLE && !e->foreign && list_empty(&e->ops);
}

/* Programs of this node, with those that are about to start. */
static size_t
count_programs(const struct fetcher *f)
{
    size_t n = starter_running(f->starter);

    LIST_EACH (node, &f->queues) {
        const struct queue *q = LIST_ITEM(node, struct queue, link);

        n += q->busy - q->running;
    }
    return n;
}

/* Leaves some of the starter's places to extractions.  Where none is left for a
 * download, a timer looks again. */
static bool
has_turn(struct queue *q)
{
    if (!q->crowded && count_programs(q->fetcher) < STARTER_RUNS - KEPT) {
        return true;
    }
    if (!timer_is_set(&q->retry)) {
        timer_set(q->fetcher->loop, &q->retry, TURN_MS);
    }
    return false;
}

bool
schedule_has_place(struct queue *q)
{
    return schedule_is_open(q) && q->busy < (size_t)q->plan.max_concurrent &&
           has_turn(q) && may_start(q);
}

static void
start_some(struct queue *q)
{
    LIST_EACH (node, &q->lists[LIST_QUEUE]) {
        struct entry *e = LIST_ITEM(node, struct entry, link);

        if (q->busy >= (size_t)q->plan.max_concurrent) {
            return;
        }
        if (is_next(e)) {
            if (!has_turn(q) || !may_start(q)) {
                return;
            }
            life_begin(e);
        }
    }
}

static void
on_act(struct later *later)
{
    struct queue *q = LIST_ITEM(later, struct queue, act);

    if (!schedule_is_open(q)) {
        return;
    }
    LIST_EACH (node, &q->canceled) {
        struct entry *e = LIST_ITEM(node, struct entry, link);

        if (is_next(e)) {
            life_begin(e);
        }
    }
    start_some(q);
}

void
queue_schedule(struct queue *q)
{
    loop_later(q->fetcher->loop, &q->act);
}

static void
again(struct list *list)
{
    LIST_EACH (node, list) {
        life_again(LIST_ITEM(node, struct entry, link));
    }
}

static void
on_retry(struct timer *timer)
{
    struct queue *q = LIST_ITEM(timer, struct queue, retry);

    q->crowded = false;
    again(&q->lists[LIST_QUEUE]);
    again(&q->canceled);
    queue_schedule(q);
}

void
schedule_start(struct queue *q)
{
    q->pause = "";
    later_init(&q->act, on_act);
    timer_init(&q->retry, on_retry);
}

static void
abort_all(struct list *list)
{
    LIST_EACH (node, list) {
        life_abort(LIST_ITEM(node, struct entry, link));
    }
}

void
schedule_stop(struct queue *q)
{
    later_cancel(&q->act);
    timer_stop(q->fetcher->loop, &q->retry);
    abort_all(&q->lists[LIST_QUEUE]);
    abort_all(&q->canceled);
}

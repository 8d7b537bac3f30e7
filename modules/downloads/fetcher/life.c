/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/life.h"

#include "base/clock.h"
#include "base/log.h"
#include "fetcher/nodes.h"
#include "fetcher/tell.h"

#define RETRY_MS 1000

static void
set_phase(struct entry *e, enum entry_phase phase)
{
    struct queue *q = e->queue;

    q->busy += (size_t)(phase != PHASE_IDLE);
    q->busy -= (size_t)(e->phase != PHASE_IDLE);
    e->phase = (uint8_t)phase;
}

static void
count_run(struct queue *q, bool more)
{
    int64_t sum = 0;

    q->running = more ? q->running + 1 : q->running - 1;
    LIST_EACH (node, &q->fetcher->queues) {
        sum += (int64_t)LIST_ITEM(node, struct queue, link)->running;
    }
    metric_set(&downloads_metrics[DOWNLOADS_RUNS], 0, sum);
}

static void
count_end(enum downloads_end end)
{
    const struct metric *m = &downloads_metrics[DOWNLOADS_ENDED];

    metric_add(m, metric_at(m, end, 0, 0), 1);
}

static void
try_later(struct queue *q)
{
    if (!timer_is_set(&q->retry)) {
        timer_set(q->fetcher->loop, &q->retry, RETRY_MS);
    }
}

/* ---- its end ---- */

static void
set_end(struct entry *e, enum entry_status status, struct str msg)
{
    e->status = (uint8_t)status;
    e->finished_ms = clock_wall_ms();
    e->speed = e->eta = -1;
    entry_set_text(&e->msg, msg);
    if (status == STATUS_FINISHED) {
        e->percent = 100000;
    } else {
        entry_set_text(&e->filename, STR_NONE);
        e->size = -1;
    }
}

static void
on_finished(void *arg, struct entry *e, enum store_status status)
{
    struct queue *q = arg;

    if (e == NULL || status == STORE_MISSING) {
        return; /* canceled meanwhile, or another node has it: nodes.c looks */
    }
    if (status == STORE_OK) {
        count_end(e->status == STATUS_FINISHED ? DOWNLOADS_END_FINISHED
                                               : DOWNLOADS_END_ERROR);
        set_phase(e, PHASE_IDLE);
        if (q->place != NULL) { /* what place_find() would find */
            place_drop(q->place, e->number, NULL, NULL);
        }
        return;
    }
    log_limited(LOG_WARN, "downloads %.*s: the end of %.*s is not kept yet: %s",
                STR_ARGS(q->plan.name), STR_ARGS(e->facts->url),
                store_status_text(status));
    try_later(q);
}

static void
finish(struct entry *e)
{
    set_phase(e, PHASE_FINISH);
    queue_ask(e, TRIGGER_FINISH, on_finished, e->queue);
}

static void
on_gone(void *arg, struct entry *e, enum store_status status)
{
    struct queue *q = arg;

    if (status == STORE_OK) {
        count_end(DOWNLOADS_END_CANCELED);
    } else if (e != NULL) {
        try_later(q);
    }
}

/* ---- files ---- */

static void
on_dropped(void *arg, bool ok, struct str name, const char *msg, int64_t size)
{
    struct entry *e = arg;

    (void)name;
    (void)size;
    e->work = NULL;
    if (!ok) {
        log_limited(LOG_WARN, "downloads %.*s: files of %.*s stay: %s",
                    STR_ARGS(e->queue->plan.name), STR_ARGS(e->facts->url),
                    msg);
    }
    if (e->canceled && !ok) {
        try_later(e->queue);
    } else if (e->canceled) {
        set_phase(e, PHASE_FINISH);
        queue_ask(e, TRIGGER_GONE, on_gone, e->queue);
    } else {
        finish(e);
    }
}

static void
drop(struct entry *e)
{
    set_phase(e, PHASE_DROP);
    if (e->queue->place == NULL) {
        on_dropped(e, true, STR_NONE, NULL, 0);
        return;
    }
    e->work = place_drop(e->queue->place, e->number, on_dropped, e);
}

static void
fail(struct entry *e, const char *msg)
{
    if (e->canceled) {
        drop(e);
        return;
    }
    set_end(e, STATUS_ERROR, str_from(msg));
    tell_updated(e, true);
    drop(e);
}

/* The result of a canceled one goes, too. */
static void
on_removed(void *arg, bool ok, struct str name, const char *msg, int64_t size)
{
    struct entry *e = arg;

    (void)name;
    (void)size;
    e->work = NULL;
    if (!ok) {
        log_warn("downloads %.*s: a file of %.*s stays: %s",
                 STR_ARGS(e->queue->plan.name), STR_ARGS(e->facts->url), msg);
    }
    drop(e);
}

/* Its file stands in its place already. */
static void
remove_result(struct entry *e, struct str name)
{
    set_phase(e, PHASE_TAKE);
    e->work =
        place_remove(e->queue->place, e->facts->folder, name, on_removed, e);
}

static void
on_taken_file(void *arg, bool ok, struct str name, const char *msg,
              int64_t size)
{
    struct entry *e = arg;

    e->work = NULL;
    if (e->canceled && ok) {
        entry_set_text(&e->filename, name);
        remove_result(e, e->filename);
        return;
    }
    if (!ok) {
        fail(e, msg);
        return;
    }
    set_end(e, STATUS_FINISHED, STR_NONE);
    entry_set_text(&e->filename, name);
    e->size = size;
    tell_updated(e, true);
    finish(e);
}

/* ---- the run ---- */

static void
on_progress(void *arg, const struct run_progress *p)
{
    struct entry *e = arg;
    bool at_once = e->status != p->status;

    e->status = (uint8_t)p->status;
    e->percent = p->percent;
    e->speed = p->speed;
    e->eta = p->eta;
    if (p->name.len > 0 && !str_eq(p->name, e->filename)) {
        entry_set_text(&e->filename, p->name);
    }
    queue_changed(e->queue);
    if (!e->canceled) {
        tell_updated(e, at_once);
        nodes_say(e);
    }
}

static void
leave_run(struct entry *e)
{
    e->run = NULL;
    count_run(e->queue, false);
}

/* It waits again: a node that has the right to it begins anew. */
static void
rest(struct entry *e)
{
    set_phase(e, PHASE_IDLE);
    e->status = STATUS_PENDING;
    e->percent = e->speed = e->eta = -1;
    entry_set_text(&e->filename, STR_NONE);
    queue_changed(e->queue);
}

/* Another node may run it; this one wants it again when it is its turn. */
static void
give_back(struct entry *e)
{
    rest(e);
    nodes_leave(e);
}

static void
on_run_end(void *arg, const struct run_result *r)
{
    struct entry *e = arg;
    struct queue *q = e->queue;

    leave_run(e);
    if (r->killed) {
        rest(e);
    } else if (e->canceled) {
        drop(e);
    } else if (r->finished && r->file.len > 0) {
        set_phase(e, PHASE_TAKE);
        const struct place_move move = { e->number, r->file, e->facts->folder,
                                         e->facts->name };

        e->work = place_take(q->place, &move, on_taken_file, e);
    } else if (r->finished) {
        set_end(e, STATUS_FINISHED, r->msg);
        drop(e);
    } else {
        set_end(e, STATUS_ERROR, r->msg);
        tell_updated(e, true);
        drop(e);
    }
    queue_schedule(q);
}

static const struct run_handlers run_handlers = {
    .on_progress = on_progress,
    .on_end = on_run_end,
};

static void
run(struct entry *e)
{
    struct errmsg why;
    bool later;

    set_phase(e, PHASE_RUN);
    e->status = STATUS_PREPARING;
    e->run = run_start(e, &run_handlers, e, &later, &why);
    if (e->run == NULL && later) {
        log_limited(LOG_WARN, "downloads %.*s: %.*s waits: %s",
                    STR_ARGS(e->queue->plan.name), STR_ARGS(e->facts->url),
                    why.text);
        give_back(e);
        e->queue->crowded = true;
        try_later(e->queue);
        return;
    }
    if (e->run == NULL) {
        fail(e, why.text);
        return;
    }
    count_run(e->queue, true);
    tell_updated(e, true);
    nodes_say(e);
}

/* ---- its turn ---- */

/* An earlier fetcher may have moved its file, and died before it could write
 * the end. */
static void
on_found(void *arg, bool ok, struct str name, const char *msg, int64_t size)
{
    struct entry *e = arg;

    if (ok) {
        on_taken_file(arg, ok, name, msg, size);
        return;
    }
    e->work = NULL;
    if (e->canceled) {
        drop(e);
    } else {
        run(e);
    }
}

static void
find(struct entry *e)
{
    set_phase(e, PHASE_TAKE);
    e->work =
        place_find(e->queue->place, e->number, e->facts->folder, on_found, e);
}

/* Removes what an earlier run has left. */
static void
clean(struct entry *e)
{
    if (e->started_ms >= 0 && e->queue->place != NULL) {
        find(e);
    } else {
        drop(e);
    }
}

static void
on_claimed(void *arg, struct entry *e, enum store_status status)
{
    struct queue *q = arg;

    if (e == NULL || e->phase != PHASE_CLAIM) {
        return;
    }
    if (e->canceled) {
        clean(e);
    } else if (status != STORE_OK) {
        rest(e);
        try_later(q);
    } else if (!nodes_has(e) || q->place == NULL || q->retired) {
        give_back(e);
    } else if (e->again) {
        find(e);
    } else {
        run(e);
    }
}

static void
claim(struct entry *e)
{
    set_phase(e, PHASE_CLAIM);
    e->again = e->started_ms >= 0;
    e->started_ms = clock_wall_ms();
    queue_ask(e, TRIGGER_CLAIM, on_claimed, e->queue);
}

void
life_begin(struct entry *e)
{
    set_phase(e, PHASE_LEASE);
    if (nodes_want(e)) {
        schedule_taken(e);
    }
}

/* One whose node is dead comes without its turn. */
static bool
may_begin(const struct entry *e)
{
    return e->phase == PHASE_LEASE ? schedule_is_open(e->queue)
                                   : schedule_has_place(e->queue);
}

void
schedule_taken(struct entry *e)
{
    e->foreign = false;
    if (e->phase != PHASE_IDLE && e->phase != PHASE_LEASE) {
        return;
    }
    if (e->canceled) {
        clean(e);
    } else if (may_begin(e)) {
        claim(e);
    } else {
        give_back(e);
    }
}

/* Another node may have begun by now. */
void
schedule_lost(struct entry *e)
{
    life_abort(e);
    queue_schedule(e->queue);
}

void
schedule_cancel(struct entry *e)
{
    switch ((enum entry_phase)e->phase) {
    case PHASE_RUN:
        run_cancel(e->run);
        break;
    case PHASE_IDLE:
        life_begin(e);
        break;
    case PHASE_FINISH: /* its end could not be written yet */
        if (e->filename.len > 0 && e->queue->place != NULL) {
            remove_result(e, e->filename);
        } else {
            drop(e);
        }
        break;
    case PHASE_LEASE:
    case PHASE_CLAIM:
    case PHASE_TAKE:
    case PHASE_DROP:
        break;
    }
}

void
life_again(struct entry *e)
{
    if (!list_empty(&e->ops) || e->work != NULL) {
        return;
    }
    if (e->phase == PHASE_FINISH && !e->canceled) {
        finish(e);
    } else if (e->phase == PHASE_FINISH) {
        queue_ask(e, TRIGGER_GONE, on_gone, e->queue);
    } else if (e->phase == PHASE_DROP) {
        drop(e);
    } else if (e->phase == PHASE_IDLE && e->canceled && !e->foreign) {
        life_begin(e);
    }
}

/* An end that is being written goes on: the row knows who runs it. */
void
life_abort(struct entry *e)
{
    if (e->phase == PHASE_FINISH && !list_empty(&e->ops)) {
        return;
    }
    place_forget(&e->work);
    if (e->run != NULL) {
        run_abort(e->run); /* on_run_end() follows */
    } else if (e->phase != PHASE_IDLE) {
        rest(e);
    }
}

void
life_end(struct entry *e)
{
    place_forget(&e->work);
    if (e->run != NULL) {
        run_forget(&e->run);
        leave_run(e);
    }
    set_phase(e, PHASE_IDLE);
}

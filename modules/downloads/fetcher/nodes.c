/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/nodes.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "fetcher/keep.h"
#include "fetcher/life.h"
#include "fetcher/tell.h"
#include "store/lease.h"

#define AGAIN_MS 1000
#define LOOKS_MAX 256 /* reads of single rows; more: all are read again */

/* ---- rows ---- */

/* Another node runs it: its lease says how far it is, and whether that node
 * lives. */
static void
follow_runner(struct entry *e, struct str runner)
{
    const struct fetcher *f = e->queue->fetcher;

    if (!f->shared || runner.len == 0 || str_eq(runner, f->node)) {
        return;
    }
    if (nodes_has(e)) { /* that node is dead, or the row is an old one */
        if (e->phase == PHASE_FINISH) { /* its end cannot be kept any more */
            life_abort(e);
            queue_schedule(e->queue);
        }
        return;
    }
    if (e->phase != PHASE_IDLE && e->phase != PHASE_LEASE) {
        life_abort(e);
    }
    e->foreign = true;
    nodes_want(e);
}

/* Whether a row that was asked for at that change may be older than what is
 * known here: then it would undo a transition, or bring back an entry that has
 * gone. */
static bool
may_be_old(const struct queue *q, const struct entry *e, int64_t asked)
{
    return (e != NULL ? e->changed : q->left) > asked;
}

/* A row as it was read after that change. */
static void
take_row(struct queue *q, const struct keep_row *row, int64_t asked)
{
    struct entry *e = queue_of_row(q, row->facts.url, row->number);
    bool old = may_be_old(q, e, asked);

    if (row->state == STATE_NONE) {
        return;
    }
    if (e == NULL && row->state != STATE_DONE &&
        queue_is_adding(q, row->facts.url)) {
        return; /* the answer to that brings it */
    }
    if (e != NULL && !list_empty(&e->ops)) {
        e->stale = true;
    } else if (old) {
        nodes_look(q, row->number);
    } else if (e != NULL) {
        keep_update(e, row);
        queue_follow(e, row->state);
    } else {
        e = keep_entry(q, row);
        if (q->loaded) {
            queue_follow(e, row->state);
        } else {
            queue_put(e, row->state);
        }
    }
    if (e != NULL) {
        e->seen = q->round;
    }
    if (e != NULL && !old && row->state != STATE_DONE) {
        follow_runner(e, row->runner);
    }
}

/* ---- all of them ---- */

static void
end_unseen(struct queue *q, struct list *list)
{
    LIST_EACH (node, list) {
        struct entry *e = LIST_ITEM(node, struct entry, link);

        if (e->seen != q->round && list_empty(&e->ops)) {
            queue_follow(e, STATE_NONE);
        }
    }
}

static bool
knows_run(void *arg, int64_t number)
{
    const struct queue *q = arg;
    const struct entry *e;

    if (q->fetcher->shared && (number < 0 || number > q->load_from)) {
        return true; /* maybe of another node */
    }
    e = queue_by_number(q, number);
    return e != NULL && queue_state_of(e) != STATE_DONE;
}

void
nodes_sweep(struct queue *q)
{
    place_sweep(q->place, knows_run, q);
}

static void
loaded(struct queue *q)
{
    bool again = q->loaded;

    if (again) {
        for (size_t i = 0; i < ENTRY_LISTS; i++) {
            end_unseen(q, &q->lists[i]);
        }
        end_unseen(q, &q->canceled);
        return;
    }
    q->loaded = true;
    log_info("downloads %.*s: %zu pending, %zu in the queue, %zu done",
             STR_ARGS(q->plan.name), q->counts[LIST_PENDING],
             q->counts[LIST_QUEUE], q->counts[LIST_DONE]);
    if (q->place != NULL) {
        nodes_sweep(q);
    }
    tidy_look(q);
    queue_schedule(q);
    tell_loaded(q);
}

static void on_page(void *arg, const struct store_result *r);

static void
read_page(struct queue *q)
{
    q->load_change = q->change;
    q->load = keep_page(q, q->load_from, on_page, q);
}

static void
on_page(void *arg, const struct store_result *r)
{
    struct queue *q = arg;
    struct keep_row row;

    q->load = NULL;
    if (r->status != STORE_OK) {
        log_limited(LOG_WARN, "downloads %.*s: the queue cannot be read: %s",
                    STR_ARGS(q->plan.name), store_status_text(r->status));
        timer_set(q->fetcher->loop, &q->again, AGAIN_MS);
        return;
    }
    for (size_t i = 0; i < r->answer->rows; i++) {
        keep_take_row(r->answer, i, &row);
        take_row(q, &row, q->load_change);
        q->load_from = row.number;
    }
    if (r->answer->rows == KEEP_PAGE) {
        read_page(q);
    } else {
        loaded(q);
    }
}

static void
on_again(struct timer *timer)
{
    struct queue *q = LIST_ITEM(timer, struct queue, again);

    store_cancel(&q->load);
    q->round++;
    q->load_from = 0;
    read_page(q);
}

void
nodes_load(struct queue *q)
{
    timer_init(&q->again, on_again);
    on_again(&q->again);
}

/* ---- single rows ---- */

struct look { /* a row that is read again */
    struct list link;
    struct queue *queue;
    int64_t number; /* 0: by hash */
    int64_t asked;  /* queue.change then */
    struct store_call *call;
    bool again; /* it has changed since that was asked */
    nodes_looked *done;
    void *arg;
};

static struct look *look(struct queue *q, int64_t number, struct str hash);

static void
on_looked(void *arg, const struct store_result *r)
{
    struct look *l = arg;
    struct queue *q = l->queue;
    int64_t number = l->number, asked = l->asked;
    enum store_status status = r->status;
    bool again = l->again;
    nodes_looked *done = l->done;
    void *done_arg = l->arg;
    struct keep_row row;
    struct entry *e;

    list_remove(&l->link);
    mem_free(&l);
    if (status == STORE_OK && r->answer->rows > 0) {
        keep_take_row(r->answer, 0, &row);
        take_row(q, &row, asked);
    } else if (status == STORE_OK && number > 0) {
        e = queue_by_number(q, number);
        if (e != NULL && list_empty(&e->ops)) {
            queue_follow(e, STATE_NONE);
        } else if (e != NULL) {
            e->stale = true;
        }
    } else if (status != STORE_OK) {
        timer_set(q->fetcher->loop, &q->again, AGAIN_MS);
        again = false;
    }
    if (again && number > 0) {
        look(q, number, STR_NONE);
    }
    if (done != NULL) {
        done(done_arg, status);
    }
}

/* Reads a row again: that of the number, or, where that is 0, of the hash.
 * NULL: a look at it is under way and will be repeated, or so many are that all
 * rows are read again. */
static struct look *
look(struct queue *q, int64_t number, struct str hash)
{
    struct look *l;
    size_t count = 0;

    LIST_EACH (node, &q->looks) {
        l = LIST_ITEM(node, struct look, link);
        count++;
        if (number > 0 && l->number == number) {
            l->again = true;
            return NULL;
        }
    }
    if (count >= LOOKS_MAX) {
        timer_set(q->fetcher->loop, &q->again, 0);
        return NULL;
    }
    l = mem_zero(sizeof(*l));
    l->queue = q;
    l->number = number;
    l->asked = q->change;
    list_append(&q->looks, &l->link);
    l->call = number > 0 ? keep_one(number, on_looked, l)
                         : keep_new(q, hash, on_looked, l);
    return l;
}

void
nodes_look(struct queue *q, int64_t number)
{
    look(q, number, STR_NONE);
}

void
nodes_look_url(struct queue *q, struct str url, nodes_looked *done, void *arg)
{
    char room[KEEP_HASH];
    struct look *l = look(q, 0, keep_hash(url, room));

    if (l != NULL) {
        l->done = done;
        l->arg = arg;
    } else if (done != NULL) {
        done(arg, STORE_BUSY);
    }
}

/* ---- notices ---- */

static void
read_all_again(struct fetcher *f)
{
    LIST_EACH (node, &f->queues) {
        struct queue *q = LIST_ITEM(node, struct queue, link);

        timer_set(f->loop, &q->again, 0);
    }
}

/* The number in a notice.  Below 0: a client has cleared the entry, and its
 * file is to go, too. */
static void
look_at(struct queue *q, int64_t number)
{
    struct entry *e = number < 0 ? queue_by_number(q, -number) : NULL;

    if (e != NULL) {
        e->wiped = true;
    }
    if (number != 0) {
        look(q, number < 0 ? -number : number, STR_NONE);
    }
}

static void
on_heard(void *arg, struct str text)
{
    struct fetcher *f = arg;
    struct str tag = str_cut(&text, ' ');
    struct str what = str_cut(&text, ' ');
    struct queue *q;
    int64_t number;

    if (!f->shared || f->stopping) {
        return;
    }
    if (tag.len == 0) {
        read_all_again(f);
        return;
    }
    q = fetcher_find(f, text);
    if (q == NULL || str_eq(tag, str_from(f->tag))) {
        return;
    }
    if (str_starts(what, STR("#"))) {
        look(q, 0, str_skip(what, 1));
    } else if (str_to_int(what, -INT64_MAX, INT64_MAX, &number)) {
        look_at(q, number);
    }
}

void
nodes_listen(struct fetcher *f)
{
    store_listen(KEEP_TOPIC, on_heard, f);
}

void
nodes_deafen(struct fetcher *f)
{
    store_deafen(on_heard, f);
}

void
nodes_stop(struct queue *q)
{
    timer_stop(q->fetcher->loop, &q->again);
    store_cancel(&q->load);
    LIST_EACH (node, &q->looks) {
        struct look *l = LIST_ITEM(node, struct look, link);

        store_cancel(&l->call);
        list_remove(&l->link);
        mem_free(&l);
    }
}

/* ---- leases ---- */

static void
on_taken(void *arg)
{
    schedule_taken(arg);
}

static void
on_lost(void *arg, const char *reason)
{
    struct entry *e = arg;

    log_warn("downloads %.*s: %.*s: another node may run it now: %s",
             STR_ARGS(e->queue->plan.name), STR_ARGS(e->facts->url), reason);
    schedule_lost(e);
}

/* "STATUS PERCENT SPEED ETA SIZE FILENAME" */
static void
read_progress(struct entry *e, struct str state)
{
    int64_t numbers[5] = { STATUS_PENDING, -1, -1, -1, -1 };
    bool at_once;

    for (size_t i = 0; i < 5; i++) {
        struct str word = str_cut(&state, ' ');

        if (!str_to_int(word, -1, INT64_MAX, &numbers[i])) {
            numbers[i] = i == 0 ? STATUS_PENDING : -1;
        }
    }
    if (numbers[0] < STATUS_PENDING || numbers[0] > STATUS_ERROR) {
        return;
    }
    at_once = e->status != numbers[0];
    if (!at_once && e->percent == numbers[1] && e->speed == numbers[2] &&
        e->eta == numbers[3]) {
        return;
    }
    e->status = (uint8_t)numbers[0];
    e->percent = numbers[1];
    e->speed = numbers[2];
    e->eta = numbers[3];
    e->size = numbers[4];
    entry_set_text(&e->filename, state);
    queue_changed(e->queue);
    if (!e->canceled) {
        tell_updated(e, at_once);
    }
}

/* The lease of an entry was looked at: `node` has it, "" being nobody, and
 * `state` is what that node says of the run.  A node that has said nothing yet
 * may be about to give it back for want of a place.  To want it then would make
 * full nodes pass it to and fro. */
static void
on_seen(void *arg, struct str node, struct str state)
{
    struct entry *e = arg;

    if (node.len == 0 || (e->phase != PHASE_IDLE && e->phase != PHASE_LEASE)) {
        return;
    }
    if (e->phase == PHASE_IDLE && !e->foreign && state.len == 0) {
        return;
    }
    if (e->phase == PHASE_LEASE) {
        life_abort(e);
        queue_schedule(e->queue);
    }
    e->foreign = true;
    lease_want(e->lease);
    if (state.len > 0) {
        read_progress(e, state);
    }
}

static const struct lease_handlers handlers = {
    .on_taken = on_taken,
    .on_lost = on_lost,
    .on_seen = on_seen,
};

bool
nodes_want(struct entry *e)
{
    char name[LEASE_NAME_MAX + 1];

    if (e->lease == NULL) {
        snprintf(name, sizeof(name), "downloads/%" PRId64, e->number);
        e->lease = lease_new(str_from(name), &handlers, e);
    }
    return lease_want(e->lease);
}

void
nodes_leave(struct entry *e)
{
    if (e->lease != NULL) {
        lease_drop(e->lease);
    }
}

void
nodes_drop(struct entry *e)
{
    lease_free(&e->lease);
}

bool
nodes_has(const struct entry *e)
{
    return e->lease != NULL && lease_is_held(e->lease);
}

void
nodes_say(struct entry *e)
{
    char text[LEASE_STATE_MAX];

    if (!e->queue->fetcher->shared || !nodes_has(e)) {
        return;
    }
    snprintf(text, sizeof(text),
             "%u %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %.*s",
             (unsigned)e->status, e->percent, e->speed, e->eta, e->size,
             STR_ARGS(e->filename));
    lease_say(e->lease, str_from(text));
}

/*
 * The table of transitions, and the writes of each.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/queue.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "fetcher/keep.h"
#include "fetcher/life.h"
#include "fetcher/lists.h"
#include "fetcher/nodes.h"
#include "fetcher/tell.h"

/* ---- the table ---- */

static void
say_canceled(struct entry *e)
{
    tell_canceled(e->queue, e->facts->url);
}

static void
say_cleared(struct entry *e)
{
    tell_cleared(e->queue, e->facts->url);
}

static void
say_started(struct entry *e)
{
    tell_updated(e, true);
}

/* All that can happen to an entry.  A trigger that has no row for its state is
 * answered STORE_MISSING. */
static const struct transition {
    enum queue_trigger trigger;
    enum queue_state from, to;
    void (*tell)(struct entry *e); /* when it is committed; NULL: nobody */
} transitions[] = {
    { TRIGGER_ADD_WAITING, STATE_NONE, STATE_PENDING, tell_added },
    { TRIGGER_ADD, STATE_NONE, STATE_QUEUE, tell_added },
    { TRIGGER_START, STATE_PENDING, STATE_QUEUE, say_started },
    { TRIGGER_CLAIM, STATE_QUEUE, STATE_QUEUE, NULL },
    { TRIGGER_FINISH, STATE_QUEUE, STATE_DONE, tell_completed },
    { TRIGGER_CANCEL, STATE_PENDING, STATE_NONE, say_canceled },
    { TRIGGER_CANCEL, STATE_QUEUE, STATE_CANCELED, NULL },
    { TRIGGER_GONE, STATE_CANCELED, STATE_NONE, say_canceled },
    { TRIGGER_CLEAR, STATE_DONE, STATE_NONE, say_cleared },
};
#define TRANSITIONS (sizeof(transitions) / sizeof(*transitions))

static const struct transition *
find_transition(enum queue_trigger trigger, enum queue_state from)
{
    for (size_t i = 0; i < TRANSITIONS; i++) {
        if (transitions[i].trigger == trigger && transitions[i].from == from) {
            return &transitions[i];
        }
    }
    return NULL;
}

enum queue_state
queue_state_of(const struct entry *e)
{
    if (!e->listed) {
        return STATE_NONE;
    }
    return e->canceled ? STATE_CANCELED : (enum queue_state)e->list;
}

/* ---- their effects ---- */

static void answer_ops(struct entry *e);
static void let_in_held(struct queue *q);

/* Its end: nobody may know it any more. */
static void
let_go(struct entry *e)
{
    struct queue *q = e->queue;
    bool listed = e->listed;

    answer_ops(e);
    life_end(e);
    nodes_drop(e);
    tell_forget(e);
    lists_leave(e);
    entry_free(&e);
    if (listed) {
        let_in_held(q);
    }
}

/* The record of an earlier run of the same address. */
static void
replace_record(struct entry *e)
{
    struct entry *old = queue_find_done(e->queue, e->facts->url);

    if (old != NULL && old != e && str_eq(old->facts->url, e->facts->url)) {
        let_go(old);
    }
}

/* The transition is committed. */
static void
apply(struct entry *e, const struct transition *t)
{
    struct queue *q = e->queue;

    if (t->to == STATE_DONE) {
        replace_record(e);
    }
    if (t->to == t->from) {
        queue_row_changed(e);
    } else if (t->to != STATE_NONE) {
        queue_put(e, t->to);
    }
    if (t->tell != NULL) {
        t->tell(e);
    }
    if (t->to == STATE_CANCELED) {
        schedule_cancel(e);
    } else if (t->to == STATE_DONE) {
        life_end(e); /* maybe another node says so */
        nodes_drop(e);
        tidy_look(q);
    } else if (t->to == STATE_NONE) {
        let_go(e);
    }
    queue_schedule(q);
}

/* ---- transitions of other nodes ---- */

static const struct transition *
find_way(enum queue_state from, enum queue_state to)
{
    for (size_t i = 0; i < TRANSITIONS; i++) {
        if (transitions[i].from == from && transitions[i].to == to) {
            return &transitions[i];
        }
    }
    return NULL;
}

/* One transition of them. */
static void
follow_one(struct entry *e, enum queue_state from, enum queue_state to)
{
    const struct transition *t = find_way(from, to);
    const struct queue *q = e->queue;

    if (t == NULL) {
        log_alert("downloads: %.*s cannot go from %d to %d",
                  STR_ARGS(e->facts->url), (int)from, (int)to);
        return;
    }
    if ((to == STATE_DONE || to == STATE_NONE) && q->place != NULL) {
        /* As a fetcher that died would have. */
        place_drop(q->place, e->number, NULL, NULL);
    }
    if (from == STATE_DONE && to == STATE_NONE) {
        tidy_file(e);
    }
    apply(e, t);
}

/* Several transitions may have been made since this node has looked: they are
 * told as if each had been seen. */
void
queue_follow(struct entry *e, enum queue_state to)
{
    enum queue_state from = queue_state_of(e);

    if (from == to) {
        return;
    }
    if (find_way(from, to) == NULL) {
        enum queue_state between =
            from == STATE_QUEUE ? STATE_CANCELED : STATE_QUEUE;

        follow_one(e, from, between);
        from = between;
    }
    follow_one(e, from, to);
}

/* ---- writes ---- */

struct queue_op {
    struct list link;    /* in queue.ops */
    struct list waiting; /* in queue.backlog or queue.held */
    struct list turn;    /* in entry.ops */
    struct tally_holder client;
    struct entry *entry;
    enum queue_trigger trigger;
    const struct transition *transition; /* of the write under way */
    struct store_call *call;
    bool again;       /* of an add: it is written for the second time */
    queue_done *done; /* NULL: nobody asks any more */
    void *arg;
};

static void
op_free(struct queue_op *op)
{
    list_remove(&op->link);
    list_remove(&op->waiting);
    list_remove(&op->turn);
    mem_free(&op);
}

static void
op_wait(struct queue *q, struct queue_op *op)
{
    lanes_add(&q->backlog, &op->client, &op->waiting);
    loop_later(q->fetcher->loop, &q->pump);
}

static void
let_in_held(struct queue *q)
{
    LIST_EACH (node, &q->held) {
        list_remove(node);
        op_wait(q, LIST_ITEM(node, struct queue_op, waiting));
    }
}

/* The next of the entry may be written. */
static void
next_op(struct entry *e)
{
    if (!list_empty(&e->ops)) {
        op_wait(e->queue, LIST_ITEM(e->ops.next, struct queue_op, turn));
    } else if (e->stale) {
        e->stale = false;
        nodes_look(e->queue, e->number);
    }
}

/* Its write was asked for and answered by no, or by nobody: it may be committed
 * all the same, and there may be a row that is not in the lists here. */
static void
look_again(struct entry *e, enum store_status status)
{
    if (e->listed) {
        e->stale |= status == STORE_MISSING || status == STORE_DOWN;
    } else if (status == STORE_DOWN) {
        nodes_look_url(e->queue, e->facts->url, NULL, NULL);
    }
}

static struct entry *
find_other(const struct entry *e)
{
    return queue_find_url(e->queue, e->facts->url);
}

/* e may be gone after that. */
static void
op_end(struct queue_op *op, enum store_status status)
{
    struct entry *e = op->entry, *stays = e;
    const struct transition *t = op->transition;
    queue_done *done = op->done;
    void *arg = op->arg;
    bool goes;

    op_free(op);
    goes = status == STORE_OK ? t->to == STATE_NONE : !e->listed;
    if (goes) {
        stays = status == STORE_CONFLICT ? find_other(e) : NULL;
    }
    if (status != STORE_OK && t != NULL) {
        look_again(e, status);
    }
    if (status == STORE_OK) {
        apply(e, t);
    } else if (goes) {
        let_go(e);
    }
    if (!goes) {
        next_op(e);
    }
    if (done != NULL) {
        done(arg, stays, status);
    }
}

/* The store has answered which row stands in its place. */
static void
on_other_read(void *arg, enum store_status status)
{
    struct queue_op *op = arg;

    if (status != STORE_OK) {
        op_end(op, STORE_DOWN);
    } else if (find_other(op->entry) == NULL && !op->again) {
        op->again = true; /* it has gone by now, or goes */
        op->transition = NULL;
        op_wait(op->entry->queue, op);
    } else {
        op_end(op, STORE_CONFLICT);
    }
}

/* The address is in queue or pending, by another request or node. */
static void
meet_other(struct queue_op *op)
{
    struct entry *e = op->entry;

    if (find_other(e) != NULL) {
        op_end(op, STORE_CONFLICT);
    } else {
        nodes_look_url(e->queue, e->facts->url, on_other_read, op);
    }
}

static void
on_written(void *arg, const struct store_result *r)
{
    struct queue_op *op = arg;
    struct entry *e = op->entry;

    op->call = NULL;
    e->queue->writing--;
    e->queue->adding -= (size_t)(op->transition->from == STATE_NONE);
    loop_later(e->queue->fetcher->loop, &e->queue->pump);
    if (r->status == STORE_OK && op->transition->from == STATE_NONE) {
        e->number = r->answer[0].cells[0].n;
        metric_add(&downloads_metrics[DOWNLOADS_ADDED], 0, 1);
    }
    if (r->status == STORE_CONFLICT && op->transition->from == STATE_NONE) {
        meet_other(op);
    } else {
        op_end(op, r->status);
    }
}

/* An entry that goes has no turn for others. */
static void
answer_ops(struct entry *e)
{
    LIST_EACH (node, &e->ops) {
        struct queue_op *op = LIST_ITEM(node, struct queue_op, turn);
        queue_done *done = op->done;
        void *arg = op->arg;

        if (op->call != NULL) {
            store_cancel(&op->call);
            e->queue->writing--;
        }
        op_free(op);
        if (done != NULL) {
            done(arg, NULL, STORE_MISSING);
        }
    }
}

bool
queue_is_adding(const struct queue *q, struct str url)
{
    if (q->adding == 0) {
        return false;
    }
    LIST_EACH (node, &q->ops) {
        const struct queue_op *op = LIST_ITEM(node, struct queue_op, link);

        if (!op->entry->listed && op->call != NULL &&
            str_eq(op->entry->facts->url, url)) {
            return true;
        }
    }
    return false;
}

static bool
is_being_canceled(const struct queue *q, struct str url)
{
    LIST_EACH (node, &q->canceled) {
        if (str_eq(LIST_ITEM(node, struct entry, link)->facts->url, url)) {
            return true;
        }
    }
    return false;
}

bool
queue_is_held(const struct queue *q, struct str url)
{
    LIST_EACH (node, &q->held) {
        const struct queue_op *op = LIST_ITEM(node, struct queue_op, waiting);

        if (str_eq(op->entry->facts->url, url)) {
            return true;
        }
    }
    return false;
}

static void
op_begin(struct queue *q, struct queue_op *op)
{
    struct entry *e = op->entry;
    enum queue_state from = queue_state_of(e);

    if (from == STATE_NONE &&
        (queue_room(q) == 0 || queue_is_held(q, e->facts->url))) {
        op_end(op, STORE_BUSY);
        return;
    }
    if (from == STATE_NONE && is_being_canceled(q, e->facts->url)) {
        list_append(&q->held, &op->waiting);
        return;
    }
    op->transition = find_transition(op->trigger, from);
    if (op->transition == NULL) {
        op_end(op, STORE_MISSING);
        return;
    }
    q->writing++;
    q->adding += (size_t)(from == STATE_NONE);
    op->call = keep_write(e, op->trigger, from, on_written, op);
}

static void
on_pump(struct later *later)
{
    struct queue *q = LIST_ITEM(later, struct queue, pump);
    size_t turns = QUEUE_WRITES;

    while (q->writing < QUEUE_WRITES && !lanes_empty(&q->backlog) &&
           turns-- > 0) {
        op_begin(q,
                 LIST_ITEM(lanes_take(&q->backlog), struct queue_op, waiting));
    }
    if (q->writing < QUEUE_WRITES && !lanes_empty(&q->backlog)) {
        loop_later(q->fetcher->loop, &q->pump);
    }
}

void
queue_serve(struct queue *q, const struct tally_holder *client)
{
    static const struct tally_holder nobody;

    q->client = client != NULL ? *client : nobody;
}

void
queue_ask(struct entry *e, enum queue_trigger trigger, queue_done *done,
          void *arg)
{
    struct queue_op *op = mem_zero(sizeof(*op));
    bool first = list_empty(&e->ops);

    list_init(&op->link);
    list_init(&op->waiting);
    list_init(&op->turn);
    op->entry = e;
    op->client = e->queue->client;
    op->trigger = trigger;
    op->done = done;
    op->arg = arg;
    list_append(&e->queue->ops, &op->link);
    list_append(&e->ops, &op->turn);
    if (first) {
        op_wait(e->queue, op);
    }
}

/* ---- triggers ---- */

static int64_t
new_timestamp(struct queue *q)
{
    int64_t now = clock_wall_ms() * 1000000;

    q->newest_ns = now > q->newest_ns ? now : q->newest_ns + 1;
    return q->newest_ns;
}

void
queue_add(struct queue *q, const struct entry_facts *facts, bool waits,
          queue_done *done, void *arg)
{
    struct entry_facts *copy = entry_facts_copy(facts);
    struct entry *e;

    copy->timestamp_ns = new_timestamp(q);
    e = entry_new(q, copy);
    queue_ask(e, waits ? TRIGGER_ADD_WAITING : TRIGGER_ADD, done, arg);
}

void
queue_start(struct entry *e, queue_done *done, void *arg)
{
    queue_ask(e, TRIGGER_START, done, arg);
}

void
queue_cancel(struct entry *e, queue_done *done, void *arg)
{
    queue_ask(e, TRIGGER_CANCEL, done, arg);
}

void
queue_wipe(struct entry *e, queue_done *done, void *arg)
{
    queue_ask(e, TRIGGER_CLEAR, done, arg);
}

void
queue_forget(struct queue *q, void *arg)
{
    LIST_EACH (node, &q->ops) {
        struct queue_op *op = LIST_ITEM(node, struct queue_op, link);

        if (op->arg == arg) {
            op->done = NULL;
        }
    }
}

/* ---- life ---- */

void
queue_start_ops(struct queue *q)
{
    list_init(&q->ops);
    lanes_init(&q->backlog);
    queue_serve(q, NULL);
    list_init(&q->held);
    later_init(&q->pump, on_pump);
}

void
queue_stop_ops(struct queue *q)
{
    LIST_EACH (node, &q->ops) {
        struct queue_op *op = LIST_ITEM(node, struct queue_op, link);
        struct entry *e = op->entry;

        store_cancel(&op->call);
        op_free(op);
        if (!e->listed && list_empty(&e->ops)) {
            entry_free(&e);
        }
    }
    lanes_clear(&q->backlog);
    later_cancel(&q->pump);
}

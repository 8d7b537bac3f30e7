/*
 * The keeper's loop: taking in, making batches, answering, telling.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/sqlite/keeper.h"

#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "event/task.h"
#include "store/bus.h"
#include "store/metrics.h"
#include "store/sqlite/writer.h"

#define BATCH_MAX 256             /* calls of a transaction */
#define GATHER_MS 5               /* for others to join */
#define LATELY_US 100000          /* a batch so long ago tells of now */
#define WAITING_MAX 8192          /* calls that may wait for their batch */
#define WAITING_BYTES (64u << 20) /* and what they weigh */
#define AGAIN_MS 20               /* to a mailbox that was full */
#define COPY_MS 200     /* between copies of the log to the database */
#define SWEEP_MS 30000  /* between looks for the dead */
#define SLOW_US 1000000 /* for a transaction to be told of */

/* One at a time: nothing, a batch, a checkpoint. */
enum work { WORK_NONE, WORK_BATCH, WORK_CHECKPOINT };

static struct {
    struct loop *loop; /* borrowed; NULL: this is not the keeper */
    struct writer *writer;
    struct task_threads *threads;
    struct task task;
    enum work work;
    bool wal_whole; /* what came of a checkpoint */

    struct list waiting; /* struct writer_call */
    size_t count, bytes;
    struct timer gather;
    struct later begin;

    struct writer_batch batch;
    size_t expected; /* calls that a batch has of late */
    int64_t ended_us;

    struct list unsent; /* struct writer_call: answers */
    bool missed[SLOT_MAX];
    struct timer again;
    int64_t swept_ms, copied_ms;
    bool no_room; /* the last transaction found the disk full */
} k;

/* ---- telling ---- */

static void
try_again_later(void)
{
    if (!timer_is_set(&k.again)) {
        timer_set(k.loop, &k.again, AGAIN_MS);
    }
}

static bool
may_listen(uint32_t slot)
{
    int kind = atomic_load(&slot_card(slot)->kind);

    return slot != slot_self() && (kind == SLOT_WORKER || kind == SLOT_ROLE) &&
           slot_owner_alive(slot_owner_of(slot));
}

/* A process that missed notices gets HELLO once there is room. */
static void
hello(uint32_t slot)
{
    if (!may_listen(slot)) {
        k.missed[slot] = false;
    } else if (bus_send(slot, BUS_STORE_HELLO, NULL, 0, -1) == 0) {
        k.missed[slot] = false;
    } else {
        k.missed[slot] = true;
        try_again_later();
    }
}

static void
notify(const struct buf *message)
{
    for (uint32_t i = 1; i < slots_end(); i++) {
        if (k.missed[i] || !may_listen(i)) {
            continue;
        }
        if (bus_send(i, BUS_STORE_NOTICE, buf_data(message), buf_len(message),
                     -1) == -1) {
            k.missed[i] = true;
            metric_add(&store_metrics[STORE_NOTICES_LOST], 0, 1);
            try_again_later();
        }
    }
}

static void
notify_of(const struct writer_call *c)
{
    struct buf message;

    if (c->topic.len == 0) {
        return;
    }
    buf_init(&message, WIRE_NOTICE_BYTES);
    struct pack out = { .to = &message };
    struct store_value topic = store_text(c->topic), text = store_text(c->text);

    wire_put_value(&out, &topic);
    wire_put_value(&out, &text);
    if (!out.full) {
        notify(&message);
    }
    buf_clear(&message);
}

/* ---- answering ---- */

/* false: its mailbox is full. */
static bool
send_answer(const struct writer_call *c)
{
    return !slot_owner_alive(c->from) ||
           bus_send(slot_owner_number(c->from), BUS_STORE_ANSWER,
                    buf_data(&c->answer), buf_len(&c->answer), -1) == 0;
}

static void
answer(struct writer_call *c)
{
    if (send_answer(c)) {
        writer_call_free(&c);
        return;
    }
    list_append(&k.unsent, &c->link);
    try_again_later();
}

static void
on_again(struct timer *t)
{
    (void)t;
    LIST_EACH (node, &k.unsent) {
        struct writer_call *c = LIST_ITEM(node, struct writer_call, link);

        if (send_answer(c)) {
            list_remove(&c->link);
            writer_call_free(&c);
        }
    }
    for (uint32_t i = 1; i < slots_end(); i++) {
        if (k.missed[i]) {
            hello(i);
        }
    }
    if (!list_empty(&k.unsent)) {
        try_again_later();
    }
}

/* ---- after a transaction ---- */

static void
tell_room(const struct writer_batch *b)
{
    bool no_room = b->status == STORE_FULL;

    if (no_room && !k.no_room) {
        log_crit("the store cannot write: %s; writes are refused until there "
                 "is room",
                 b->why.text);
    } else if (k.no_room && b->status == STORE_OK) {
        log_notice("the store writes again: there is room");
    }
    if (no_room || b->status == STORE_OK) {
        k.no_room = no_room;
        metric_set(&store_metrics[STORE_NO_ROOM], 0, no_room);
    }
}

static void
account(const struct writer_batch *b)
{
    bool ok = b->status == STORE_OK;

    metric_add(&store_metrics[STORE_COMMITS], !ok, 1);
    metric_observe(&store_metrics[STORE_COMMIT_TIME], 0, b->us);
    metric_observe(&store_metrics[STORE_BATCH], 0, (int64_t)b->count);
    metric_set(&store_metrics[STORE_WAL_BYTES], 0, writer_log_bytes(k.writer));
    tell_room(b);
    if (!ok && b->status != STORE_FULL) {
        log_limited(LOG_ERROR, "the store cannot write: %s", b->why.text);
    }
    if (b->us >= SLOW_US) {
        log_limited(LOG_WARN,
                    "a transaction of the store with %zu writes took %lld ms",
                    b->count, (long long)(b->us / 1000));
    }
}

static void
finish_call(struct writer_call *c)
{
    if (c->replayed) {
        metric_add(&store_metrics[STORE_REPLAYED], 0, 1);
    }
    if (c->status == STORE_FAILED) {
        log_limited(LOG_ERROR, "the store was asked what it cannot do: %s",
                    c->why.text);
    }
    notify_of(c);
    answer(c);
}

/* As many as the last batch had; fewer are believed step by step, for a crowd
 * that came in two parts once is a crowd all the same. */
static size_t
expect(size_t count)
{
    return count > k.expected ? count : (7 * k.expected + count) / 8;
}

static void
finish_batch(void)
{
    struct writer_batch *b = &k.batch;

    account(b);
    k.expected = expect(b->count);
    k.ended_us = clock_us();
    LIST_EACH (node, &b->calls) {
        struct writer_call *c = LIST_ITEM(node, struct writer_call, link);

        list_remove(&c->link);
        finish_call(c);
    }
}

/* ---- the thread ---- */

static void start_work(enum work work);

static void
work(struct task *task)
{
    (void)task;
    if (k.work == WORK_BATCH) {
        writer_run(k.writer, &k.batch);
    } else {
        k.wal_whole = writer_checkpoint(k.writer);
    }
}

static void
done(struct task *task)
{
    enum work was = k.work;

    (void)task;
    k.work = WORK_NONE;
    if (was == WORK_BATCH) {
        finish_batch();
        if (writer_wants_checkpoint(k.writer) &&
            loop_now(k.loop) - k.copied_ms >= COPY_MS) {
            k.copied_ms = loop_now(k.loop);
            start_work(WORK_CHECKPOINT);
        }
    }
    if (was == WORK_CHECKPOINT) {
        metric_add(&store_metrics[STORE_CHECKPOINTS], !k.wal_whole, 1);
        metric_set(&store_metrics[STORE_WAL_BYTES], 0,
                   writer_log_bytes(k.writer));
    }
    loop_later(k.loop, &k.begin);
}

static void
start_work(enum work what)
{
    k.work = what;
    if (task_run(k.threads, &k.task) == -1) {
        k.work = WORK_NONE; /* the keeper stops, or has no thread */
        timer_set(k.loop, &k.gather, AGAIN_MS);
    }
}

/* ---- batches ---- */

/* Moves the oldest of those that wait to the batch. */
static void
take_batch(void)
{
    struct writer_batch *b = &k.batch;
    int64_t now = loop_now(k.loop);

    b->count = 0;
    LIST_EACH (node, &k.waiting) {
        struct writer_call *c = LIST_ITEM(node, struct writer_call, link);

        if (b->count == BATCH_MAX) {
            break;
        }
        list_remove(&c->link);
        list_append(&b->calls, &c->link);
        k.count--;
        k.bytes -= c->len;
        b->count++;
    }
    b->sweep = now - k.swept_ms >= SWEEP_MS;
    k.swept_ms = b->sweep ? now : k.swept_ms;
}

static void
on_gather(struct timer *t)
{
    (void)t;
    if (k.work != WORK_NONE) {
        return;
    }
    if (list_empty(&k.batch.calls)) {
        take_batch();
    }
    if (k.batch.count > 0) {
        start_work(WORK_BATCH);
    }
}

/* Whether so many are there as are to be expected. */
static bool
all_there(void)
{
    bool lately = clock_us() - k.ended_us < LATELY_US;

    return !lately || k.count >= k.expected || k.count >= BATCH_MAX;
}

static void
on_begin(struct later *later)
{
    (void)later;
    if (k.work != WORK_NONE || k.count == 0) {
        return;
    }
    if (all_there()) {
        timer_stop(k.loop, &k.gather);
        on_gather(&k.gather);
    } else if (!timer_is_set(&k.gather)) {
        timer_set(k.loop, &k.gather, GATHER_MS);
    }
}

/* ---- taking in ---- */

static void
refuse(struct writer_call *c)
{
    const struct store_result r = { .status = STORE_BUSY };
    struct pack out = { .to = &c->answer };

    wire_put_answer(&out, c->head.number, &r);
    answer(c);
}

void
keeper_on_write(void *arg, struct bus_message *m)
{
    struct writer_call *c;

    (void)arg;
    if (k.loop == NULL) {
        return; /* sent to a keeper that had this slot before */
    }
    c = writer_call_new(m->from, str_of(m->data, m->len));
    if (c == NULL) {
        log_limited(LOG_ERROR,
                    "a damaged request came to the keeper from slot %u",
                    slot_owner_number(m->from));
        return;
    }
    if (k.count >= WAITING_MAX || k.bytes >= WAITING_BYTES) {
        refuse(c);
        return;
    }
    list_append(&k.waiting, &c->link);
    k.count++;
    k.bytes += c->len;
    loop_later(k.loop, &k.begin);
}

/* ---- life ---- */

static void
say_ready(const struct store_settings *s)
{
    struct buf text;

    buf_init(&text, 1024);
    for (size_t i = 1; i < schema_count(); i++) {
        const struct store_schema *schema = schema_at(i);

        buf_printf(&text, ", schema %s %zu", schema->name,
                   schema_migrations(schema));
    }
    log_info("the keeper is ready: %.*s%.*s", STR_ARGS(s->path),
             STR_ARGS(buf_str(&text)));
    buf_clear(&text);
}

/* Files that would grow over a limit answer EFBIG instead of a signal. */
int
keeper_start(struct loop *l, const struct store_settings *s, struct errmsg *err)
{
    signal(SIGXFSZ, SIG_IGN);
    list_init(&k.waiting);
    list_init(&k.unsent);
    list_init(&k.batch.calls);
    list_init(&k.task.link);
    k.task.work = work;
    k.task.done = done;
    timer_init(&k.gather, on_gather);
    timer_init(&k.again, on_again);
    later_init(&k.begin, on_begin);
    k.threads = task_threads_new(l, 1, 1, err);
    if (k.threads == NULL) {
        return -1;
    }
    k.writer = writer_open(s->path, store_boot(), slot_owner_alive, err);
    if (k.writer == NULL) {
        keeper_stop();
        return -1;
    }
    k.loop = l;
    k.swept_ms = loop_now(l);
    say_ready(s);
    for (uint32_t i = 1; i < slots_end(); i++) {
        hello(i);
    }
    return 0;
}

static void
drop(struct list *calls)
{
    LIST_EACH (node, calls) {
        struct writer_call *c = LIST_ITEM(node, struct writer_call, link);

        list_remove(&c->link);
        writer_call_free(&c);
    }
}

void
keeper_stop(void)
{
    task_threads_free(&k.threads); /* answers what ran */
    if (k.loop != NULL) {
        timer_stop(k.loop, &k.gather);
        timer_stop(k.loop, &k.again);
        later_cancel(&k.begin);
        drop(&k.batch.calls);
        drop(&k.waiting);
        drop(&k.unsent);
    }
    writer_close(&k.writer);
    k.loop = NULL;
    k.count = k.bytes = 0;
}

/*
 * The SQLite backend in a process that asks: reads are made here, writes go
 * to the keeper.
 *
 * Two connections: one for quick reads, on the loop; one for the others, for
 * one thread at a time.  Quick reads that wait together take the locks of the
 * database once, and see one state of it; after a commit the next one sees a
 * new state, as each read for itself would.  A read that finds the database
 * locked (a keeper that was killed is being cleaned up after) is tried again in
 * a moment.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "event/task.h"
#include "store/sqlite/keeper_client.h"
#include "store/sqlite/sqlite.h"

#define QUICK_MS 500    /* for one read on the loop, at most */
#define SHARE_US 5000   /* of a turn, for all of them */
#define PATIENCE_MS 500 /* of a thread */
#define PLACE_MS 100    /* so often it is looked whether the file is there */

static struct {
    bool open;
    struct loop *loop;            /* borrowed */
    struct task_threads *threads; /* borrowed; NULL: none */
    struct sqlite *quick, *slow;  /* slow is NULL without threads */
    struct list quick_calls, slow_calls;
    struct later later;
    uint64_t state;         /* sqlite_version() of the one that is held */
    struct rows quick_rows; /* of the read on the loop */
    int64_t looked_ms; /* when it was last seen that the file is in place */

    /* The one on a thread. */
    struct task task;
    struct store_call *current;
    struct rows rows;
} r;

/* ---- one read ---- */

static void
explain(const struct store_call *c, const struct errmsg *why)
{
    const struct store_statement *s = schema_statement(c->statement);

    log_limited(LOG_ERROR, "the store cannot be read: statement %s: %s",
                s->name, why->text);
}

/* Makes the whole answer; STORE_BUSY: to be tried again.  A file that is not
 * at its path any more is not what the next keeper will write to: what it says
 * may have been deleted since.  Reads of one state look for it once. */
static enum store_status
read_rows(struct sqlite *db, const struct store_call *c, struct rows *rows,
          struct errmsg *why)
{
    if (!sqlite_in_transaction(db) && !sqlite_in_place(db)) {
        errmsg_set(why, "its file was moved or removed");
        return STORE_DOWN;
    }
    rows_empty(rows);
    return sqlite_run(db, c->statement, c->params, c->count, rows, why);
}

static void
answer(struct store_call *c, enum store_status status, struct rows *rows,
       const struct errmsg *why)
{
    if (status == STORE_OK) {
        call_answer_rows(&c, rows_finish(rows));
        return;
    }
    explain(c, why);
    call_answer(&c, status);
}

/* ---- on the loop ---- */

/* false: it is left where it is. */
static bool
read_quickly(struct store_call *c, int64_t now_us)
{
    struct errmsg why;
    enum store_status status;

    why.text[0] = '\0';
    sqlite_deadline(r.quick, now_us / 1000 + QUICK_MS);
    status = read_rows(r.quick, c, &r.quick_rows, &why);
    if (status != STORE_BUSY) {
        answer(c, status, &r.quick_rows, &why);
    }
    rows_empty(&r.quick_rows);
    return status != STORE_BUSY;
}

/* Before each read: that of a new state where a commit has made one. */
static void
share_state(void)
{
    uint64_t version = sqlite_version(r.quick);
    bool several = r.quick_calls.next->next != &r.quick_calls;

    if (sqlite_in_transaction(r.quick) && version == r.state) {
        return;
    }
    sqlite_release(r.quick);
    if (several && version != 0 && sqlite_in_place(r.quick)) {
        sqlite_hold(r.quick);
        r.state = version;
    }
}

/* True when there are some left. */
static bool
read_all_quickly(void)
{
    int64_t begin = clock_us(), now = begin;

    while (r.open && !list_empty(&r.quick_calls)) {
        share_state();
        if (!read_quickly(
                LIST_ITEM(r.quick_calls.next, struct store_call, place), now)) {
            return false; /* until the next tick */
        }
        now = clock_us();
        if (now - begin > SHARE_US) {
            return true;
        }
    }
    return false;
}

static void
on_later(struct later *later)
{
    bool left = read_all_quickly();

    if (!r.open) {
        return;
    }
    sqlite_release(r.quick);
    if (left) {
        loop_later(r.loop, later);
    }
}

/* ---- on a thread ---- */

static enum store_status slow_status;
static struct errmsg slow_why;

static void
work(struct task *task)
{
    (void)task;
    sqlite_deadline(r.slow, r.current->due);
    slow_status = read_rows(r.slow, r.current, &r.rows, &slow_why);
}

static void
start_slow(void)
{
    if (r.current != NULL || list_empty(&r.slow_calls)) {
        return;
    }
    r.current = LIST_ITEM(r.slow_calls.next, struct store_call, place);
    if (task_run(r.threads, &r.task) == -1) {
        r.current = NULL; /* until the next tick */
        return;
    }
    list_remove(&r.current->place);
    r.current->busy = true;
}

static void
done(struct task *task)
{
    struct store_call *c = r.current;
    bool ran = !task->cancelled;

    r.current = NULL;
    c->busy = false;
    if (c->over) {
        call_free(&c);
    } else if (!ran || slow_status == STORE_BUSY) {
        call_answer(&c, STORE_DOWN);
    } else {
        answer(c, slow_status, &r.rows, &slow_why);
    }
    rows_clear(&r.rows);
    if (r.open) {
        start_slow();
    } else {
        sqlite_close(&r.slow);
    }
}

/* ---- the backend ---- */

static void
read_call(struct store_call *c)
{
    if (c->quick || r.slow == NULL) {
        list_append(&r.quick_calls, &c->place);
        loop_later(r.loop, &r.later);
    } else {
        list_append(&r.slow_calls, &c->place);
        start_slow();
    }
}

static void
tick(void)
{
    link_tick();
    start_slow();
    if (!list_empty(&r.quick_calls)) {
        loop_later(r.loop, &r.later);
    }
}

/* The next read notices a file that was moved; a process that needs no read
 * must not go on for long. */
static uint64_t
version(void)
{
    int64_t now = loop_now(r.loop);

    if (now - r.looked_ms >= PLACE_MS) {
        if (!sqlite_in_place(r.quick)) {
            return 0;
        }
        r.looked_ms = now;
    }
    return sqlite_version(r.quick);
}

/* The first read maps the index of the log and reads the schema. */
static struct sqlite *
open_reader(struct str path, int patience, struct errmsg *err)
{
    struct sqlite *db = sqlite_open(path, false, err);

    if (db != NULL) {
        sqlite_patience(db, patience);
    }
    return db;
}

static int
open_all(struct loop *l, const struct store_settings *s,
         struct task_threads *threads, struct errmsg *err)
{
    r.quick = open_reader(s->path, 0, err);
    if (r.quick == NULL) {
        return -1;
    }
    if (threads != NULL) {
        r.slow = open_reader(s->path, PATIENCE_MS, err);
        if (r.slow == NULL) {
            sqlite_close(&r.quick);
            return -1;
        }
    }
    r.open = true;
    r.loop = l;
    r.looked_ms = 0;
    r.threads = threads;
    r.task = (struct task){ .work = work, .done = done };
    list_init(&r.task.link);
    list_init(&r.quick_calls);
    list_init(&r.slow_calls);
    later_init(&r.later, on_later);
    rows_init(&r.rows, STORE_ROWS_MAX);
    rows_clear(&r.quick_rows); /* of before a store_close() */
    rows_init(&r.quick_rows, STORE_ROWS_MAX);
    link_open();
    return 0;
}

static void
close_all(void)
{
    r.open = false;
    later_cancel(&r.later);
    sqlite_close(&r.quick);
    if (r.current == NULL) {
        sqlite_close(&r.slow);
    } else {
        task_cancel(r.threads, &r.task);
    }
}

const struct backend sqlite_backend = {
    .open = open_all,
    .close = close_all,
    .read = read_call,
    .write = link_write,
    .tick = tick,
    .is_up = link_is_up,
    .version = version,
};

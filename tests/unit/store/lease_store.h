/*
 * A store for tests of leases: a real SQLite database, whose calls are made at
 * once and answered by the loop.  It can be made to be down, and what other
 * nodes do is done by hand.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TESTS_STORE_LEASE_STORE_H
#define TESTS_STORE_LEASE_STORE_H

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/log.h"
#include "base/mem.h"
#include "notes.h"
#include "store/lease.h"
#include "store/sqlite/sqlite.h"
#include "store/sqlite/writer.h"

struct store_call {
    struct list link;
    struct rows rows; /* of an answer STORE_OK */
    enum store_status status;
    store_done *done;
    void *arg;
};

static struct loop *l;
static struct sqlite *db;
static struct list fake_calls;
static struct later fake_later;
static store_heard *fake_heard;
static bool fake_down;
static unsigned fake_writes;

/* ---- answering ---- */

static void
fake_answer(struct store_call *c)
{
    struct store_result r = { .status = c->status };

    list_remove(&c->link);
    if (c->status == STORE_OK) {
        r = *rows_finish(&c->rows);
    }
    c->done(c->arg, &r);
    rows_clear(&c->rows);
    mem_free(&c);
}

static void
fake_on_later(struct later *later)
{
    struct list now;

    (void)later;
    list_init(&now);
    list_splice(&now, &fake_calls);
    while (!list_empty(&now)) {
        fake_answer(LIST_ITEM(now.next, struct store_call, link));
    }
}

void
store_cancel(struct store_call **call)
{
    if (*call != NULL) {
        list_remove(&(*call)->link);
        rows_clear(&(*call)->rows);
        mem_free(call);
    }
}

const char *
store_status_text(enum store_status status)
{
    return status == STORE_OK ? "done" : "the store does not answer";
}

void
store_listen(const char *topic, store_heard *heard, void *arg)
{
    (void)arg;
    assert_string_equal(topic, "lease");
    fake_heard = heard;
}

/* ---- calls ---- */

static struct store_call *
fake_call(store_done *done, void *arg)
{
    struct store_call *c = mem_zero(sizeof(*c));

    rows_init(&c->rows, STORE_ROWS_MAX);
    c->status = fake_down ? STORE_DOWN : STORE_OK;
    c->done = done;
    c->arg = arg;
    list_init(&c->link);
    list_append(&fake_calls, &c->link);
    loop_later(l, &fake_later);
    return c;
}

static void
fake_step(struct store_call *c, const struct store_step *s)
{
    struct schema_place place;
    struct errmsg why = { "" };

    assert_true(schema_find(s->statement, &place));
    if (sqlite_run(db, place, s->params, s->count, &c->rows, &why) !=
        STORE_OK) {
        fail_msg("%s: %s", s->statement->name, why.text);
    }
    if (s->must_change && sqlite_changed(db) == 0) {
        c->status = STORE_MISSING;
    }
}

struct store_call *
store_read(const struct store_statement *statement,
           const struct store_value *params, size_t count, store_done *done,
           void *arg)
{
    const struct store_step step = { statement, params, count, false };
    struct store_call *c = fake_call(done, arg);

    if (!fake_down) {
        fake_step(c, &step);
    }
    return c;
}

struct store_call *
store_write(const struct store_step *steps, size_t count,
            const struct store_notice *notice, store_done *done, void *arg)
{
    struct store_call *c = fake_call(done, arg);
    struct errmsg err;

    (void)notice;
    fake_writes++;
    if (fake_down) {
        return c;
    }
    assert_int_equal(sqlite_script(db, "BEGIN IMMEDIATE", &err), 0);
    for (size_t i = 0; i < count && c->status == STORE_OK; i++) {
        fake_step(c, &steps[i]);
    }
    sqlite_script(db, c->status == STORE_OK ? "COMMIT" : "ROLLBACK", &err);
    return c;
}

/* ---- by hand ---- */

static inline void
sql(const char *text)
{
    struct errmsg err;

    if (sqlite_script(db, text, &err) == -1) {
        fail_msg("%s", err.text);
    }
}

/* The number that a query gives; text, if not NULL, gets the first column of
 * its first row instead. */
static inline int64_t
ask(const char *query, char *text, size_t size)
{
    struct errmsg err;
    struct rows rows;
    int64_t n;

    rows_init(&rows, 1 << 20);
    if (sqlite_query(db, query, NULL, 0, &rows, &err) != STORE_OK) {
        fail_msg("%s", err.text);
    }
    rows_finish(&rows);
    assert_true(rows.steps[0].rows > 0);
    n = rows.cells[0].n;
    if (text != NULL) {
        str_copy(text, size, rows.cells[0].s);
    }
    rows_clear(&rows);
    return n;
}

/* ---- life ---- */

static inline bool
nobody_is_alive(slot_owner o)
{
    (void)o;
    return false;
}

static inline int
fake_start(void)
{
    struct errmsg err;
    struct writer *w;

    log_set(LOG_ALERT, LOG_TEXT);
    l = loop_new(&err);
    if (l == NULL || notes_make() == -1) {
        return -1;
    }
    store_register(&lease_schema);
    w = writer_open(str_from(notes_path), 1, nobody_is_alive, &err);
    if (w == NULL) {
        return -1;
    }
    writer_close(&w);
    db = sqlite_open(str_from(notes_path), true, &err);
    list_init(&fake_calls);
    later_init(&fake_later, fake_on_later);
    fake_down = false;
    fake_writes = 0;
    return db != NULL ? 0 : -1;
}

static inline void
fake_stop(void)
{
    lease_end();
    later_cancel(&fake_later);
    sqlite_close(&db);
    loop_free(&l);
    notes_remove();
}

#endif

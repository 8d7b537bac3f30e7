/*
 * Batches of writes for tests: asked, run on a database of the test, cleared.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TESTS_STORE_BATCHES_H
#define TESTS_STORE_BATCHES_H

#include "base/clock.h"
#include "base/log.h"
#include "notes.h"
#include "store/sqlite/writer.h"

#define BOOT 77

static struct writer *w;
static struct writer_batch b;
static slot_owner dead;
static uint64_t number;

static inline bool
alive(slot_owner o)
{
    return o != dead;
}

static inline bool
open_it(uint64_t boot, struct errmsg *err)
{
    w = writer_open(str_from(notes_path), boot, alive, err);
    return w != NULL;
}

static inline int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    log_set(LOG_CRIT, LOG_TEXT);
    number = dead = 0;
    b = (struct writer_batch){ .count = 0 };
    list_init(&b.calls);
    return notes_make() == 0 && open_it(BOOT, &err) ? 0 : -1;
}

static inline void
clear(void)
{
    LIST_EACH (node, &b.calls) {
        struct writer_call *c = LIST_ITEM(node, struct writer_call, link);

        list_remove(&c->link);
        writer_call_free(&c);
    }
    b.count = 0;
}

static inline int
tear_down(void **state)
{
    (void)state;
    clear();
    writer_close(&w);
    notes_remove();
    return 0;
}

/* ---- asking ---- */

/* A call of owner 1 with the steps' statements, each with name and n. */
struct wanted {
    int statement;
    const char *name;
    int64_t n;
    bool must_change;
};
#define KEEPERS 1000 /* a statement of schema 0 */

static inline struct writer_call *
put(struct wire_request head, const struct wanted *steps, size_t count)
{
    struct buf bytes;
    struct pack out = { .to = &bytes };
    struct writer_call *c;

    buf_init(&bytes, 100000);
    head.steps = (uint32_t)count;
    head.due = head.due != 0 ? head.due : clock_ms() + 60000;
    wire_put_request(&out, &head);
    for (size_t i = 0; i < count; i++) {
        struct store_value values[] = { store_text(str_from(steps[i].name)),
                                        store_int(steps[i].n) };
        struct store_step step = { .params = values,
                                   .count = 2,
                                   .must_change = steps[i].must_change };
        struct schema_place place = { steps[i].statement < KEEPERS,
                                      (uint16_t)(steps[i].statement %
                                                 KEEPERS) };

        wire_put_step(&out, place, &step);
    }
    wire_put_notice(&out, &(struct store_notice){ "notes", STR("news") });
    c = writer_call_new(1, buf_str(&bytes));
    buf_clear(&bytes);
    assert_non_null(c);
    list_append(&b.calls, &c->link);
    b.count++;
    return c;
}

static inline struct writer_call *
ask(int statement, const char *name, int64_t n, bool must_change)
{
    struct wanted step = { statement, name, n, must_change };
    struct wire_request head = { .number = ++number };

    return put(head, &step, 1);
}

/* The rows that the database has of the notes, by one who reads. */
static inline void
expect_notes(const char *wanted)
{
    struct errmsg err;
    struct sqlite *db = sqlite_open(str_from(notes_path), false, &err);
    struct rows rows;
    char text[512] = "";

    assert_non_null(db);
    rows_init(&rows, 100000);
    assert_int_equal(
        sqlite_run(db, (struct schema_place){ 1, ALL }, NULL, 0, &rows, &err),
        STORE_OK);
    rows_finish(&rows);
    for (size_t i = 0; i < rows.steps[0].rows; i++) {
        size_t len = strlen(text);

        snprintf(text + len, sizeof(text) - len, "%s%s=%lld", i > 0 ? " " : "",
                 rows.cells[2 * i].s.ptr, (long long)rows.cells[2 * i + 1].n);
    }
    assert_string_equal(text, wanted);
    rows_clear(&rows);
    sqlite_close(&db);
}

static inline int64_t
rows_of_ledger(void)
{
    struct errmsg err;
    struct sqlite *db = sqlite_open(str_from(notes_path), false, &err);
    struct rows rows;

    rows_init(&rows, 100000);
    sqlite_query(db, "SELECT count(*) FROM store_ledger WHERE owner <> 0", NULL,
                 0, &rows, &err);
    int64_t n = rows.cells[0].n;

    rows_clear(&rows);
    sqlite_close(&db);
    return n;
}

#endif

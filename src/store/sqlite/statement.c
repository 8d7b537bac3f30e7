/*
 * Statements of a connection: prepared when they are first used, bound, run,
 * reset.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <stdio.h>

#include "base/mem.h"
#include "store/sqlite/sqlite_impl.h"

/* ---- running ---- */

static int
bind(const struct statement *item, const struct store_value *params,
     size_t count)
{
    sqlite3_stmt *s = item->s;
    int rc = SQLITE_OK;

    for (size_t i = 0; i < count && rc == SQLITE_OK; i++) {
        const struct store_value *v = &params[i];
        int at = item->place[i];

        if (at == 0) {
            continue;
        }
        if (v->type == STORE_INT) {
            rc = sqlite3_bind_int64(s, at, v->n);
        } else if (v->type == STORE_TEXT) {
            rc = sqlite3_bind_text64(s, at, v->s.ptr, v->s.len, SQLITE_STATIC,
                                     SQLITE_UTF8);
        } else {
            rc = sqlite3_bind_null(s, at);
        }
    }
    return rc;
}

/* A value may be looked at without more ado, as no thread shares it: see
 * set_up_library().  Members are set one by one, because to copy a whole value
 * that was just made on the stack makes the processor wait, for each cell. */
static void
take_column(sqlite3_stmt *s, int i, struct store_value *cell)
{
    sqlite3_value *value = sqlite3_column_value(s, i);
    int type = sqlite3_value_type(value);

    cell->n = 0;
    cell->s.ptr = NULL;
    cell->s.len = 0;
    if (type == SQLITE_INTEGER) {
        cell->type = STORE_INT;
        cell->n = sqlite3_value_int64(value);
    } else if (type == SQLITE_NULL) {
        cell->type = STORE_NULL;
    } else {
        cell->type = STORE_TEXT;
        cell->s.ptr = type == SQLITE_BLOB
                          ? sqlite3_value_blob(value)
                          : (const char *)sqlite3_value_text(value);
        cell->s.len =
            cell->s.ptr != NULL ? (size_t)sqlite3_value_bytes(value) : 0;
    }
}

static int
step_all(sqlite3_stmt *s, struct rows *rows)
{
    int columns = sqlite3_column_count(s), rc;

    if (rows != NULL) {
        rows_begin_step(rows, (size_t)columns);
    }
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        if (rows == NULL) {
            continue;
        }
        struct store_value *cells = rows_begin_row(rows);

        for (int i = 0; i < columns && cells != NULL; i++) {
            take_column(s, i, &cells[i]);
        }
        if (cells != NULL) {
            rows_end_row(rows);
        }
        if (rows->full) {
            return SQLITE_TOOBIG;
        }
    }
    return rc;
}

/* Leaves s ready to be run again: a read that is not reset would keep the
 * log from being emptied. */
static enum store_status
run(struct sqlite *db, const struct statement *item,
    const struct store_value *params, size_t count, struct rows *rows,
    struct errmsg *why)
{
    sqlite3_stmt *s = item->s;
    int rc = bind(item, params, count);
    enum store_status status = STORE_OK;

    errno = 0;
    if (rc == SQLITE_OK) {
        rc = step_all(s, rows);
    }
    db->number = errno;
    db->changed = sqlite3_stmt_readonly(s) ? 0 : sqlite3_changes64(db->handle);
    if (rc == SQLITE_DONE && rows != NULL) {
        rows_end_step(rows, db->changed);
    }
    if (rows != NULL && rows->full) {
        errmsg_set(why, "its rows are more than %zu bytes", rows->limit);
        status = STORE_FAILED;
    } else if (rc != SQLITE_DONE) {
        status = sqlite_explain(db, rc, why);
    }
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return status;
}

/* ---- preparing ---- */

static const char *
text_of(const struct store_statement *s)
{
    return s->sqlite != NULL ? s->sqlite : s->sql;
}

/* Parameters have names, "$2". */
static void
find_places(struct statement *item)
{
    for (unsigned i = 0; i < STORE_PARAMS; i++) {
        char name[16];

        snprintf(name, sizeof(name), "$%u", i + 1);
        item->place[i] = sqlite3_bind_parameter_index(item->s, name);
    }
}

/* An SQLite code. */
static int
make_statement(struct sqlite *db, const char *sql, unsigned flags,
               struct statement *item)
{
    int rc = sqlite3_prepare_v3(db->handle, sql, -1, flags, &item->s, NULL);

    if (rc == SQLITE_OK) {
        find_places(item);
    }
    return rc;
}

static const struct statement *
prepare(struct sqlite *db, struct schema_place place, struct errmsg *why)
{
    const struct store_statement *s = schema_statement(place);
    struct prepared *p = &db->schemas[place.schema];

    if (s == NULL) {
        errmsg_set(why, "there is no such statement");
        return NULL;
    }
    if (p->items == NULL) {
        p->count = schema_statements(schema_at(place.schema));
        p->items = mem_zero((p->count + 1) * sizeof(p->items[0]));
    }
    struct statement *item = &p->items[place.statement];

    if (item->s == NULL &&
        make_statement(db, text_of(s), SQLITE_PREPARE_PERSISTENT, item) !=
            SQLITE_OK) {
        errmsg_set(why, "%s", sqlite3_errmsg(db->handle));
        return NULL;
    }
    return item;
}

void
sqlite_finalize_all(struct sqlite *db)
{
    sqlite3_finalize(db->hold);
    sqlite3_finalize(db->release);
    for (size_t i = 0; i < SCHEMAS_MAX; i++) {
        struct prepared *p = &db->schemas[i];

        for (size_t k = 0; k < p->count; k++) {
            sqlite3_finalize(p->items[k].s);
        }
        mem_free(&p->items);
        p->count = 0;
    }
}

enum store_status
sqlite_run(struct sqlite *db, struct schema_place place,
           const struct store_value *params, size_t count, struct rows *rows,
           struct errmsg *why)
{
    const struct statement *item = prepare(db, place, why);
    enum store_status status;

    if (item == NULL) {
        status = sqlite_status(db, sqlite3_extended_errcode(db->handle));
        return status == STORE_OK ? STORE_FAILED : status;
    }
    return run(db, item, params, count, rows, why);
}

enum store_status
sqlite_query(struct sqlite *db, const char *sql,
             const struct store_value *params, size_t count, struct rows *rows,
             struct errmsg *why)
{
    struct statement item = { .s = NULL };
    int rc = make_statement(db, sql, 0, &item);
    enum store_status status;

    if (rc != SQLITE_OK) {
        return sqlite_explain(db, rc, why);
    }
    status = run(db, &item, params, count, rows, why);
    sqlite3_finalize(item.s);
    return status;
}

static int
prepare_schema(struct sqlite *db, uint16_t i, struct errmsg *err)
{
    const struct store_schema *s = schema_at(i);
    struct schema_place place = { .schema = i };

    for (; s->statements[place.statement].name != NULL; place.statement++) {
        if (prepare(db, place, err) == NULL) {
            return errmsg_prefix(err, "statement %s of schema %s: ",
                                 s->statements[place.statement].name, s->name);
        }
    }
    return 0;
}

int
sqlite_prepare_all(struct sqlite *db, struct errmsg *err)
{
    for (size_t i = 0; i < schema_count(); i++) {
        if (prepare_schema(db, (uint16_t)i, err) == -1) {
            return -1;
        }
    }
    return 0;
}

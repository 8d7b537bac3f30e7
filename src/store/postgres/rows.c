/*
 * Values of the server as values of the store.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/postgres/rows.h"

#include <string.h>

#include "store/postgres/prepared.h"

void
pg_rows_init(struct pg_rows *r)
{
    rows_init(&r->rows, STORE_ROWS_MAX);
    r->begun = false;
    r->changed = 0;
}

void
pg_rows_clear(struct pg_rows *r)
{
    rows_clear(&r->rows);
    r->begun = false;
}

static bool
may_be_whole(Oid type)
{
    return type == PG_TYPE_INT8 || type == PG_TYPE_INT4 ||
           type == PG_TYPE_INT2 || type == PG_TYPE_NUMERIC;
}

static struct store_value
value_at(const PGresult *result, int row, int column)
{
    struct str text = str_of(libpq.getvalue(result, row, column),
                             (size_t)libpq.getlength(result, row, column));
    Oid type = libpq.ftype(result, column);
    int64_t n;

    if (libpq.getisnull(result, row, column)) {
        return (struct store_value){ .type = STORE_NULL };
    }
    if (type == PG_TYPE_BOOL) {
        return store_int(str_eq(text, STR("t")));
    }
    if (may_be_whole(type) && str_to_int(text, INT64_MIN, INT64_MAX, &n)) {
        return store_int(n);
    }
    return store_text(text);
}

static void
add_row(struct pg_rows *r, const PGresult *result, int row)
{
    struct store_value *cells = rows_begin_row(&r->rows);

    if (cells == NULL) {
        return;
    }
    for (int i = 0; i < libpq.nfields(result); i++) {
        cells[i] = value_at(result, row, i);
    }
    rows_end_row(&r->rows);
}

/* The row count of a SELECT is not a count of changes. */
static int64_t
changed_by(PGresult *result)
{
    int64_t n = 0;

    if (!str_starts(str_from(libpq.cmdStatus(result)), STR("SELECT"))) {
        str_to_int(str_from(libpq.cmdTuples(result)), 0, INT64_MAX, &n);
    }
    return n;
}

/* libpq's own functions for the status want to be able to change it. */
static PGresult *
unlocked(const PGresult *result)
{
    PGresult *same;

    memcpy(&same, &result, sizeof(same));
    return same;
}

void
pg_rows_add(struct pg_rows *r, const PGresult *result)
{
    if (!r->begun) {
        rows_begin_step(&r->rows, (size_t)libpq.nfields(result));
        r->begun = true;
    }
    for (int i = 0; i < libpq.ntuples(result) && !r->rows.full; i++) {
        add_row(r, result, i);
    }
    if (libpq.resultStatus(result) != PGRES_SINGLE_TUPLE) {
        r->changed = changed_by(unlocked(result));
        rows_end_step(&r->rows, r->changed);
        r->begun = false;
    }
}

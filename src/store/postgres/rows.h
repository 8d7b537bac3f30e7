/*
 * The server's results as an answer of the store (store/rows.h).
 *
 * Numbers that are whole (smallint to bigint, numeric as sum() makes it) and
 * booleans are STORE_INT, all else is STORE_TEXT.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_POSTGRES_ROWS_H
#define STORE_POSTGRES_ROWS_H

#include "store/postgres/libpq.h"
#include "store/rows.h"

struct pg_rows {
    struct rows rows;
    bool begun;      /* the last step is under way */
    int64_t changed; /* by the last step */
};

void pg_rows_init(struct pg_rows *r);
/* Frees the memory; another answer may begin. */
void pg_rows_clear(struct pg_rows *r);
/* Adds a result that is no error: rows, or how a step ended. */
void pg_rows_add(struct pg_rows *r, const PGresult *result);

#endif

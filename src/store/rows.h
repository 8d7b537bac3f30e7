/*
 * The rows of an answer: a backend gathers them, step by step, and store_done
 * gets them when they are done.
 *
 * Within a process they stay as they are.  Only rows that go over the bus or
 * into the ledger are packed (store/wire.h).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_ROWS_H
#define STORE_ROWS_H

#include "base/buf.h"
#include "store/store.h"

#define ROWS_CELL_BYTES 10 /* that count for a cell, beside its text */

struct rows {
    struct store_result result; /* set by rows_finish() */
    struct store_rows steps[STORE_STEPS];
    size_t count;              /* of steps; the last may be under way */
    struct store_value *cells; /* owned: of all steps, one after the other */
    size_t used, room;         /* cells that are set, that there is room for */
    size_t begun;              /* cells before the last step */
    struct buf texts;          /* of the cells, each with a NUL behind it */
    size_t bytes, limit;       /* see rows_init() */
    bool full;                 /* they did not fit, or memory is out */
};

/* limit: bytes of all texts and ROWS_CELL_BYTES for each cell. */
void rows_init(struct rows *r, size_t limit);
/* Frees everything and keeps the limit. */
void rows_clear(struct rows *r);
/* The same, but memory is kept for the next rows, if it is not much. */
void rows_empty(struct rows *r);

void rows_begin_step(struct rows *r, size_t columns);
/* The cells of the step's next row, which the caller sets, or NULL: the rows
 * are full, and nothing is added any more. */
struct store_value *rows_begin_row(struct rows *r);
/* The cells are set; their texts are copied. */
void rows_end_row(struct rows *r);
void rows_end_step(struct rows *r, int64_t changed);

/* All steps as an answer STORE_OK, which lives until rows_clear() or
 * rows_empty().  Only for rows that are not full. */
const struct store_result *rows_finish(struct rows *r);

#endif

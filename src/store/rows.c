/*
 * Gathering rows.
 *
 * The memory of cells and texts moves while it grows.  Until rows_finish()
 * makes pointers, the cell of a text therefore says in n where its text begins,
 * and a step does not say where its cells are.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/rows.h"

#include <assert.h>

#include "base/mem.h"

#define FIRST_CELLS 16
/* rows_empty() keeps memory for two pages of ten articles, say. */
#define KEPT_CELLS 256
#define KEPT_TEXTS 32768 /* bytes */

void
rows_init(struct rows *r, size_t limit)
{
    *r = (struct rows){ .limit = limit };
    buf_init(&r->texts, limit);
}

void
rows_clear(struct rows *r)
{
    mem_free(&r->cells);
    buf_clear(&r->texts);
    rows_init(r, r->limit);
}

void
rows_empty(struct rows *r)
{
    if (r->room > KEPT_CELLS || r->texts.size > KEPT_TEXTS) {
        rows_clear(r);
        return;
    }
    buf_take(&r->texts, buf_len(&r->texts));
    r->count = r->used = r->begun = r->bytes = 0;
    r->full = false;
}

void
rows_begin_step(struct rows *r, size_t columns)
{
    assert(r->count < STORE_STEPS);
    r->steps[r->count] = (struct store_rows){ .columns = columns };
    r->count++;
    r->begun = r->used;
}

static bool
has_room(struct rows *r, size_t cells)
{
    size_t room = r->room > 0 ? r->room : FIRST_CELLS;
    struct store_value *more;

    while (room - r->used < cells) {
        room *= 2;
    }
    if (room == r->room) {
        return true;
    }
    more = try_resize(r->cells, room * sizeof(*more));
    if (more == NULL) {
        return false;
    }
    r->cells = more;
    r->room = room;
    return true;
}

struct store_value *
rows_begin_row(struct rows *r)
{
    r->full = r->full || !has_room(r, r->steps[r->count - 1].columns);
    return r->full ? NULL : r->cells + r->used;
}

static size_t
bytes_of(const struct store_value *cells, size_t count)
{
    size_t bytes = count * ROWS_CELL_BYTES;

    for (size_t i = 0; i < count; i++) {
        bytes += cells[i].type == STORE_TEXT ? cells[i].s.len : 0;
    }
    return bytes;
}

static bool
add_text(struct rows *r, struct store_value *cell)
{
    cell->n = (int64_t)buf_len(&r->texts);
    return buf_add_str(&r->texts, cell->s) == 0 &&
           buf_add(&r->texts, "", 1) == 0;
}

void
rows_end_row(struct rows *r)
{
    size_t columns = r->steps[r->count - 1].columns;
    struct store_value *cells = r->cells + r->used;
    size_t bytes = bytes_of(cells, columns);

    r->full = bytes > r->limit - r->bytes;
    for (size_t i = 0; i < columns && !r->full; i++) {
        r->full = cells[i].type == STORE_TEXT && !add_text(r, &cells[i]);
    }
    if (!r->full) {
        r->bytes += bytes;
        r->used += columns;
    }
}

void
rows_end_step(struct rows *r, int64_t changed)
{
    struct store_rows *step = &r->steps[r->count - 1];

    assert(r->count > 0);
    step->rows = step->columns > 0 ? (r->used - r->begun) / step->columns : 0;
    step->changed = changed;
}

const struct store_result *
rows_finish(struct rows *r)
{
    const char *texts = buf_str(&r->texts).ptr;
    size_t at = 0;

    assert(!r->full);
    for (size_t i = 0; i < r->used; i++) {
        struct store_value *v = &r->cells[i];

        if (v->type == STORE_TEXT) {
            v->s.ptr = texts + v->n;
        }
    }
    for (size_t i = 0; i < r->count; i++) {
        r->steps[i].cells = r->cells + at;
        at += r->steps[i].rows * r->steps[i].columns;
    }
    r->result = (struct store_result){ .status = STORE_OK,
                                       .steps = r->count,
                                       .answer = r->steps };
    return &r->result;
}

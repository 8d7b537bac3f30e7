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
rows_begin_step(struct rows *r, size_t columns)
{
    assert(r->count < STORE_STEPS);
    r->steps[r->count] = (struct store_rows){ .columns = columns };
    r->count++;
    r->begun = r->used;
}

static bool
has_room(struct rows *r)
{
    struct store_value *cells;
    size_t room = r->room > 0 ? 2 * r->room : FIRST_CELLS;

    if (r->used < r->room) {
        return true;
    }
    cells = try_resize(r->cells, room * sizeof(*cells));
    if (cells == NULL) {
        return false;
    }
    r->cells = cells;
    r->room = room;
    return true;
}

static bool
add_text(struct rows *r, struct store_value *cell)
{
    cell->n = (int64_t)buf_len(&r->texts);
    return buf_add_str(&r->texts, cell->s) == 0 &&
           buf_add(&r->texts, "", 1) == 0;
}

void
rows_add(struct rows *r, const struct store_value *v)
{
    bool is_text = v->type == STORE_TEXT;
    size_t bytes = ROWS_CELL_BYTES + (is_text ? v->s.len : 0);

    if (r->full || bytes > r->limit - r->bytes || !has_room(r)) {
        r->full = true;
        return;
    }
    r->cells[r->used] = *v;
    r->full = is_text && !add_text(r, &r->cells[r->used]);
    r->bytes += bytes;
    r->used++;
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

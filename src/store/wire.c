/*
 * Values, requests and answers, packed.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/wire.h"

#include <string.h>

#include "base/mem.h"

enum { ROW_END, ROW_FOLLOWS };

/* ---- values ---- */

void
wire_put_value(struct pack *out, const struct store_value *v)
{
    pack_u8(out, (uint8_t)v->type);
    switch (v->type) {
    case STORE_NULL:
        break;
    case STORE_INT:
        pack_int(out, v->n);
        break;
    case STORE_TEXT:
        pack_text(out, v->s);
        break;
    }
}

struct store_value
wire_get_value(struct unpack *in)
{
    struct store_value v = { .type = (enum store_type)unpack_u8(in) };

    v.s = STR_NONE;
    switch (v.type) {
    case STORE_NULL:
        break;
    case STORE_INT:
        v.n = unpack_int(in);
        break;
    case STORE_TEXT:
        v.s = unpack_text(in);
        break;
    default:
        in->bad = true;
        break;
    }
    return v;
}

/* ---- requests ---- */

void
wire_put_request(struct pack *out, const struct wire_request *head)
{
    pack_bytes(out, head, sizeof(*head));
}

void
wire_set_request(struct buf *b, const struct wire_request *head)
{
    memcpy(b->mem + b->head, head, sizeof(*head));
}

void
wire_put_step(struct pack *out, struct schema_place place,
              const struct store_step *s)
{
    pack_bytes(out, &place, sizeof(place));
    pack_u8(out, s->must_change);
    pack_u8(out, (uint8_t)s->count);
    for (size_t i = 0; i < s->count; i++) {
        wire_put_value(out, &s->params[i]);
    }
}

void
wire_put_notice(struct pack *out, const struct store_notice *n)
{
    pack_text(out, n != NULL ? str_from(n->topic) : STR_NONE);
    pack_text(out, n != NULL ? n->text : STR_NONE);
}

bool
wire_get_request(struct unpack *in, struct wire_request *head)
{
    return unpack_bytes(in, head, sizeof(*head)) && head->steps <= STORE_STEPS;
}

bool
wire_get_step(struct unpack *in, struct wire_step *s)
{
    unpack_bytes(in, &s->place, sizeof(s->place));
    s->must_change = unpack_u8(in) != 0;
    s->count = unpack_u8(in);
    if (in->bad || s->count > STORE_PARAMS) {
        return false;
    }
    for (size_t i = 0; i < s->count; i++) {
        s->params[i] = wire_get_value(in);
    }
    return !in->bad;
}

bool
wire_get_notice(struct unpack *in, struct str *topic, struct str *text)
{
    *topic = unpack_text(in);
    *text = unpack_text(in);
    return !in->bad;
}

/* ---- answers ---- */

static void
put_rows(struct pack *out, const struct store_rows *r)
{
    const struct store_value *cell = r->cells;

    pack_u32(out, (uint32_t)r->columns);
    for (size_t i = 0; i < r->rows; i++) {
        pack_u8(out, ROW_FOLLOWS);
        for (size_t k = 0; k < r->columns; k++) {
            wire_put_value(out, cell++);
        }
    }
    pack_u8(out, ROW_END);
    pack_int(out, r->changed);
}

void
wire_put_answer(struct pack *out, uint64_t number, const struct store_result *r)
{
    const struct wire_answer head = { .number = number,
                                      .status = (uint32_t)r->status,
                                      .steps = (uint32_t)r->steps };

    pack_bytes(out, &head, sizeof(head));
    for (size_t i = 0; i < r->steps; i++) {
        put_rows(out, &r->answer[i]);
    }
}

bool
wire_get_answer(struct unpack *in, struct wire_answer *head)
{
    return unpack_bytes(in, head, sizeof(*head)) &&
           head->steps <= STORE_STEPS && head->status <= STORE_FAILED;
}

/* Rows of one step; cells NULL: they are only counted. */
static void
get_step_rows(struct unpack *in, struct store_rows *r,
              struct store_value *cells)
{
    uint32_t columns = unpack_u32(in);

    *r = (struct store_rows){ .columns = columns, .cells = cells };
    while (unpack_u8(in) == ROW_FOLLOWS && !in->bad) {
        for (uint32_t i = 0; i < columns && !in->bad; i++) {
            struct store_value v = wire_get_value(in);

            if (cells != NULL) {
                cells[r->rows * columns + i] = v;
            }
        }
        r->rows++;
    }
    r->changed = unpack_int(in);
}

bool
wire_get_rows(struct unpack *in, const struct wire_answer *head,
              struct rows *out)
{
    struct unpack look = *in;
    size_t cells = 0;

    rows_init(out, 0);
    out->count = head->steps;
    for (uint32_t i = 0; i < head->steps; i++) {
        get_step_rows(&look, &out->steps[i], NULL);
        cells += out->steps[i].rows * out->steps[i].columns;
    }
    out->cells = look.bad ? NULL : try_alloc((cells + 1) * sizeof(*out->cells));
    if (out->cells == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < head->steps; i++) {
        get_step_rows(in, &out->steps[i], out->cells + out->used);
        out->used += out->steps[i].rows * out->steps[i].columns;
    }
    out->result = (struct store_result){
        .status = (enum store_status)head->status,
        .steps = head->steps,
        .answer = out->steps,
    };
    return true;
}

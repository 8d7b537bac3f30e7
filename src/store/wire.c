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

void
wire_put_answer(struct pack *out, const struct wire_answer *head)
{
    pack_bytes(out, head, sizeof(*head));
}

void
wire_set_answer(struct buf *b, const struct wire_answer *head)
{
    memcpy(b->mem + b->head, head, sizeof(*head));
}

void
wire_put_columns(struct pack *out, unsigned columns)
{
    uint32_t n = columns;

    pack_bytes(out, &n, sizeof(n));
}

void
wire_put_row(struct pack *out)
{
    pack_u8(out, ROW_FOLLOWS);
}

void
wire_put_end(struct pack *out, int64_t changed)
{
    pack_u8(out, ROW_END);
    pack_bytes(out, &changed, sizeof(changed));
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
    uint32_t columns;

    *r = (struct store_rows){ .cells = cells };
    unpack_bytes(in, &columns, sizeof(columns));
    r->columns = columns;
    while (unpack_u8(in) == ROW_FOLLOWS && !in->bad) {
        for (uint32_t i = 0; i < columns && !in->bad; i++) {
            struct store_value v = wire_get_value(in);

            if (cells != NULL) {
                cells[r->rows * columns + i] = v;
            }
        }
        r->rows++;
    }
    unpack_bytes(in, &r->changed, sizeof(r->changed));
}

bool
wire_get_rows(struct unpack *in, const struct wire_answer *head,
              struct wire_rows *out)
{
    struct unpack look = *in;
    size_t cells = 0;

    for (uint32_t i = 0; i < head->steps; i++) {
        get_step_rows(&look, &out->rows[i], NULL);
        cells += out->rows[i].rows * out->rows[i].columns;
    }
    out->cells = look.bad ? NULL : try_alloc((cells + 1) * sizeof(*out->cells));
    if (out->cells == NULL) {
        return false;
    }
    for (uint32_t i = 0, at = 0; i < head->steps; i++) {
        get_step_rows(in, &out->rows[i], out->cells + at);
        at += (uint32_t)(out->rows[i].rows * out->rows[i].columns);
    }
    out->result = (struct store_result){
        .status = (enum store_status)head->status,
        .steps = head->steps,
        .answer = out->rows,
    };
    return true;
}

void
wire_clear_rows(struct wire_rows *r)
{
    mem_free(&r->cells);
}

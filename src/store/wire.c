/*
 * Writing and reading the bytes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/wire.h"

#include <string.h>

#include "base/mem.h"

enum { ROW_END, ROW_FOLLOWS };

/* ---- pieces ---- */

static void
put(struct wire_out *out, const void *data, size_t n)
{
    out->full = out->full || buf_add(out->to, data, n) == -1;
}

static void
put_byte(struct wire_out *out, uint8_t n)
{
    put(out, &n, 1);
}

static void
put_text(struct wire_out *out, struct str s)
{
    uint32_t len = (uint32_t)s.len;

    if (s.len > out->to->limit) {
        out->full = true;
        return;
    }
    put(out, &len, sizeof(len));
    put(out, s.ptr, s.len);
    put_byte(out, 0);
}

static bool
get(struct wire_in *in, void *data, size_t n)
{
    if (in->bad || in->rest.len < n) {
        in->bad = true;
        memset(data, 0, n);
        return false;
    }
    memcpy(data, in->rest.ptr, n);
    in->rest = str_skip(in->rest, n);
    return true;
}

static uint8_t
get_byte(struct wire_in *in)
{
    uint8_t n;

    get(in, &n, 1);
    return n;
}

static struct str
get_text(struct wire_in *in)
{
    struct str text;
    uint32_t len;

    if (!get(in, &len, sizeof(len)) || in->rest.len < (size_t)len + 1 ||
        in->rest.ptr[len] != '\0') {
        in->bad = true;
        return STR_NONE;
    }
    text = str_first(in->rest, len);
    in->rest = str_skip(in->rest, (size_t)len + 1);
    return text;
}

/* ---- values ---- */

void
wire_put_value(struct wire_out *out, const struct store_value *v)
{
    put_byte(out, (uint8_t)v->type);
    switch (v->type) {
    case STORE_NULL:
        break;
    case STORE_INT:
        put(out, &v->n, sizeof(v->n));
        break;
    case STORE_TEXT:
        put_text(out, v->s);
        break;
    }
}

struct store_value
wire_get_value(struct wire_in *in)
{
    struct store_value v = { .type = (enum store_type)get_byte(in) };

    v.s = STR_NONE;
    switch (v.type) {
    case STORE_NULL:
        break;
    case STORE_INT:
        get(in, &v.n, sizeof(v.n));
        break;
    case STORE_TEXT:
        v.s = get_text(in);
        break;
    default:
        in->bad = true;
        break;
    }
    return v;
}

/* ---- requests ---- */

void
wire_put_request(struct wire_out *out, const struct wire_request *head)
{
    put(out, head, sizeof(*head));
}

void
wire_set_request(struct buf *b, const struct wire_request *head)
{
    memcpy(b->mem + b->head, head, sizeof(*head));
}

void
wire_put_step(struct wire_out *out, struct schema_place place,
              const struct store_step *s)
{
    put(out, &place, sizeof(place));
    put_byte(out, s->must_change);
    put_byte(out, (uint8_t)s->count);
    for (size_t i = 0; i < s->count; i++) {
        wire_put_value(out, &s->params[i]);
    }
}

void
wire_put_notice(struct wire_out *out, const struct store_notice *n)
{
    put_text(out, n != NULL ? str_from(n->topic) : STR_NONE);
    put_text(out, n != NULL ? n->text : STR_NONE);
}

bool
wire_get_request(struct wire_in *in, struct wire_request *head)
{
    return get(in, head, sizeof(*head)) && head->steps <= STORE_STEPS;
}

bool
wire_get_step(struct wire_in *in, struct wire_step *s)
{
    get(in, &s->place, sizeof(s->place));
    s->must_change = get_byte(in) != 0;
    s->count = get_byte(in);
    if (in->bad || s->count > STORE_PARAMS) {
        return false;
    }
    for (size_t i = 0; i < s->count; i++) {
        s->params[i] = wire_get_value(in);
    }
    return !in->bad;
}

bool
wire_get_notice(struct wire_in *in, struct str *topic, struct str *text)
{
    *topic = get_text(in);
    *text = get_text(in);
    return !in->bad;
}

/* ---- answers ---- */

void
wire_put_answer(struct wire_out *out, const struct wire_answer *head)
{
    put(out, head, sizeof(*head));
}

void
wire_set_answer(struct buf *b, const struct wire_answer *head)
{
    memcpy(b->mem + b->head, head, sizeof(*head));
}

void
wire_put_columns(struct wire_out *out, unsigned columns)
{
    uint32_t n = columns;

    put(out, &n, sizeof(n));
}

void
wire_put_row(struct wire_out *out)
{
    put_byte(out, ROW_FOLLOWS);
}

void
wire_put_end(struct wire_out *out, int64_t changed)
{
    put_byte(out, ROW_END);
    put(out, &changed, sizeof(changed));
}

bool
wire_get_answer(struct wire_in *in, struct wire_answer *head)
{
    return get(in, head, sizeof(*head)) && head->steps <= STORE_STEPS &&
           head->status <= STORE_FAILED;
}

/* Rows of one step; cells NULL: they are only counted. */
static void
get_step_rows(struct wire_in *in, struct store_rows *r,
              struct store_value *cells)
{
    uint32_t columns;

    *r = (struct store_rows){ .cells = cells };
    get(in, &columns, sizeof(columns));
    r->columns = columns;
    while (get_byte(in) == ROW_FOLLOWS && !in->bad) {
        for (uint32_t i = 0; i < columns && !in->bad; i++) {
            struct store_value v = wire_get_value(in);

            if (cells != NULL) {
                cells[r->rows * columns + i] = v;
            }
        }
        r->rows++;
    }
    get(in, &r->changed, sizeof(r->changed));
}

bool
wire_get_rows(struct wire_in *in, const struct wire_answer *head,
              struct wire_rows *out)
{
    struct wire_in look = *in;
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

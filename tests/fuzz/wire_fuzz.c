/*
 * Fuzz target: requests and answers of the store as bytes.
 *
 * The first byte says which of them the rest is.  What was read and written
 * again is read as the same; texts lie within the bytes.
 *
 * covers: src/store/wire.c
 * covers: src/base/pack.c:pack_bytes,pack_u8,pack_u32,pack_int,pack_text
 * covers: src/base/pack.c:unpack_bytes,unpack_u8,unpack_u32,unpack_int
 * covers: src/base/pack.c:unpack_text
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "base/mem.h"
#include "store/wire.h"

#define LIMIT (1 << 20)

static void
look_at(const struct store_value *v, struct str all)
{
    if (v->type == STORE_TEXT) {
        require(v->s.ptr >= all.ptr &&
                v->s.ptr + v->s.len < all.ptr + all.len &&
                v->s.ptr[v->s.len] == '\0');
    }
}

static bool
same(const struct store_value *a, const struct store_value *b)
{
    return a->type == b->type && (a->type != STORE_INT || a->n == b->n) &&
           (a->type != STORE_TEXT || str_eq(a->s, b->s));
}

/* ---- requests ---- */

static bool
read_request(struct str bytes, struct wire_request *head,
             struct wire_step steps[STORE_STEPS], struct str notice[2])
{
    struct unpack in = { bytes, false };

    if (!wire_get_request(&in, head)) {
        return false;
    }
    for (size_t i = 0; i < head->steps; i++) {
        if (!wire_get_step(&in, &steps[i])) {
            return false;
        }
        schema_statement(steps[i].place);
        for (size_t k = 0; k < steps[i].count; k++) {
            look_at(&steps[i].params[k], bytes);
        }
    }
    return wire_get_notice(&in, &notice[0], &notice[1]);
}

static void
write_request(struct pack *out, const struct wire_request *head,
              const struct wire_step *steps, const struct str notice[2])
{
    char *topic = mem_dup(notice[0].ptr, notice[0].len);
    struct store_notice n = { .topic = topic, .text = notice[1] };

    wire_put_request(out, &(struct wire_request){ .steps = 0 });
    for (size_t i = 0; i < head->steps; i++) {
        struct store_step s = { .params = steps[i].params,
                                .count = steps[i].count,
                                .must_change = steps[i].must_change };

        wire_put_step(out, steps[i].place, &s);
    }
    wire_put_notice(out, notice[0].len + notice[1].len > 0 ? &n : NULL);
    wire_set_request(out->to, head);
    mem_free(&topic);
}

static void
try_request(struct str bytes)
{
    static struct wire_step a[STORE_STEPS], b[STORE_STEPS];
    struct wire_request head, again;
    struct str notice[2], notice_again[2];
    struct buf buf;
    struct pack out = { &buf, false };

    if (!read_request(bytes, &head, a, notice)) {
        return;
    }
    buf_init(&buf, LIMIT);
    write_request(&out, &head, a, notice);
    require(!out.full && read_request(buf_str(&buf), &again, b, notice_again));
    require(memcmp(&head, &again, sizeof(head)) == 0);
    require(str_eq(notice[1], notice_again[1]));
    for (size_t i = 0; i < head.steps; i++) {
        require(a[i].count == b[i].count &&
                a[i].must_change == b[i].must_change &&
                a[i].place.schema == b[i].place.schema &&
                a[i].place.statement == b[i].place.statement);
        for (size_t k = 0; k < a[i].count; k++) {
            require(same(&a[i].params[k], &b[i].params[k]));
        }
    }
    buf_clear(&buf);
}

/* ---- answers ---- */

static bool
read_answer(struct str bytes, struct wire_answer *head, struct rows *rows)
{
    struct unpack in = { bytes, false };

    return wire_get_answer(&in, head) && wire_get_rows(&in, head, rows);
}

static void
compare(const struct store_rows *a, const struct store_rows *b)
{
    require(a->rows == b->rows && a->columns == b->columns &&
            a->changed == b->changed);
    for (size_t i = 0; i < a->rows * a->columns; i++) {
        require(same(&a->cells[i], &b->cells[i]));
    }
}

static void
try_answer(struct str bytes)
{
    struct wire_answer head, head_again;
    struct rows rows, again;
    struct buf buf;
    struct pack out = { &buf, false };

    if (!read_answer(bytes, &head, &rows)) {
        return;
    }
    for (size_t i = 0; i < rows.used; i++) {
        look_at(&rows.cells[i], bytes);
    }
    buf_init(&buf, LIMIT);
    wire_put_answer(&out, head.number, &rows.result);
    require(!out.full && read_answer(buf_str(&buf), &head_again, &again));
    require(memcmp(&head, &head_again, sizeof(head)) == 0);
    for (uint32_t i = 0; i < head.steps; i++) {
        compare(&rows.steps[i], &again.steps[i]);
    }
    rows_clear(&again);
    rows_clear(&rows);
    buf_clear(&buf);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = str_of(data, size);

    if (take_byte(&input) % 2 == 0) {
        try_request(input);
    } else {
        try_answer(input);
    }
    return 0;
}

/*
 * Requests and answers as bytes: what goes over the bus, what the ledger
 * keeps, and what a thread that reads hands to the loop.
 *
 * Sender and reader are forks of one program, so numbers are as this machine
 * has them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_WIRE_H
#define STORE_WIRE_H

#include "base/pack.h"
#include "store/schema.h"

#define WIRE_REQUEST_MAX (8 << 20) /* bytes */
#define WIRE_ANSWER_MAX (STORE_ROWS_MAX + 65536)
#define WIRE_NOTICE_MAX 1024                         /* bytes of its text */
#define WIRE_NOTICE_BYTES (2 * WIRE_NOTICE_MAX + 64) /* with its topic */

/* ---- values ---- */

void wire_put_value(struct pack *out, const struct store_value *v);
/* Text points into the bytes and has a NUL behind it. */
struct store_value wire_get_value(struct unpack *in);

/* ---- requests: head, steps, notice ---- */

struct wire_request {
    uint64_t number; /* of the sender, growing */
    uint64_t oldest; /* its lowest that is not answered */
    int64_t due;     /* clock_ms(): later nobody waits for it */
    uint32_t again;  /* 1: a keeper that is gone may have done it */
    uint32_t steps;
};

struct wire_step {
    struct schema_place place;
    bool must_change;
    size_t count;
    struct store_value params[STORE_PARAMS];
};

/* b begins with *head, which may be written again. */
void wire_put_request(struct pack *out, const struct wire_request *head);
void wire_put_step(struct pack *out, struct schema_place place,
                   const struct store_step *s);
void wire_put_notice(struct pack *out, const struct store_notice *n);
void wire_set_request(struct buf *b, const struct wire_request *head);

bool wire_get_request(struct unpack *in, struct wire_request *head);
bool wire_get_step(struct unpack *in, struct wire_step *s);
/* *topic is STR_NONE when there is none. */
bool wire_get_notice(struct unpack *in, struct str *topic, struct str *text);

/* ---- answers: head, rows of each step ---- */

struct wire_answer {
    uint64_t number;
    uint32_t status; /* enum store_status */
    uint32_t steps;
};

void wire_put_answer(struct pack *out, const struct wire_answer *head);
void wire_set_answer(struct buf *b, const struct wire_answer *head);
/* Rows: columns, then each row, then the end. */
void wire_put_columns(struct pack *out, unsigned columns);
void wire_put_row(struct pack *out); /* its values follow */
void wire_put_end(struct pack *out, int64_t changed);

/* An answer with its rows made readable. */
struct wire_rows {
    struct store_result result;
    struct store_rows rows[STORE_STEPS];
    struct store_value *cells; /* owned */
};

bool wire_get_answer(struct unpack *in, struct wire_answer *head);
/* What follows the head.  false: it is not whole, or memory is out; then
 * there is nothing to clear. */
bool wire_get_rows(struct unpack *in, const struct wire_answer *head,
                   struct wire_rows *out);
void wire_clear_rows(struct wire_rows *r);

#endif

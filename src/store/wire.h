/*
 * Requests and answers as bytes, for the bus and for the ledger.
 *
 * Sender and reader are forks of one program, so numbers have this machine's
 * byte order.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_WIRE_H
#define STORE_WIRE_H

#include "base/pack.h"
#include "store/rows.h"
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

/* number: of the request. */
void wire_put_answer(struct pack *out, uint64_t number,
                     const struct store_result *r);

bool wire_get_answer(struct unpack *in, struct wire_answer *head);
/* The rows behind the head, for rows_clear(); texts stay in the bytes. false:
 * they are not whole, or memory is out; then there is nothing to clear. */
bool wire_get_rows(struct unpack *in, const struct wire_answer *head,
                   struct rows *out);

#endif

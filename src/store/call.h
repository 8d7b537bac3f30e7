/*
 * A call of the store: from its caller to the backend and back.
 *
 * store.c makes and answers it, counts it and watches its time.  A backend puts
 * it in a queue of its own by `place` and answers it, from the loop and never
 * within read() or write().
 *
 *   away.c  the backend where the store cannot be opened
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_CALL_H
#define STORE_CALL_H

#include "store/metrics.h"
#include "store/wire.h"

struct store_call {
    struct list link;  /* all that wait, the oldest first */
    struct list place; /* in a queue of the backend */
    enum store_kind kind;
    store_done *done; /* NULL: nobody wants the answer any more */
    void *arg;
    int64_t due; /* clock_ms(): then it is STORE_DOWN */
    int64_t began_us;
    enum store_status status; /* of the coming answer, see call_later() */
    bool busy;                /* a thread or a connection has it */
    bool over;                /* answered meanwhile: freed when the thread or
                                 connection returns it */
    unsigned tries;           /* failed ones that may be made again */

    /* A write; the bytes begin with the head. */
    struct wire_request head;
    struct buf request;
    bool sent;

    /* A read; texts of the parameters are in request. */
    struct schema_place statement;
    bool quick;
    size_t count;
    struct store_value params[STORE_PARAMS];
};

/* Calls its done() and frees *c, at once or when its thread gives it back. */
void call_answer(struct store_call **c, enum store_status status);
/* The same with its result; *r may be freed afterwards. */
void call_answer_rows(struct store_call **c, const struct store_result *r);
/* The same with the bytes of wire_put_answer(). */
void call_answer_packed(struct store_call **c, struct str bytes);
/* call_answer() by the loop, not now. */
void call_later(struct store_call *c, enum store_status status);
void call_free(struct store_call **c);

/* A backend's functions, all called in the process that asks. */
struct backend {
    int (*open)(struct loop *l, const struct store_settings *s,
                struct task_threads *threads, struct errmsg *err);
    void (*close)(void); /* no call is left */
    void (*read)(struct store_call *c);
    void (*write)(struct store_call *c);
    /* Every TICK_MS while calls wait. */
    void (*tick)(void);
    bool (*is_up)(void);
    uint64_t (*version)(void); /* store_version(); NULL: always 0 */
};

extern const struct backend sqlite_backend;   /* store/sqlite/reader.c */
extern const struct backend postgres_backend; /* store/postgres/postgres.c */
extern const struct backend away_backend;     /* store/away.c: there is none */

#endif

/*
 * One write over a connection: steps, COMMIT; or what has to be done when
 * something is in its way.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <assert.h>

#include "base/clock.h"
#include "base/log.h"
#include "proc/slot.h"
#include "store/bus.h"
#include "store/postgres/postgres.h"

#define TRIES 1000      /* within store.timeout */
#define LEAVE_TRIES 3   /* where it is likely that it never succeeds */
#define FORGET_ROWS 64  /* of the ledger, at least, */
#define FORGET_MS 1000  /* and not more often */
#define SLOW_US 1000000 /* for a transaction to be told of */

#define LEDGER_KEY "boot = $1 AND owner = $2 AND number "

/* ---- answering ---- */

static void
answer(struct pg_worker *w, enum store_status status)
{
    struct store_call *c = w->call;

    w->call = NULL;
    c->busy = false;
    if (c->over) {
        call_free(&c);
    } else if (status == STORE_OK) {
        call_answer_packed(&c, buf_str(&w->answer));
    } else {
        call_answer(&c, status);
    }
}

static void
be_free(struct pg_worker *w)
{
    w->phase = PG_FREE;
    pg_rows_clear(&w->rows);
    buf_clear(&w->answer);
    pg_begin();
}

/* Somebody else makes it, or the same over another connection. */
static void
give_back(struct pg_worker *w)
{
    struct store_call *c = w->call;

    w->call = NULL;
    if (c != NULL && c->over) {
        call_free(&c);
    } else if (c != NULL) {
        c->busy = false;
        list_prepend(&pg.writes, &c->place);
    }
    be_free(w);
}

static void
account(const struct pg_worker *w, bool ok)
{
    int64_t us = clock_us() - w->began_us;

    metric_add(&store_metrics[STORE_COMMITS], !ok, 1);
    metric_observe(&store_metrics[STORE_COMMIT_TIME], 0, us);
    metric_observe(&store_metrics[STORE_BATCH], 0, 1);
    if (us >= SLOW_US) {
        log_limited(LOG_WARN, "a transaction of the store took %lld ms",
                    (long long)(us / 1000));
    }
}

/* ---- trips ---- */

static void
begin(struct pg_worker *w, enum pg_phase phase)
{
    w->phase = phase;
    w->failed = w->found = false;
    w->begun = 0;
    w->why.text[0] = '\0';
    pg_ask_begin(&w->ask, &w->conn);
}

static void
say(struct pg_worker *w, const char *sql)
{
    pg_ask_sql(&w->ask, sql, NULL, 0, false);
}

/* With the key of the call's row in the ledger, and the answer. */
static void
say_of_ledger(struct pg_worker *w, const char *sql, const struct str *bytes)
{
    struct store_value row[] = {
        store_int((int64_t)store_boot()),
        store_int((int64_t)slot_self_owner()),
        store_int((int64_t)w->call->head.number),
        store_text(bytes != NULL ? *bytes : STR_NONE),
    };

    pg_ask_sql(&w->ask, sql, row, bytes != NULL ? 4 : 3, bytes != NULL);
}

static void
say_steps(struct pg_worker *w)
{
    const struct store_call *c = w->call;
    struct unpack in = { .rest = buf_str(&c->request) };
    struct wire_request head;
    struct wire_step step;

    wire_get_request(&in, &head);
    for (uint32_t i = 0; i < c->head.steps; i++) {
        wire_get_step(&in, &step);
        w->places[i] = step.place;
        w->must_change[i] = step.must_change;
        pg_ask_statement(&w->ask, step.place, step.params, step.count);
    }
    wire_get_notice(&in, &w->topic, &w->text);
    assert(!in.bad); /* store.c has just written it */
}

/* Steps that each depend on one row need no order of transactions: the row's
 * lock is enough, and a transaction that waited for it is not refused. */
static bool
is_alone(const struct store_call *c)
{
    struct unpack in = { .rest = buf_str(&c->request) };
    struct wire_request head;
    struct wire_step step;
    bool alone = true;

    wire_get_request(&in, &head);
    for (uint32_t i = 0; alone && i < head.steps; i++) {
        alone =
            wire_get_step(&in, &step) && schema_statement(step.place)->alone;
    }
    return alone;
}

/* One that may have been done enters itself in the ledger before it does
 * anything: that fails if it was done, and waits while it is being done. */
static void
start(struct pg_worker *w)
{
    struct str nothing = STR_NONE;

    w->began_us = clock_us();
    w->done_before = false;
    pg_rows_clear(&w->rows);
    begin(w, PG_STEPS);
    say(w, is_alone(w->call) ? "BEGIN ISOLATION LEVEL READ COMMITTED"
                             : "BEGIN ISOLATION LEVEL SERIALIZABLE");
    w->begun = 1;
    if (w->call->head.again != 0) {
        say_of_ledger(w,
                      "INSERT INTO store_ledger (boot, owner, number, answer) "
                      "VALUES ($1, $2, $3, $4)",
                      &nothing);
        w->begun = 2;
    }
    say_steps(w);
    pg_ask_end(&w->ask);
}

static void
commit(struct pg_worker *w)
{
    struct pack out = { .to = &w->answer };
    bool entered = w->call->head.again != 0;
    struct str bytes;

    buf_clear(&w->answer);
    wire_put_answer(&out, w->call->head.number, rows_finish(&w->rows.rows));
    bytes = buf_str(&w->answer);
    begin(w, PG_COMMIT);
    say_of_ledger(w,
                  entered ? "UPDATE store_ledger SET answer = $4 "
                            "WHERE " LEDGER_KEY "= $3"
                          : "INSERT INTO store_ledger (boot, owner, number, "
                            "answer) VALUES ($1, $2, $3, $4)",
                  &bytes);
    if (w->topic.len > 0) {
        struct store_value values[] = { store_text(w->topic),
                                        store_text(w->text) };

        pg_ask_sql(&w->ask,
                   "SELECT pg_notify('" PG_CHANNEL "', $1 || ' ' || $2)",
                   values, 2, false);
    }
    say(w, "COMMIT");
    pg_ask_end(&w->ask);
}

static void
undo(struct pg_worker *w)
{
    begin(w, PG_UNDO);
    say(w, "ROLLBACK");
    pg_ask_end(&w->ask);
}

static void
look(struct pg_worker *w)
{
    struct store_value key[] = { store_int((int64_t)store_boot()),
                                 store_int((int64_t)slot_self_owner()),
                                 store_int((int64_t)w->call->head.number) };

    begin(w, PG_LOOK);
    pg_ask_sql(&w->ask,
               "SELECT encode(answer, 'hex') FROM store_ledger "
               "WHERE " LEDGER_KEY "= $3",
               key, 3, false);
    pg_ask_end(&w->ask);
}

/* The lowest number that may be asked again. */
static uint64_t
oldest_number(void)
{
    uint64_t oldest = pg.last + 1;

    LIST_EACH (node, &pg.writes) {
        const struct store_call *c = LIST_ITEM(node, struct store_call, place);

        oldest = c->head.number < oldest ? c->head.number : oldest;
    }
    for (size_t i = 0; i < pg.count; i++) {
        const struct store_call *c = pg.workers[i].call;

        if (c != NULL && c->head.number < oldest) {
            oldest = c->head.number;
        }
    }
    return oldest;
}

static void
forget(struct pg_worker *w)
{
    struct store_value key[] = { store_int((int64_t)store_boot()),
                                 store_int((int64_t)slot_self_owner()),
                                 store_int((int64_t)oldest_number()) };

    pg.rows = 0;
    pg.forgot_ms = loop_now(pg.loop);
    begin(w, PG_FORGET);
    pg_ask_sql(&w->ask, "DELETE FROM store_ledger WHERE " LEDGER_KEY "< $3",
               key, 3, false);
    pg_ask_end(&w->ask);
}

/* ---- what comes of them ---- */

static void
fail(struct pg_worker *w, struct pg_fault fault)
{
    w->failed = true;
    w->fault = fault;
}

static void
fail_step(struct pg_worker *w, size_t step, const PGresult *r)
{
    fail(w, pg_fault_of_result(r));
    pg_explain(r, &w->why);
    if (step < STORE_STEPS) {
        errmsg_prefix(&w->why, "statement %s of schema %s: ",
                      schema_statement(w->places[step])->name,
                      schema_at(w->places[step].schema)->name);
    }
}

static void
take_step(struct pg_worker *w, size_t step, const PGresult *r)
{
    pg_rows_add(&w->rows, r);
    if (w->rows.rows.full) {
        fail(w, (struct pg_fault){ STORE_FAILED, PG_ANSWER });
        errmsg_set(&w->why, "its rows are more than %d bytes", STORE_ROWS_MAX);
    } else if (libpq.resultStatus(r) != PGRES_SINGLE_TUPLE &&
               w->must_change[step] && w->rows.changed == 0) {
        fail(w, (struct pg_fault){ STORE_MISSING, PG_ANSWER });
    }
}

static void
take_row(struct pg_worker *w, const PGresult *r)
{
    const char *hex = libpq.ntuples(r) > 0 ? libpq.getvalue(r, 0, 0) : "";

    buf_clear(&w->answer);
    w->found |= hex[0] != '\0';
    for (; hex[0] != '\0' && hex[1] != '\0'; hex += 2) {
        uint8_t byte =
            (uint8_t)(str_hex_digit(hex[0]) << 4 | str_hex_digit(hex[1]));

        buf_add(&w->answer, &byte, 1);
    }
}

static bool
is_error(const PGresult *r)
{
    return libpq.resultStatus(r) == PGRES_FATAL_ERROR ||
           libpq.resultStatus(r) == PGRES_BAD_RESPONSE;
}

static void
on_result(struct pg_ask *a, size_t i, const PGresult *r)
{
    struct pg_worker *w = LIST_ITEM(a, struct pg_worker, ask);
    bool is_step = w->phase == PG_STEPS && i >= w->begun;

    if (w->failed) {
        return;
    }
    if (is_error(r)) {
        fail_step(w, is_step ? i - w->begun : STORE_STEPS, r);
        /* No constraint of a schema is found by COMMIT: it is the ledger's. */
        w->done_before = w->fault.status == STORE_CONFLICT && !is_step;
    } else if (is_step) {
        take_step(w, i - w->begun, r);
    } else if (w->phase == PG_LOOK &&
               libpq.resultStatus(r) == PGRES_SINGLE_TUPLE) {
        take_row(w, r);
    }
}

/* Logs an error.  A violated uniqueness and a missing row concern the caller
 * alone. */
static void
tell(const struct pg_worker *w)
{
    if (w->fault.status == STORE_FAILED) {
        log_limited(LOG_ERROR, "the store was asked what it cannot do: %s",
                    w->why.text);
    } else if (w->fault.status != STORE_CONFLICT &&
               w->fault.status != STORE_MISSING) {
        log_limited(LOG_ERROR, "the store cannot write: %s", w->why.text);
    }
}

/* An error that a new connection did not mend is most likely a real one. */
static bool
may_try_again(struct pg_worker *w)
{
    unsigned limit = w->fault.status == STORE_FAILED ? LEAVE_TRIES : TRIES;

    return w->fault.remedy != PG_ANSWER && w->call->tries++ < limit;
}

/* Nothing is done, or (done_before) all was. */
static void
end_failed(struct pg_worker *w)
{
    bool again = may_try_again(w);
    bool leave = w->fault.remedy == PG_LEAVE;

    account(w, false);
    if (again || w->done_before) {
        metric_add(&store_metrics[STORE_RETRIES], 0, again);
    } else {
        tell(w);
        answer(w, w->fault.status);
    }
    if (leave) {
        pg_conn_drop(&w->conn, w->why.text);
        give_back(w);
    } else if (libpq.transactionStatus(w->conn.pq) != PQTRANS_IDLE) {
        undo(w);
    } else {
        w->phase = PG_UNDO;
        w->ask.done(&w->ask, false);
    }
}

static void
end_done(struct pg_worker *w)
{
    account(w, true);
    pg.rows++;
    answer(w, STORE_OK);
    if (pg.rows >= FORGET_ROWS &&
        loop_now(pg.loop) - pg.forgot_ms > FORGET_MS) {
        forget(w);
    } else {
        be_free(w);
    }
}

static void
end_undone(struct pg_worker *w)
{
    if (w->call == NULL || w->call->over) {
        give_back(w);
    } else if (w->done_before) {
        look(w);
    } else {
        start(w);
    }
}

static void
end_look(struct pg_worker *w)
{
    if (w->found) {
        metric_add(&store_metrics[STORE_REPLAYED], 0, 1);
    }
    answer(w, w->found ? STORE_OK : STORE_DOWN);
    be_free(w);
}

static void
on_done(struct pg_ask *a, bool lost)
{
    struct pg_worker *w = LIST_ITEM(a, struct pg_worker, ask);

    if (lost) {
        if (w->phase == PG_COMMIT) {
            w->call->head.again = 1;
        }
        give_back(w);
        return;
    }
    switch (w->phase) {
    case PG_STEPS:
        (w->failed ? end_failed : commit)(w);
        break;
    case PG_COMMIT:
        (w->failed ? end_failed : end_done)(w);
        break;
    case PG_UNDO:
        end_undone(w);
        break;
    case PG_LOOK:
        end_look(w);
        break;
    case PG_FREE:
    case PG_READ:
    case PG_FORGET:
        be_free(w);
        break;
    }
}

void
pg_write_init(struct pg_worker *w)
{
    w->phase = PG_FREE;
    w->ask.result = on_result;
    w->ask.done = on_done;
    w->call = NULL;
    pg_rows_init(&w->rows);
    buf_init(&w->answer, WIRE_ANSWER_MAX);
}

void
pg_write_on(struct pg_worker *w, struct store_call *c)
{
    list_remove(&c->place);
    c->busy = true;
    w->call = c;
    start(w);
}

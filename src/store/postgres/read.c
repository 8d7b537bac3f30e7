/*
 * One read over a connection.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/log.h"
#include "base/mem.h"
#include "store/postgres/postgres.h"

#define TRIES 3 /* over connections that were left */

static void
on_result(struct pg_ask *a, size_t i, const PGresult *r)
{
    struct pg_reading *p = LIST_ITEM(a, struct pg_reading, ask);
    ExecStatusType status = libpq.resultStatus(r);

    (void)i;
    if (p->failed) {
        return;
    }
    if (status == PGRES_SINGLE_TUPLE || status == PGRES_TUPLES_OK ||
        status == PGRES_COMMAND_OK) {
        pg_rows_add(&p->rows, r);
    } else {
        p->failed = true;
        p->fault = pg_fault_of_result(r);
        pg_explain(r, &p->why);
    }
    if (p->rows.rows.full && !p->failed) {
        p->failed = true;
        p->fault = (struct pg_fault){ STORE_FAILED, PG_ANSWER };
        errmsg_set(&p->why, "its rows are more than %d bytes", STORE_ROWS_MAX);
    }
}

static void
ask_again(struct store_call *c)
{
    list_prepend(c->quick ? &pg.quick : &pg.slow, &c->place);
}

static void
answer(struct pg_reading *p, struct store_call *c)
{
    if (!p->failed) {
        call_answer_rows(&c, rows_finish(&p->rows.rows));
        return;
    }
    log_limited(LOG_ERROR, "the store cannot be read: statement %s: %s",
                schema_statement(c->statement)->name, p->why.text);
    call_answer(&c, p->fault.status);
}

static void
end(struct pg_reading *p, struct store_call *c, bool lost)
{
    bool again = lost || (p->failed && p->fault.remedy != PG_ANSWER);

    c->busy = false;
    if (p->failed && p->fault.remedy == PG_LEAVE && !lost) {
        pg_conn_drop(p->ask.conn, p->why.text);
    }
    if (c->over) {
        call_free(&c);
    } else if (again && (lost || c->tries++ < TRIES)) {
        ask_again(c);
    } else {
        answer(p, c);
    }
}

static void
on_done(struct pg_ask *a, bool lost)
{
    struct pg_reading *p = LIST_ITEM(a, struct pg_reading, ask);

    if (p->worker != NULL) {
        p->worker->phase = PG_FREE;
    }
    end(p, p->call, lost);
    pg_rows_clear(&p->rows);
    mem_free(&p);
    pg_begin();
}

void
pg_read_on(struct pg_conn *conn, struct store_call *c, struct pg_worker *w)
{
    struct pg_reading *p = mem_zero(sizeof(*p));

    list_remove(&c->place);
    c->busy = true;
    p->call = c;
    p->worker = w;
    if (w != NULL) {
        w->phase = PG_READ;
    }
    pg_rows_init(&p->rows);
    p->ask.result = on_result;
    p->ask.done = on_done;
    pg_ask_begin(&p->ask, conn);
    pg_ask_statement(&p->ask, c->statement, c->params, c->count);
    pg_ask_end(&p->ask);
}

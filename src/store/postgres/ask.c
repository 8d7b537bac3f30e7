/*
 * Questions over a connection, and the results that come.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <assert.h>

#include "base/clock.h"
#include "store/postgres/conn.h"
#include "store/postgres/prepared.h"

#define SHARE_US 5000 /* of a turn, for results */

/* ---- results ---- */

void
pg_ask_over(struct pg_ask *a, bool lost)
{
    list_remove(&a->link);
    a->done(a, lost);
}

static bool
is_final(ExecStatusType status)
{
    return status != PGRES_SINGLE_TUPLE && status != PGRES_NONFATAL_ERROR;
}

bool
pg_is_good(ExecStatusType status)
{
    return status == PGRES_SINGLE_TUPLE || status == PGRES_TUPLES_OK ||
           status == PGRES_COMMAND_OK || status == PGRES_EMPTY_QUERY;
}

/* Which of the asker's commands the current one is, or serves. */
static size_t
number_of(const struct pg_ask *a)
{
    size_t n = 0;

    for (size_t i = 0; i < a->at && i < PG_COMMANDS; i++) {
        n += !a->ours[i];
    }
    return n;
}

static void
take_result(struct pg_conn *c, struct pg_ask *a, const PGresult *r)
{
    ExecStatusType status = libpq.resultStatus(r);
    size_t number = number_of(a);
    bool ours = a->at < PG_COMMANDS && a->ours[a->at];

    if (ours && !pg_is_good(status)) {
        prepared_forget(c->prepared, a->places[a->at]);
    }
    a->at += is_final(status);
    if (status != PGRES_PIPELINE_ABORTED && (!ours || !pg_is_good(status)) &&
        a->result != NULL) {
        a->result(a, number, r);
    }
}

/* false: there is nothing more to be had now. */
static bool
take_next(struct pg_conn *c, bool *silent)
{
    struct pg_ask *a = LIST_ITEM(c->asks.next, struct pg_ask, link);
    bool pipeline = libpq.pipelineStatus(c->pq) != PQ_PIPELINE_OFF;
    PGresult *r;

    libpq.setSingleRowMode(c->pq);
    if (libpq.isBusy(c->pq)) {
        return false;
    }
    r = libpq.getResult(c->pq);
    if (r == NULL && pipeline) { /* stands behind each command */
        bool twice = *silent;

        *silent = true;
        if (twice) {
            pg_conn_drop(c, "the server's answers cannot be followed");
        }
        return !twice;
    }
    *silent = false;
    if (r == NULL || libpq.resultStatus(r) == PGRES_PIPELINE_SYNC) {
        pg_ask_over(a, false);
    } else {
        take_result(c, a, r);
    }
    libpq.clear(r);
    return true;
}

static void
take_notices(struct pg_conn *c)
{
    PGnotify *n;

    while (c->state == PG_READY && (n = libpq.notifies(c->pq)) != NULL) {
        if (c->o.heard != NULL) {
            c->o.heard(c, str_from(n->extra));
        }
        libpq.freemem(n);
    }
}

void
pg_take_results(struct pg_conn *c)
{
    int64_t begin = clock_us();
    bool silent = false;

    while (c->pq != NULL && !list_empty(&c->asks)) {
        if (clock_us() - begin > SHARE_US) {
            loop_later(c->loop, &c->resume);
            return;
        }
        if (!take_next(c, &silent)) {
            break;
        }
    }
    take_notices(c);
}

/* libpq closes its socket by itself when it is broken. */
static void
want(struct pg_conn *c, unsigned wanted)
{
    if (libpq.socket(c->pq) == -1) {
        io_stop(c->loop, &c->io);
    } else {
        io_want(c->loop, &c->io, wanted);
    }
}

static void
flush(struct pg_conn *c)
{
    int left = libpq.flush(c->pq);

    if (left == -1) {
        pg_conn_drop(c, NULL);
    }
    want(c, IO_READ | (left == 1 ? IO_WRITE : 0));
}

/* Bytes before the end are still read: they may be the answer to a COMMIT. */
void
pg_talk(struct pg_conn *c, unsigned ready)
{
    bool there = (ready & IO_READ) == 0 || libpq.consumeInput(c->pq) == 1;

    if (!there) {
        want(c, 0); /* before another has a socket of its number */
    }
    c->heard_ms = loop_now(c->loop);
    pg_take_results(c);
    if (c->pq == NULL) {
        return;
    }
    if (!there) {
        pg_conn_drop(c, NULL);
    } else {
        flush(c);
    }
}

/* ---- asking ---- */

void
pg_ask_begin(struct pg_ask *a, struct pg_conn *c)
{
    a->conn = c;
    a->count = a->at = 0;
    list_init(&a->link);
}

static void
add_command(struct pg_ask *a, int sent, bool ours)
{
    assert(a->count < PG_COMMANDS);
    if (sent == 0) {
        pg_conn_drop(a->conn, NULL);
    }
    a->ours[a->count++] = ours;
}

void
pg_ask_statement(struct pg_ask *a, struct schema_place place,
                 const struct store_value *params, size_t count)
{
    struct pg_conn *c = a->conn;
    struct pg_params p;
    char name[PREPARED_NAME];

    pg_params_set(&p, params, count);
    if (!prepared_find(c->prepared, place, &p, name)) {
        a->places[a->count] = place;
        prepared_add(c->prepared, place, &p, ++c->serial, name);
        add_command(a,
                    libpq.sendPrepare(c->pq, name, prepared_text(place),
                                      p.count, p.types),
                    true);
    }
    add_command(a,
                libpq.sendQueryPrepared(c->pq, name, p.count, p.values,
                                        p.lengths, p.formats, 0),
                false);
}

void
pg_ask_sql(struct pg_ask *a, const char *sql, const struct store_value *params,
           size_t count, bool bytes)
{
    struct pg_params p;

    pg_params_set(&p, params, count);
    if (bytes) {
        p.types[count - 1] = PG_TYPE_BYTES;
    }
    add_command(a,
                libpq.sendQueryParams(a->conn->pq, sql, p.count, p.types,
                                      p.values, p.lengths, p.formats, bytes),
                false);
}

static void
begin_waiting(struct pg_ask *a)
{
    struct pg_conn *c = a->conn;

    if (list_empty(&c->asks)) {
        c->heard_ms = loop_now(c->loop);
        timer_set(c->loop, &c->timer, c->o.patience + PG_GRACE_MS);
    }
    list_append(&c->asks, &a->link);
    flush(c);
}

void
pg_ask_end(struct pg_ask *a)
{
    if (libpq.pipelineSync(a->conn->pq) == 0) {
        pg_conn_drop(a->conn, NULL);
    }
    begin_waiting(a);
}

void
pg_ask_script(struct pg_ask *a, struct pg_conn *c, const char *sql)
{
    pg_ask_begin(a, c);
    if (libpq.sendQuery(c->pq, sql) == 0) {
        pg_conn_drop(c, NULL);
    }
    begin_waiting(a);
}

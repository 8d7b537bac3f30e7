/*
 * The life of a connection.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/postgres/conn.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rand.h"
#include "store/metrics.h"
#include "store/postgres/prepared.h"

#define FIRST_WAIT_MS 100 /* before it is tried again */
#define LONGEST_WAIT_MS 2000
#define DOUBLINGS 5
#define PING_MS 10000 /* of silence */

static void try_host(struct pg_conn *c);
static void lose(struct pg_conn *c);

/* ---- time ---- */

static int64_t
next_wait(const struct pg_conn *c)
{
    unsigned n = c->failures < DOUBLINGS ? c->failures : DOUBLINGS;
    int64_t ms = (int64_t)FIRST_WAIT_MS << n;

    ms = ms < LONGEST_WAIT_MS ? ms : LONGEST_WAIT_MS;
    return ms - (int64_t)rand_below((uint64_t)ms / 4 + 1);
}

static void
on_ping(struct pg_ask *a, bool lost)
{
    (void)a;
    (void)lost;
}

static void
look_whether_there(struct pg_conn *c)
{
    int64_t quiet = loop_now(c->loop) - c->heard_ms;
    bool waits = !list_empty(&c->asks);
    int64_t limit = waits ? c->o.patience + PG_GRACE_MS : PING_MS;

    if (quiet < limit) {
        timer_set(c->loop, &c->timer, limit - quiet);
    } else if (waits) {
        pg_conn_drop(c, "the server does not answer");
    } else if (c->o.scripts) {
        pg_ask_script(&c->ping, c, "");
    } else {
        pg_ask_begin(&c->ping, c);
        pg_ask_end(&c->ping);
    }
}

static void next_address(struct pg_conn *c);

static void
on_timer(struct timer *t)
{
    struct pg_conn *c = LIST_ITEM(t, struct pg_conn, timer);

    switch (c->state) {
    case PG_IDLE:
        c->host = 0;
        try_host(c);
        return;
    case PG_RESOLVING:
        return; /* it has a time of its own */
    case PG_CONNECTING:
        errmsg_set(&c->why, "%s does not answer",
                   pg_target_host(c->o.target, c->host)->name);
        next_address(c);
        return;
    case PG_GREETING:
    case PG_READY:
        look_whether_there(c);
        return;
    }
}

static void
on_resume(struct later *later)
{
    struct pg_conn *c = LIST_ITEM(later, struct pg_conn, resume);

    pg_take_results(c);
    if (c->broken && c->pq != NULL) {
        lose(c);
    }
}

/* ---- greeting ---- */

/* Commits are to be on the disk, whatever the server's setting: more than
 * that is the operator's choice. */
static void
greet(struct pg_conn *c)
{
    long long patience = c->o.patience;
    char sql[640];

    snprintf(sql, sizeof(sql),
             "SET statement_timeout = %lld;"
             "SET idle_in_transaction_session_timeout = %lld;"
             "SELECT set_config('synchronous_commit', 'on', false) "
             "WHERE current_setting('synchronous_commit') = 'off';%s%s",
             patience, patience + PG_GRACE_MS,
             c->o.listens ? "LISTEN " PG_CHANNEL ";" : "",
             c->o.scripts ? ""
                          : "SELECT name, max(number) FROM store_migration "
                            "GROUP BY name");
    c->state = PG_GREETING;
    c->tables = 0;
    c->why.text[0] = '\0';
    pg_ask_script(&c->greeting, c, sql);
}

static size_t
wanted_tables(void)
{
    size_t n = 0;

    for (size_t i = 0; i < schema_count(); i++) {
        n += schema_migrations(schema_at(i)) > 0;
    }
    return n;
}

/* A newer weir may have made more than we know, and knows us. */
static bool
knows_schema(const char *name, const char *number)
{
    for (size_t i = 0; i < schema_count(); i++) {
        const struct store_schema *s = schema_at(i);
        int64_t made;

        if (str_eq(str_from(s->name), str_from(name))) {
            return str_to_int(str_from(number), 0, INT64_MAX, &made) &&
                   made >= (int64_t)schema_migrations(s);
        }
    }
    return false;
}

static void
on_greeting_result(struct pg_ask *a, size_t i, const PGresult *r)
{
    struct pg_conn *c = a->conn;
    const char *state = libpq.resultErrorField(r, PG_DIAG_SQLSTATE);

    (void)i;
    for (int row = 0; libpq.nfields(r) == 2 && row < libpq.ntuples(r); row++) {
        c->tables +=
            knows_schema(libpq.getvalue(r, row, 0), libpq.getvalue(r, row, 1));
    }
    if (!pg_is_good(libpq.resultStatus(r)) &&
        (state == NULL || strcmp(state, "42P01") != 0)) {
        pg_explain(r, &c->why);
    }
}

static void
on_greeted(struct pg_ask *a, bool lost)
{
    struct pg_conn *c = a->conn;

    if (lost) {
        return;
    }
    if (c->why.text[0] != '\0') {
        pg_conn_drop(c, c->why.text);
    } else if (!c->o.scripts && c->tables < wanted_tables()) {
        pg_conn_drop(c, "weir's tables are not there yet");
    } else if (!c->o.scripts && libpq.enterPipelineMode(c->pq) == 0) {
        pg_conn_drop(c, NULL);
    } else {
        c->failures = 0;
        c->refused = false;
        c->state = PG_READY;
        metric_add(&store_metrics[STORE_CONNECTIONS], STORE_CONNECTED, 1);
        c->o.ready(c);
    }
}

/* ---- connecting ---- */

static void
close_pq(struct pg_conn *c)
{
    io_stop(c->loop, &c->io);
    timer_stop(c->loop, &c->timer);
    later_cancel(&c->resume);
    resolve_cancel(&c->lookup);
    libpq.finish(c->pq);
    c->pq = NULL;
    c->broken = false;
    prepared_clear(c->prepared);
}

/* Its questions end when it is closed, so that they can be asked of
 * others. */
static void
lose(struct pg_conn *c)
{
    bool was_ready = c->state == PG_READY;
    struct list asks;

    if (c->why.text[0] == '\0' && c->pq != NULL) {
        pg_explain_conn(c->pq, &c->why);
    }
    metric_add(&store_metrics[STORE_CONNECTIONS],
               was_ready ? STORE_CONNECTION_LOST : STORE_NOT_CONNECTED, 1);
    close_pq(c);
    c->state = PG_IDLE;
    list_init(&asks);
    list_splice(&asks, &c->asks);
    timer_set(c->loop, &c->timer, next_wait(c));
    c->failures++;
    while (!list_empty(&asks)) {
        pg_ask_over(LIST_ITEM(asks.next, struct pg_ask, link), true);
    }
    c->o.lost(c, &c->why);
}

static void on_ready(struct io *io, unsigned ready);

/* libpq may have another socket after each step. */
static void
poll_again(struct pg_conn *c)
{
    PostgresPollingStatusType next;

    io_stop(c->loop, &c->io);
    next = libpq.connectPoll(c->pq);
    if (next == PGRES_POLLING_FAILED) {
        pg_explain_conn(c->pq, &c->why);
        c->refused |= pg_conn_was_refused(c->pq);
        next_address(c);
        return;
    }
    if (io_start(c->loop, &c->io, libpq.socket(c->pq),
                 next == PGRES_POLLING_WRITING ? IO_WRITE : IO_READ,
                 on_ready) == -1) {
        errmsg_sys(&c->why, "cannot wait for the server");
        next_address(c);
    } else if (next == PGRES_POLLING_OK) {
        timer_stop(c->loop, &c->timer);
        libpq.setErrorVerbosity(c->pq, PQERRORS_DEFAULT);
        greet(c);
    }
}

static void
on_ready(struct io *io, unsigned ready)
{
    struct pg_conn *c = LIST_ITEM(io, struct pg_conn, io);

    if (c->state == PG_CONNECTING) {
        poll_again(c);
    } else {
        pg_talk(c, ready);
    }
}

static void
quiet(void *arg, const char *text)
{
    (void)arg;
    (void)text;
}

static void
connect_to(struct pg_conn *c, const char *address)
{
    c->state = PG_CONNECTING;
    c->pq = pg_target_connect(c->o.target, c->host, address, c->o.name);
    if (c->pq == NULL || libpq.status(c->pq) == CONNECTION_BAD ||
        libpq.setnonblocking(c->pq, 1) == -1) {
        if (c->pq != NULL) {
            pg_explain_conn(c->pq, &c->why);
        }
        next_address(c);
        return;
    }
    libpq.setNoticeProcessor(c->pq, quiet, NULL);
    libpq.setErrorVerbosity(c->pq, PQERRORS_VERBOSE); /* tells the SQLSTATE */
    timer_set(c->loop, &c->timer, c->o.timeout);
    if (io_start(c->loop, &c->io, libpq.socket(c->pq), IO_WRITE, on_ready) ==
        -1) {
        errmsg_sys(&c->why, "cannot wait for the server");
        next_address(c);
    }
}

static void
connect_to_found(struct pg_conn *c)
{
    char text[ADDR_TEXT];

    connect_to(c, addr_ip_text(&c->found.addrs[c->address], text));
}

/* The present attempt has failed; without another address or host the
 * connection has failed. */
static void
next_address(struct pg_conn *c)
{
    close_pq(c);
    if (++c->address < c->found.count) {
        connect_to_found(c);
    } else if (++c->host < pg_target_hosts(c->o.target)) {
        try_host(c);
    } else {
        lose(c);
    }
}

static void
on_resolved(void *arg, const struct resolved *found, const struct errmsg *why)
{
    struct pg_conn *c = arg;

    c->lookup = NULL;
    if (found == NULL) {
        c->why = *why;
        next_address(c);
        return;
    }
    c->found = *found;
    connect_to_found(c);
}

static void
try_host(struct pg_conn *c)
{
    const struct pg_host *h = pg_target_host(c->o.target, c->host);

    c->address = 0;
    c->found.count = 0;
    c->refused = c->host > 0 && c->refused;
    if (h->local || h->address[0] != '\0') {
        connect_to(c, NULL);
        return;
    }
    c->state = PG_RESOLVING;
    c->lookup = resolve_start(c->o.resolver, str_from(h->name), c->o.timeout,
                              on_resolved, c);
}

/* ---- life ---- */

void
pg_conn_init(struct pg_conn *c, const struct pg_conn_options *o)
{
    *c = (struct pg_conn){ .o = *o };
    io_init(&c->io);
    timer_init(&c->timer, on_timer);
    later_init(&c->resume, on_resume);
    list_init(&c->asks);
    c->greeting.result = on_greeting_result;
    c->greeting.done = on_greeted;
    c->ping.done = on_ping;
}

void
pg_conn_start(struct pg_conn *c, struct loop *l)
{
    c->loop = l;
    c->state = PG_IDLE;
    timer_set(l, &c->timer, 0);
}

void
pg_conn_move(struct pg_conn *c, struct loop *l)
{
    assert(c->state == PG_READY && list_empty(&c->asks));
    io_stop(c->loop, &c->io);
    timer_stop(c->loop, &c->timer);
    later_cancel(&c->resume);
    c->loop = l;
    c->heard_ms = loop_now(l);
    timer_set(l, &c->timer, PING_MS);
    if (io_start(l, &c->io, libpq.socket(c->pq), IO_READ, on_ready) == -1) {
        pg_conn_drop(c, "its socket cannot be waited for");
    }
}

void
pg_conn_stop(struct pg_conn *c)
{
    if (c->loop == NULL) {
        return;
    }
    close_pq(c);
    c->state = PG_IDLE;
    while (!list_empty(&c->asks)) {
        pg_ask_over(LIST_ITEM(c->asks.next, struct pg_ask, link), true);
    }
    c->loop = NULL;
}

bool
pg_conn_is_ready(const struct pg_conn *c)
{
    return c->state == PG_READY && !c->broken;
}

bool
pg_conn_is_trying(const struct pg_conn *c)
{
    return c->state == PG_IDLE ? c->loop != NULL && c->failures == 0
                               : c->state != PG_READY;
}

bool
pg_conn_is_well(const struct pg_conn *c)
{
    return pg_conn_is_ready(c) &&
           (list_empty(&c->asks) ||
            loop_now(c->loop) - c->heard_ms < c->o.patience);
}

void
pg_conn_drop(struct pg_conn *c, const char *why)
{
    if (c->broken) {
        return;
    }
    c->broken = true;
    if (why == NULL) {
        pg_explain_conn(c->pq, &c->why);
    } else if (why != c->why.text) {
        errmsg_set(&c->why, "%s", why);
    }
    loop_later(c->loop, &c->resume);
}

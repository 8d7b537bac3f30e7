/*
 * Making the tables, step by step, over one connection.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/postgres/keeper.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/postgres/conn.h"

#define FIRST_MS 2000                     /* for the server to be reached */
#define PATIENCE_MS ((int64_t)10 * 60000) /* for a migration */
#define SWEEP_MS 60000
#define LOCK "1999071817" /* any number that is weir's */
/* A write is asked again within store.timeout, a minute at most. */
#define OLD "interval '10 minutes'"
#define TEXT_MAX (1 << 20)

enum step {
    LOOK,  /* the lock, and whether there is a table of migrations */
    READ,  /* what is in it */
    MAKE,  /* one migration after the other */
    END,   /* COMMIT */
    CHECK, /* every statement, once */
    READY,
};

static struct {
    struct loop *loop; /* borrowed; NULL: this is not the keeper */
    struct pg_target *target;
    struct resolver *resolver;
    struct pg_conn conn;
    struct pg_ask ask;
    enum step step;
    bool has_table;
    size_t made[SCHEMAS_MAX]; /* migrations that the database has */
    size_t schema;            /* that is being made, or checked */
    size_t statement;
    struct errmsg why;
    bool wrong; /* what is there cannot be used */
    bool told, was_ready;
    struct timer sweep;
} k;

static void ask(enum step step);

/* ---- what the database has ---- */

static const char *
text_of(const struct store_migration *m)
{
    return m->postgres != NULL ? m->postgres : m->sqlite;
}

static void
compare(size_t schema, int64_t number, const char *checksum)
{
    const struct store_schema *s = schema_at(schema);
    size_t known = schema_migrations(s);
    char wanted[17];

    if (number < 1 || number > (int64_t)known) {
        errmsg_set(&k.why,
                   "a newer weir made it: schema %s has migration %lld, this "
                   "weir knows %zu",
                   s->name, (long long)number, known);
        return;
    }
    schema_checksum(text_of(&s->migrations[number - 1]), wanted);
    if (strcmp(wanted, checksum) != 0) {
        errmsg_set(&k.why,
                   "migration %lld of schema %s is not the one that this "
                   "database was made with",
                   (long long)number, s->name);
    }
    k.made[schema] =
        (size_t)number > k.made[schema] ? (size_t)number : k.made[schema];
}

static void
take_migration(const char *name, const char *text, const char *checksum)
{
    int64_t number = 0;

    str_to_int(str_from(text), 0, INT64_MAX, &number);
    for (size_t i = 0; i < schema_count(); i++) {
        if (strcmp(schema_at(i)->name, name) == 0) {
            compare(i, number, checksum);
        }
    }
}

/* Whether an error is a mistake in a statement.  The types of its parameters
 * are not known here, so an error for their lack is none.  A wrong word, table
 * or column is one. */
static bool
concerns_us(const PGresult *r)
{
    const char *state = libpq.resultErrorField(r, PG_DIAG_SQLSTATE);

    return k.step != CHECK || state == NULL || strcmp(state, "42601") == 0 ||
           strcmp(state, "42P01") == 0 || strcmp(state, "42703") == 0;
}

static void
on_result(struct pg_ask *a, size_t i, const PGresult *r)
{
    ExecStatusType status = libpq.resultStatus(r);

    (void)a;
    (void)i;
    if (status == PGRES_FATAL_ERROR && k.why.text[0] == '\0' &&
        concerns_us(r)) {
        pg_explain(r, &k.why);
        k.wrong |= pg_fault_of_result(r).status == STORE_FAILED;
    }
    for (int row = 0; row < libpq.ntuples(r) && k.why.text[0] == '\0'; row++) {
        if (k.step == LOOK) {
            k.has_table |= libpq.getvalue(r, row, 0)[0] == 't';
        } else if (k.step == READ) {
            take_migration(libpq.getvalue(r, row, 0), libpq.getvalue(r, row, 1),
                           libpq.getvalue(r, row, 2));
            k.wrong |= k.why.text[0] != '\0';
        }
    }
}

/* ---- the steps ---- */

static void
say(const char *sql)
{
    pg_ask_script(&k.ask, &k.conn, sql);
}

static void
say_look(void)
{
    k.has_table = false;
    say("BEGIN; SELECT pg_advisory_xact_lock(" LOCK ");"
        "SELECT to_regclass('store_migration') IS NOT NULL");
}

static void
say_read(void)
{
    memset(k.made, 0, sizeof(k.made));
    say(k.has_table ? "SELECT name, number, checksum FROM store_migration "
                      "ORDER BY name, number"
                    : "CREATE TABLE store_migration ("
                      "  name text NOT NULL,"
                      "  number bigint NOT NULL,"
                      "  checksum text NOT NULL,"
                      "  made timestamptz NOT NULL DEFAULT now(),"
                      "  PRIMARY KEY (name, number))");
}

/* false: there is none left. */
static bool
say_make(void)
{
    const struct store_schema *s;
    char checksum[17];
    struct buf sql;

    while ((s = schema_at(k.schema)) != NULL &&
           k.made[k.schema] >= schema_migrations(s)) {
        k.schema++;
    }
    if (s == NULL) {
        return false;
    }
    const char *text = text_of(&s->migrations[k.made[k.schema]]);

    schema_checksum(text, checksum);
    buf_init(&sql, TEXT_MAX);
    buf_printf(&sql,
               "%s; INSERT INTO store_migration (name, number, checksum) "
               "VALUES ('%s', %zu, '%s')",
               text, s->name, k.made[k.schema] + 1, checksum);
    buf_add(&sql, "", 1);
    say((const char *)buf_data(&sql));
    buf_clear(&sql);
    return true;
}

/* The ledger's own are the SQLite keeper's. */
static bool
say_check(void)
{
    const struct store_schema *s;
    struct buf sql;

    while ((s = schema_at(k.schema)) != NULL &&
           k.statement >= schema_statements(s)) {
        k.schema++;
        k.statement = 0;
    }
    if (s == NULL) {
        return false;
    }
    const struct store_statement *one = &s->statements[k.statement];

    buf_init(&sql, TEXT_MAX);
    buf_printf(&sql, "PREPARE weir_check AS %s; DEALLOCATE weir_check",
               one->postgres != NULL ? one->postgres : one->sql);
    buf_add(&sql, "", 1);
    say((const char *)buf_data(&sql));
    buf_clear(&sql);
    return true;
}

static void
say_ready(void)
{
    struct buf text;

    buf_init(&text, 4096);
    pg_target_print(k.target, &text);
    for (size_t i = 1; i < schema_count(); i++) {
        buf_printf(&text, ", schema %s %zu", schema_at(i)->name,
                   schema_migrations(schema_at(i)));
    }
    log_info("the keeper is ready: %.*s", STR_ARGS(buf_str(&text)));
    buf_clear(&text);
    k.told = false;
    k.was_ready = true;
}

static void
sweep(void)
{
    say("DELETE FROM store_ledger WHERE made < now() - " OLD);
}

static void
ask(enum step step)
{
    k.step = step;
    switch (step) {
    case LOOK:
        say_look();
        return;
    case READ:
        say_read();
        return;
    case MAKE:
        if (!say_make()) {
            ask(END);
        }
        return;
    case END:
        say("COMMIT");
        return;
    case CHECK:
        if (!say_check()) {
            ask(READY);
        }
        return;
    case READY:
        say_ready();
        sweep();
        return;
    }
}

/* ---- from step to step ---- */

static void
name_step(void)
{
    const struct store_schema *s = schema_at(k.schema);

    if (k.step == MAKE && s != NULL) {
        errmsg_prefix(&k.why,
                      "migration %zu of schema %s: ", k.made[k.schema] + 1,
                      s->name);
    } else if (k.step == CHECK && s != NULL) {
        errmsg_prefix(&k.why, "statement %s of schema %s: ",
                      s->statements[k.statement].name, s->name);
    }
}

static void
give_up(void)
{
    struct buf text;

    name_step();
    buf_init(&text, 1024);
    pg_target_print(k.target, &text);
    errmsg_prefix(&k.why, "cannot use %.*s: ", STR_ARGS(buf_str(&text)));
    buf_clear(&text);
    pg_conn_drop(&k.conn, k.why.text);
}

static void
go_on(void)
{
    switch (k.step) {
    case LOOK:
        k.schema = 0;
        ask(READ);
        return;
    case READ:
        ask(MAKE);
        return;
    case MAKE:
        k.made[k.schema]++;
        log_info("store: migration %zu of schema %s is made", k.made[k.schema],
                 schema_at(k.schema)->name);
        ask(MAKE);
        return;
    case END:
        k.schema = 1;
        k.statement = 0;
        ask(k.was_ready ? READY : CHECK);
        return;
    case CHECK:
        k.statement++;
        ask(CHECK);
        return;
    case READY:
        timer_set(k.conn.loop, &k.sweep, SWEEP_MS);
        return;
    }
}

static void
on_done(struct pg_ask *a, bool lost)
{
    (void)a;
    if (lost) {
        return;
    }
    if (k.why.text[0] != '\0') {
        give_up();
    } else {
        go_on();
    }
}

static void
on_sweep(struct timer *t)
{
    if (pg_conn_is_ready(&k.conn) && list_empty(&k.conn.asks)) {
        sweep();
    } else { /* it is being asked whether it is there */
        timer_set(k.conn.loop, t, SWEEP_MS);
    }
}

/* ---- the connection ---- */

static void
on_ready(struct pg_conn *c)
{
    (void)c;
    k.why.text[0] = '\0';
    k.wrong = false;
    ask(LOOK);
}

static void
on_lost(struct pg_conn *c, const struct errmsg *why)
{
    k.wrong |= c->refused;
    k.why = *why;
    timer_stop(c->loop, &k.sweep);
    if (!k.told) {
        k.told = true;
        log_error("the store's server cannot be used: %s", why->text);
    }
}

static int
wait_for_tables(struct errmsg *err)
{
    int64_t end = clock_ms() + FIRST_MS;

    while (k.step != READY && !k.told &&
           (k.conn.state == PG_READY || clock_ms() < end)) {
        loop_turn(k.conn.loop, 100);
    }
    if (k.wrong) {
        *err = k.why;
        return -1;
    }
    return 0;
}

static int
connect_first(struct loop *l, struct errmsg *err)
{
    static const struct resolver_options names = { 0 };

    k.resolver = resolver_new(l, &names, err);
    if (k.resolver == NULL) {
        return -1;
    }
    k.conn.o.resolver = k.resolver;
    pg_conn_start(&k.conn, l);
    return wait_for_tables(err);
}

int
postgres_keeper_start(struct loop *l, const struct store_settings *s,
                      struct errmsg *err)
{
    struct pg_conn_options o = {
        .timeout = s->timeout,
        .patience = PATIENCE_MS,
        .scripts = true,
        .name = "weir keeper",
        .ready = on_ready,
        .lost = on_lost,
    };

    memset(&k, 0, sizeof(k));
    k.target = pg_target_new(s->conninfo, err);
    if (k.target == NULL) {
        return -1;
    }
    o.target = k.target;
    pg_conn_init(&k.conn, &o);
    k.ask.result = on_result;
    k.ask.done = on_done;
    timer_init(&k.sweep, on_sweep);
    k.loop = l;
    if (connect_first(l, err) == -1) {
        postgres_keeper_stop();
        return -1;
    }
    return 0;
}

void
postgres_keeper_stop(void)
{
    if (k.loop != NULL) {
        timer_stop(k.loop, &k.sweep);
        pg_conn_stop(&k.conn);
    }
    resolver_free(&k.resolver);
    pg_target_free(&k.target);
    k.loop = NULL;
}

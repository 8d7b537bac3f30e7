/*
 * A connection to the PostgreSQL server: made, greeted, asked in a pipeline,
 * watched, made again when it is lost.
 *
 * Nothing waits: net/resolve looks names up, one address after the other is
 * tried with a time of its own, and questions and answers go as the socket
 * allows.  A connection over which nothing comes for too long is lost, and an
 * idle one is tested now and then.
 *
 * It is READY when its session is set up, it hears notices if wanted, and the
 * tables of all schemas are there.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_POSTGRES_CONN_H
#define STORE_POSTGRES_CONN_H

#include "net/resolve.h"
#include "store/postgres/error.h"
#include "store/postgres/target.h"
#include "store/schema.h"

#define PG_COMMANDS (2 * STORE_STEPS + 8) /* of one question */
#define PG_CHANNEL "weir"                 /* of all notices */
#define PG_GRACE_MS 1000 /* the server itself ends slow statements */

struct pg_conn;

/* A question: commands that are sent in one go, and a sync behind them.  When
 * one fails the rest are left out. */
struct pg_ask {
    struct list link; /* those of a connection that wait for answers */
    struct pg_conn *conn;
    size_t count, at; /* commands, and the one whose results come */
    /* Our own commands, which prepare a statement. */
    bool ours[PG_COMMANDS];
    struct schema_place places[PG_COMMANDS]; /* which */

    /* A result of the asker's command number i: rows one by one, then how it
     * ended, or an error. */
    void (*result)(struct pg_ask *a, size_t i, const PGresult *r);
    /* All results have come; lost: the rest will not come. */
    void (*done)(struct pg_ask *a, bool lost);
};

enum pg_conn_state {
    PG_IDLE, /* its time has not come */
    PG_RESOLVING,
    PG_CONNECTING,
    PG_GREETING,
    PG_READY,
};

struct pg_conn_options {
    const struct pg_target *target; /* borrowed, as the next */
    struct resolver *resolver;
    int64_t timeout;  /* ms: for an address to connect */
    int64_t patience; /* ms: for an answer */
    bool listens;
    /* Takes one script at a time, no pipeline; the tables may not be there
     * yet. */
    bool scripts;
    char name[64]; /* in the server's list of sessions */
    void *arg;
    void (*ready)(struct pg_conn *c);
    /* It could not connect, or is lost; all questions have ended. */
    void (*lost)(struct pg_conn *c, const struct errmsg *why);
    void (*heard)(struct pg_conn *c, struct str payload); /* may be NULL */
};

struct pg_prepared; /* statements of a schema */

struct pg_conn {
    struct pg_conn_options o;
    struct loop *loop;
    enum pg_conn_state state;
    PGconn *pq; /* owned */
    struct io io;
    struct timer timer;  /* of the next answer, or the next try */
    struct later resume; /* goes on in the next turn */
    size_t host;
    struct resolve *lookup;
    struct resolved found;
    size_t address;    /* of found */
    unsigned failures; /* in a row */
    bool refused;      /* the last for a reason that lasts */
    struct errmsg why; /* the last failure of an address */
    bool broken;       /* to be given up in a moment */

    struct list asks;
    struct pg_ask greeting, ping;
    int64_t heard_ms;                          /* when something came last */
    struct pg_prepared *prepared[SCHEMAS_MAX]; /* owned */
    unsigned serial;                           /* of prepared statements */
    size_t tables; /* schemas that the server has, while it greets */
};

void pg_conn_init(struct pg_conn *c, const struct pg_conn_options *o);
/* Begins to connect. */
void pg_conn_start(struct pg_conn *c, struct loop *l);
/* Moves a connection that is READY and has no questions to another loop. */
void pg_conn_move(struct pg_conn *c, struct loop *l);
/* Closes it; its questions end.  lost() is not called. */
void pg_conn_stop(struct pg_conn *c);

bool pg_conn_is_ready(const struct pg_conn *c);
/* Whether it is connecting. */
bool pg_conn_is_trying(const struct pg_conn *c);
/* Whether it is READY and no question has waited too long for its answer. */
bool pg_conn_is_well(const struct pg_conn *c);
/* Gives it up: it is made again. */
void pg_conn_drop(struct pg_conn *c, const char *why);

/* ---- asking: begin, commands, end ---- */

/* result and done of a are set. */
void pg_ask_begin(struct pg_ask *a, struct pg_conn *c);
void pg_ask_statement(struct pg_ask *a, struct schema_place place,
                      const struct store_value *params, size_t count);
/* Our own SQL, with texts and numbers for its parameters; bytes: the last
 * parameter is bytes, and so are its results. */
void pg_ask_sql(struct pg_ask *a, const char *sql,
                const struct store_value *params, size_t count, bool bytes);
void pg_ask_end(struct pg_ask *a);
/* For a connection of scripts: several statements without parameters. */
void pg_ask_script(struct pg_ask *a, struct pg_conn *c, const char *sql);

bool pg_is_good(ExecStatusType status); /* no error, nothing left out */

/* ---- for the connection: store/postgres/ask.c ---- */

/* Its socket is ready. */
void pg_talk(struct pg_conn *c, unsigned ready);
/* Hands results to those who asked, as far as there is time in this turn. */
void pg_take_results(struct pg_conn *c);
/* A question ends. */
void pg_ask_over(struct pg_ask *a, bool lost);

#endif

/*
 * The store: data that must outlive weir (stream keys, articles), read
 * and written without waiting for a disk or a server.
 *
 * A user of it has a schema: numbered migrations and named statements, known
 * before any fork.  The process that asks does its reads itself.  Writes go to
 * the keeper, the only process that writes: it makes one transaction of all
 * that have come in and answers when it is on the disk.  A write that was
 * answered STORE_OK is there after kill -9 of any process.  When the keeper
 * dies between commit and answer, the next one gives the same answer; writes
 * that it had not committed are sent again.
 *
 * With PostgreSQL each process asks the server itself, and several weirs may
 * have one database: this header holds for all of them together.
 *
 * Every call is answered exactly once, by the loop and never within the call
 * that asks, unless it was cancelled.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/errmsg.h"
#include "base/str.h"
#include "event/loop.h"
#include "proc/rights.h"

struct task_threads; /* event/task.h */

#define STORE_PARAMS 16          /* of a statement, at most */
#define STORE_STEPS 8            /* of a write, at most */
#define STORE_ROWS_MAX (4 << 20) /* bytes of one answer */

/* The "store" block of weir.conf. */
enum store_backend { STORE_SQLITE, STORE_POSTGRES };
struct store_settings {
    int backend;         /* enum store_backend */
    struct str node;     /* see store/lease.h; empty: host and pid file */
    int64_t node_expiry; /* ms */
    struct str path;     /* SQLite: of the database */
    struct str conninfo; /* PostgreSQL: where the server is */
    int64_t connections; /* PostgreSQL: of a process, for writes */
    int64_t timeout;     /* ms until a call is answered STORE_DOWN */
    int64_t queue;       /* calls of a process that may wait */
};

/* ---- schemas: static tables ---- */

/* Names its parameters $1 .. $16 in SQL that both backends understand, or has
 * a text for each.
 *
 * The backends are alike for a schema that keeps to these rules:
 *   - values are numbers (bigint, 64 bit) and texts (text); a truth comes back
 *     as 1 or 0, and an average, a date or a blob as text
 *   - a parameter is of one kind, number or text, in all calls (or NULL): a
 *     bigint column takes no text, a text column no number
 *   - a text is UTF-8 without U+0000: a call with another one is answered
 *     STORE_FAILED, so modules check texts from outside first
 *   - texts are compared byte by byte: a text column that is ordered or
 *     compared with < has COLLATE "C" in the text for PostgreSQL
 *   - the columns of an index have at most 2700 bytes together: PostgreSQL
 *     takes no more, so a module limits them
 *   - numbers that the database gives (autoincrement, bigserial) only grow
 *     and have gaps; they are no count
 *   - writes that do not wait for each other's answer are made in any order;
 *     each sees all that those made before it did, or none */
struct store_statement {
    const char *name;     /* "key_of_room"; NULL ends a table */
    const char *sql;      /* NULL: the next two */
    const char *sqlite;   /* instead of sql, if not NULL */
    const char *postgres; /* the same */
    /* A short read by an index: the loop makes it, not a thread. */
    bool quick;
    /* A step of a write that is right whatever others do at the same time: it
     * finds one row of a table by its key, and its effect depends on that row's
     * present state alone.  When all steps are so, writers of the same row wait
     * for each other, and none is done again. */
    bool alone;
};

/* SQL for both backends, if it differs.  Number n of a schema is the n-th of
 * its table; one that was released is never changed. */
struct store_migration {
    const char *sqlite;
    const char *postgres; /* NULL: the same */
};

struct store_schema {
    const char *name;                         /* "relay" */
    const struct store_migration *migrations; /* ends with sqlite NULL */
    const struct store_statement *statements; /* ends with name NULL */
};

/* Before any fork; s is static.  No constraint of it is DEFERRED: an error that
 * only COMMIT finds would fail the writes of others too. */
void store_register(const struct store_schema *s);

/* ---- life ---- */

/* The master, before any fork. */
void store_prepare(void);

/* In a worker or role that asks, before it enters the sandbox: a file is there,
 * because the keeper has made it; a server may be away. threads: for long
 * reads; NULL: the loop makes them. */
int store_open(struct loop *l, const struct store_settings *s,
               struct task_threads *threads, struct errmsg *err);
/* In its place, where it failed: each call is answered with STORE_DOWN. */
void store_open_away(struct loop *l, const struct store_settings *s);
/* Answers waiting calls with STORE_DOWN and forgets subscribers; later calls
 * are STORE_DOWN.  Before or after the threads are freed. */
void store_close(void);
/* Adds the rights that the process needs in the sandbox while the store is
 * open: files that it reads, servers that it connects to; none for SQLite. */
void store_rights(struct rights *r);
/* Whether libpq understands it; -1 with err, which quotes no secret. */
int store_check_conninfo(struct str conninfo, struct errmsg *err);
bool store_is_open(void);
/* It is open, and there has been no keeper for a second.  Only calls notice
 * that, so ask now and then. */
bool store_is_down(void);
/* A write of any process found no room on the disk, within a minute and since
 * the last one that did; ask now and then, as above. */
bool store_is_full(void);

/* ---- asking ---- */

enum store_status {
    STORE_OK,
    STORE_CONFLICT, /* a uniqueness was violated: nothing is changed */
    STORE_MISSING,  /* a step that must change something did not: the same */
    STORE_BUSY,     /* too many calls wait */
    STORE_DOWN,     /* no keeper, no server, or no answer in time: the write may
                       be done or not */
    STORE_FULL,     /* no room on the disk: nothing is changed */
    STORE_FAILED,   /* the statement or a text of it is wrong (a constraint
                       other than a uniqueness too): a bug, and logged as
                       such */
};
/* Words for people and logs: "the store has no room left". */
const char *store_status_text(enum store_status status);

/* A number for the state of the database, which every commit of any process
 * changes; 0: unknown, as when the database is on another host.  Costs no
 * system call.  A write that was answered has changed it for all processes:
 * data that were read after asking for a number are current as long as the
 * number stays the same. */
uint64_t store_version(void);

enum store_type { STORE_NULL, STORE_INT, STORE_TEXT };
struct store_value {
    enum store_type type;
    int64_t n;
    struct str s; /* of a result: lives as long as the callback; a NUL stands
                     behind it */
};

static inline struct store_value
store_int(int64_t n)
{
    return (struct store_value){ .type = STORE_INT, .n = n };
}

static inline struct store_value
store_text(struct str s)
{
    return (struct store_value){ .type = STORE_TEXT, .s = s };
}

struct store_rows {
    size_t rows, columns;
    const struct store_value *cells; /* row by row */
    int64_t changed;                 /* rows that a write changed */
};

struct store_result {
    enum store_status status;
    size_t steps;                    /* 1 for a read; 0 unless STORE_OK */
    const struct store_rows *answer; /* of each step */
};

/* *r lives as long as the call. */
typedef void store_done(void *arg, const struct store_result *r);

struct store_call;

/* params are copied. */
struct store_call *store_read(const struct store_statement *statement,
                              const struct store_value *params, size_t count,
                              store_done *done, void *arg);

struct store_step {
    const struct store_statement *statement;
    const struct store_value *params;
    size_t count;
    bool must_change; /* at least one row, else nothing is done at all */
};

/* A notice to all processes once a write is on the disk. */
struct store_notice {
    const char *topic; /* one of store_listen() */
    struct str text;   /* at most 1024 bytes of UTF-8; no secrets.  A server
                          lets commits that have one wait for each other */
};

/* All steps in their order, or none of them.  notice may be NULL. */
struct store_call *store_write(const struct store_step *steps, size_t count,
                               const struct store_notice *notice,
                               store_done *done, void *arg);

/* done is not called any more; a write is done all the same, or is not. */
void store_cancel(struct store_call **call);

/* ---- being told ---- */

/* text is STR_NONE when notices may have been missed (the keeper was killed, a
 * mailbox was full): the subscriber then checks all that it has. */
typedef void store_heard(void *arg, struct str text);

/* topic is static.  Before or after store_open(). */
void store_listen(const char *topic, store_heard *heard, void *arg);
/* heard is not called for arg any more, of whatever topic: arg may be freed. */
void store_deafen(store_heard *heard, void *arg);

#endif

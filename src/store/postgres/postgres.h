/*
 * The PostgreSQL backend in a process that asks.
 *
 * One connection makes the quick reads, as they come, in a pipeline, and hears
 * notices.  The others ("connections" of them) each make one write, or one
 * read that may take long, at a time; one of them is always left to writes.
 *
 * A write is a transaction of two trips: its steps, and, when all of these
 * succeeded, its row of the ledger, its notice and COMMIT.  Transactions are
 * SERIALIZABLE: their effect is as if one ran after another, as with the SQLite
 * keeper.  The server refuses a transaction that it cannot bring into such an
 * order, and weir makes it again.  A transaction whose steps are all "alone" is
 * READ COMMITTED: the locks of its rows bring it into an order, and it waits
 * for them.
 *
 * A connection that is lost before COMMIT was sent has done nothing.  When it
 * is lost after that, the write is asked again and enters itself in the ledger
 * first: if its row is there already, the write was done, and the row has the
 * answer.  If the lost session still works on it, the server makes the one wait
 * for the other.
 *
 *   ask.c    questions and results
 *   read.c   one read
 *   write.c  one write
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_POSTGRES_POSTGRES_H
#define STORE_POSTGRES_POSTGRES_H

#include "store/call.h"
#include "store/postgres/conn.h"
#include "store/postgres/rows.h"

#define PG_WORKERS 16 /* connections for writes and long reads, at most */

/* A read on its way. */
struct pg_reading {
    struct pg_ask ask;
    struct store_call *call;  /* busy while it is here */
    struct pg_worker *worker; /* that makes it, or NULL: the reader */
    struct pg_rows rows;
    bool failed;
    struct pg_fault fault; /* how */
    struct errmsg why;
};

/* The progress of a connection that makes one call at a time. */
enum pg_phase {
    PG_FREE,
    PG_READ,   /* see struct pg_reading */
    PG_STEPS,  /* BEGIN and the steps are on their way */
    PG_COMMIT, /* so is COMMIT: if it is lost, its result is unknown */
    PG_UNDO,   /* ROLLBACK */
    PG_LOOK,   /* it was done before: reads its answer */
    PG_FORGET, /* rows of the ledger whose answers have arrived */
};

struct pg_worker {
    struct pg_conn conn;
    enum pg_phase phase;
    struct pg_ask ask;
    struct store_call *call; /* a write; busy while it is here */
    struct pg_rows rows;     /* of its steps */
    struct buf answer;       /* the same packed, as the ledger keeps it */
    int64_t began_us;
    struct schema_place places[STORE_STEPS];
    bool must_change[STORE_STEPS];
    struct str topic, text; /* of its notice; STR_NONE: none */

    /* Of the trip that is made. */
    size_t begun; /* commands before the first step */
    bool failed;
    struct pg_fault fault; /* how */
    struct errmsg why;
    bool done_before; /* its row of the ledger is there */
    bool found;       /* and was read */
};

struct postgres {
    bool open;
    struct loop *loop; /* borrowed */
    int64_t timeout;
    struct pg_target *target;  /* owned */
    struct resolver *resolver; /* owned */
    struct pg_conn reader;
    struct pg_worker workers[PG_WORKERS];
    size_t count;                    /* of workers */
    struct list quick, slow, writes; /* struct store_call, by place */
    struct later begin;
    int64_t down_since; /* loop time; 0: it is up */
    bool told_down;

    uint64_t last; /* number of a write */
    unsigned rows; /* of the ledger, since it was cleaned */
    int64_t forgot_ms;
};

extern struct postgres pg; /* store/postgres/postgres.c */

/* store/postgres/postgres.c: gives waiting calls to free connections, later in
 * this turn. */
void pg_begin(void);

/* store/postgres/read.c: c leaves its queue. */
void pg_read_on(struct pg_conn *conn, struct store_call *c,
                struct pg_worker *w);

/* store/postgres/write.c */
void pg_write_init(struct pg_worker *w);
void pg_write_on(struct pg_worker *w, struct store_call *c);

#endif

/*
 * Writes a batch for the keeper: one transaction, each call in a savepoint of
 * its own, and a row of the ledger for each that succeeds.
 *
 * Knows nothing of processes; runs on the keeper's thread.  Logs nothing and
 * counts nothing: the batch has the results.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_SQLITE_WRITER_H
#define STORE_SQLITE_WRITER_H

#include "base/list.h"
#include "proc/slot.h"
#include "store/sqlite/sqlite.h"
#include "store/wire.h"

struct writer;

/* A write that was asked for. */
struct writer_call {
    struct list link;
    slot_owner from;
    struct wire_request head;
    char *data; /* owned: steps and notice, behind the head */
    size_t len;

    /* The result. */
    enum store_status status;
    bool replayed;     /* it was done before */
    struct buf answer; /* struct wire_answer and its rows */
    struct str topic;  /* of the notice, in data; STR_NONE: there is none */
    struct str text;
    struct errmsg why; /* "" or the error */
};

struct writer_batch {
    struct list calls; /* struct writer_call */
    size_t count;
    bool sweep; /* drop the ledger's rows of processes that are gone */

    /* The result. */
    enum store_status status; /* of the transaction; not STORE_OK: of all */
    int64_t us;               /* how long it took */
    struct errmsg why;
};

/* data is copied.  NULL: it is no request. */
struct writer_call *writer_call_new(slot_owner from, struct str data);
void writer_call_free(struct writer_call **c);

/* Opens or makes the database, migrates it and drops rows that other starts of
 * weir left in the ledger. boot: this start of weir. alive: whether a process
 * still runs.  NULL with err. */
struct writer *writer_open(struct str path, uint64_t boot,
                           bool (*alive)(slot_owner), struct errmsg *err);
void writer_close(struct writer **w);

void writer_run(struct writer *w, struct writer_batch *b);
/* Whether the log has grown so that it should be copied. */
bool writer_wants_checkpoint(const struct writer *w);
/* Copies it; true: all of it is in the database. */
bool writer_checkpoint(struct writer *w);
int64_t writer_log_bytes(const struct writer *w);

#endif

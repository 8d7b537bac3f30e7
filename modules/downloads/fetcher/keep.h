/*
 * The table in the store.  A row is an entry; each transition is one write.
 *
 * The keeper gives the numbers.  Two entries of an instance never have one
 * address among those that are not done, nor among those that are: the
 * database sees to that, for several nodes as for one.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_KEEP_H
#define MODULES_DOWNLOADS_FETCHER_KEEP_H

#include "fetcher/queue.h"
#include "store/store.h"

/* Text: "TAG NUMBER INSTANCE", "TAG #HASH INSTANCE" of an add, or "TAG -NUMBER
 * INSTANCE" of a clear: the node that has its file removes it. */
#define KEEP_TOPIC "downloads"
#define KEEP_PAGE 128 /* rows; 128 of the longest are under 4 MB */

/* Writes what the trigger does to e's row, whose state is `from`; where other
 * nodes are, they are told.  The answer of an add has the number: one row, one
 * column. */
struct store_call *keep_write(struct entry *e, enum queue_trigger trigger,
                              enum queue_state from, store_done *done,
                              void *arg);

struct keep_row { /* borrowed from the answer */
    int64_t number;
    enum queue_state state;
    int status;
    struct entry_facts facts;
    int64_t started_ms, finished_ms, size;
    struct str filename, msg, runner;
};

/* KEEP_PAGE rows of an instance behind a number, in order. */
struct store_call *keep_page(const struct queue *q, int64_t behind,
                             store_done *done, void *arg);
struct store_call *keep_one(int64_t number, store_done *done, void *arg);
/* The hash of an address, in hexadecimal digits with NUL. */
#define KEEP_HASH 65
struct str keep_hash(struct str url, char room[static KEEP_HASH]);
/* That of an address, pending or in the queue, by its hash. */
struct store_call *keep_new(const struct queue *q, struct str hash,
                            store_done *done, void *arg);
void keep_take_row(const struct store_rows *rows, size_t i,
                   struct keep_row *out);
/* A new entry of a row, in no list. */
struct entry *keep_entry(struct queue *q, const struct keep_row *row);
/* Sets what may have changed. */
void keep_update(struct entry *e, const struct keep_row *row);

#endif

/*
 * The call add: extraction, then an entry for each thing that it found.
 *
 *     waits --> extracts --> adds --> answered
 *
 * max_extractions run at once and DOWNLOADS_WAITING wait, which are served by
 * their clients' addresses in turn.  One whose address has none that runs does
 * not wait for others (base/fair_queue.h).  When too many wait, the one that
 * would be served last is refused.
 *
 * A client that leaves, or whose time is over, ends its extraction.
 * Once the first entry is on its way to the store, all of them are added.
 *
 *   add.c        their life
 *   add_share.c  which of them has its turn, and which gives way
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_ADD_H
#define MODULES_DOWNLOADS_FETCHER_ADD_H

#include "fetcher/queue.h"

#define ADD_TEXT 2048 /* bytes of msg */

enum add_state { ADD_WAITS, ADD_EXTRACTS, ADD_ADDS };

struct add {
    struct list link;        /* in queue.adds */
    struct fair_entry entry; /* in queue.waiting or queue.extracting */
    struct queue *queue;
    struct rpc_request *request; /* NULL: it is answered */
    struct pool *pool;           /* owned: wish */
    struct download_wish wish;
    struct timer late;
    enum add_state state;
    bool longer; /* its time is over, and writes are under way */
    bool over;   /* nobody waits for what the extraction finds */
    struct extraction *extraction;
    const struct extracted *found; /* lives as long as that */
    size_t next;                   /* of its items */
    size_t writes;                 /* under way */
    size_t added, already, refused;
    enum store_status failed; /* of a write; STORE_OK: none */
    bool held;                /* HELD is true of one */
    bool full;                /* max_entries is reached */
    struct str title;         /* of the one that is there already */
    char msg[ADD_TEXT];       /* why one could not be added */
};

/* ---- add.c ---- */

/* Ends one that is neither looked at nor written. */
void add_refuse(struct add *a, enum downloads_refusal why, const char *msg);

/* ---- add_share.c ---- */

/* Counts an add of that client.  NULL, or why it may not be. */
const char *add_claim(struct queue *q, const struct download_wish *w);
void add_wait_turn(struct add *a);
/* It has waited, and extracts now. */
void add_have_turn(struct add *a);
/* Neither waits nor extracts any more: it adds. */
void add_leave_state(struct add *a);
/* The next that may extract; NULL: none. */
struct add *add_next(const struct queue *q);

#endif

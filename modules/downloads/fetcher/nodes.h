/*
 * Other weirs on the database: leases, notices; and reading the lists at the
 * start.
 *
 * Each entry of the queue that runs, or is being canceled, is run by the node
 * that has its lease ("downloads/NUMBER").  Every node wants the leases of what
 * others run, so that the entries of a dead node go on elsewhere.  The state of
 * a run is the lease's state, which other nodes see once a second at most.
 *
 * A node hears of others' changes by a notice, reads the row, and tells its own
 * clients.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_NODES_H
#define MODULES_DOWNLOADS_FETCHER_NODES_H

#include "fetcher/queue.h"

/* Listens to other nodes; once in the process. */
void nodes_listen(struct fetcher *f);
/* The fetcher ends. */
void nodes_deafen(struct fetcher *f);
/* Reads the lists; q->loaded is set, or it tries again each second. */
void nodes_load(struct queue *q);
/* Clears the new q->place of what runs have left that are in the lists no more.
 */
void nodes_sweep(struct queue *q);
void nodes_stop(struct queue *q);

/* Whether this node may run it now.  If not, schedule_taken() is called when it
 * may. */
bool nodes_want(struct entry *e);
/* Gives it up, or gives it back, but goes on to look who has it. */
void nodes_leave(struct entry *e);
/* The entry is in the queue no more.  Not from schedule_taken(),
 * schedule_lost(). */
void nodes_drop(struct entry *e);
bool nodes_has(const struct entry *e);
/* For other nodes: how far its run is. */
void nodes_say(struct entry *e);

/* Reads the row of an entry again: a write of it did not do what it should. */
void nodes_look(struct queue *q, int64_t number);
/* The same, of an address that is not in the lists here but may be in the
 * store.  done, which may be NULL, is called when the row has been taken, or
 * when it cannot be read now: maybe at once; not after nodes_stop(). */
typedef void nodes_looked(void *arg, enum store_status status);
void nodes_look_url(struct queue *q, struct str url, nodes_looked *done,
                    void *arg);

#endif

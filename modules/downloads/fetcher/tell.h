/*
 * Events and snapshots: what clients hear of a queue.
 *
 *   tell.c            events
 *   tell_history.c    all entries: /history, the snapshot "all"
 *   tell_snapshots.c  what joining clients are told first
 *
 * Progress is told twice a second for each entry at most; the newest waits.
 * Everything else is told at once, in order.  Events that the channel does not
 * take now wait, up to TELL_WAITING_BYTES and TELL_WAITING_MS.  Beyond, all
 * clients of the instance get snapshots that are made anew, because an event
 * that is lost would leave them wrong for ever.  So they do when the fetcher
 * has begun anew.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_TELL_H
#define MODULES_DOWNLOADS_FETCHER_TELL_H

#include "fetcher/queue.h"

#define TELL_PROGRESS_MS 500
#define TELL_WAITING_BYTES ((size_t)4 << 20)
#define TELL_WAITING_MS 20000

/* The queue is made: snapshots that are asked for wait. */
void tell_start(struct queue *q);
/* Its lists are those of the store (queue.loaded). */
void tell_loaded(struct queue *q);
/* weir.conf has changed what is said of it. */
void tell_configured(struct queue *q);
void tell_stop(struct queue *q);

void tell_added(struct entry *e);
/* at_once: its status has changed; no more than twice a second either. */
void tell_updated(struct entry *e, bool at_once);
void tell_completed(struct entry *e);
void tell_canceled(struct queue *q, struct str url);
void tell_cleared(struct queue *q, struct str url);
void tell_options(struct queue *q); /* engine_options_changed */
/* The entry is freed: no progress of it is told any more. */
void tell_forget(struct entry *e);

/* {"done":[...],"queue":[...],"pending":[...]} as a sealed memfd, made again
 * when something has changed (queue.change); borrowed until the next call.  -1
 * with err. */
int tell_history(struct queue *q, int64_t *length, struct errmsg *err);

rpc_handler tell_on_all, tell_on_configuration, tell_on_custom_dirs,
    tell_on_options, tell_on_options_alias; /* snapshots; arg: struct fetcher */

#endif

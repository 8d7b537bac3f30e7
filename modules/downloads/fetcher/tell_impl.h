/*
 * Shared by tell.c, tell_history.c and tell_snapshots.c.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_TELL_IMPL_H
#define MODULES_DOWNLOADS_FETCHER_TELL_IMPL_H

#include "fetcher/tell.h"

/* A text that is kept until the lists change. */
struct tell_text {
    int fd;         /* owned: a sealed memfd; -1: none */
    int64_t length; /* bytes */
    int64_t change; /* queue.change when it was made */
};

enum tell_kept { KEPT_HISTORY, KEPT_OBJECT, KEPT_STRING, KEPT_TEXTS };

struct told { /* queue.told */
    struct queue *queue;
    struct loop *loop; /* borrowed */

    /* tell.c */
    struct list waiting; /* struct event that the channel did not take */
    size_t waiting_bytes;
    bool lost; /* clients are to be told all anew: nothing else is told */
    struct timer retry;
    struct list tickers;     /* struct ticker: entries with progress of late */
    struct buf object, text; /* of the event that is being sent */

    struct tell_text kept[KEPT_TEXTS]; /* tell_history.c */

    /* tell_snapshots.c */
    struct list answers;  /* struct answer: snapshots that are on their way */
    struct timer folders; /* since custom_dirs was told: it is stale then */
};

/* Appends JSON once more as a JSON string.  0, or -1: `to` is full. */
int tell_quote(struct str json, struct buf *to);
/* The event engine_options_changed; empty: there is no file. */
void tell_write_options(const struct queue *q, struct buf *to);
/* Tells the channel that a snapshot is stale.  False: it takes no more now. */
bool tell_stale(struct told *t, const char *snapshot);

/* A sealed memfd with these bytes, the caller's.  -1 with err. */
int tell_memory(struct str bytes, struct errmsg *err);
/* The snapshot "all" in a payload; borrowed until the next call.  NULL with
 * err. */
const struct tell_text *tell_all(struct told *t, int payload,
                                 struct errmsg *err);
void tell_texts_start(struct told *t);
void tell_texts_stop(struct told *t);

void tell_snapshots_start(struct told *t);
/* The lists are there, or no event waits any more. */
void tell_snapshots_go_on(struct told *t);
void tell_snapshots_stop(struct told *t);

#endif

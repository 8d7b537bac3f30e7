/*
 * Shared by the files of this module.
 *
 *   server.c   the node as a whole
 *   answer.c   answers made over several turns
 *   events.c   server-sent events
 *   sockets.c  the same changes over Socket.IO
 *   largest.c  which subscriber gives way
 *   history.c  speeds of the last day
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_STAT_STAT_H
#define MODULES_STAT_STAT_H

#include "app/module.h"
#include "collect.h"
#include "proc/metric.h"
#include "proc/tally.h"
#include "sio/sio.h"

#define STAT_JSON "application/json"

struct stat_settings {
    int64_t interval;    /* ms between two rounds of events */
    int64_t subscribers; /* of events, in a worker */
};

/* Of clients: subscribers of events, in a worker; of sockets, in the channel.
 */
enum { STAT_POOL_EVENTS, STAT_POOL_SOCKETS };
extern struct tally_pool stat_pools[];

enum { STAT_SUBSCRIBERS, STAT_REFUSED, STAT_SKIPPED };
extern struct metric stat_metrics[];

/* Whether a stream's key could look like this. */
bool stat_is_key(struct str key);

/* ---- answer.c ---- */

/* Answers with all of a walk; large ones in pieces, over several turns. */
enum http_result answer_walk(struct http_request *r, enum walk_kind kind,
                             struct str key);

/* ---- history.c ---- */

/* key: the stream's; empty: the node. */
enum http_result history_answer(struct http_request *r, struct str key);

/* ---- sockets.c ---- */

extern const struct sio_module stat_sockets;

/* ---- events.c ---- */

struct changes_wish; /* changes.h */
struct events;       /* a layer's subscribers */

struct events *events_new(struct loop *l, const struct stat_settings *s);
/* When no subscriber is left. */
void events_free(struct events **e);
/* Ends the answer of every subscriber, now and from now on: they come back
 * to another process. */
void events_drain(struct events *e);
/* wish: the changes that are wanted; NULL: whole rounds. */
enum http_result events_subscribe(struct events *e, struct http_request *r,
                                  const struct changes_wish *wish);

#endif

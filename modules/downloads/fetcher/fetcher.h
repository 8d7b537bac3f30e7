/*
 * The role "fetcher": the one process of a node that owns the queues.
 *
 *   fetcher.c       the role's life; reloads
 *   plan.[ch]       what weir.conf says, from the master
 *   queue.[ch]      an instance: three lists, every transition, in one table
 *   instance.c      its life
 *   lists.[ch]      its lists: finding, order
 *   lanes.[ch]      its writes: clients have them in turn
 *   entry.[ch]      a download: what is known of it; entry_json.c
 *   keep.[ch]       the table in the store: each transition is a write
 *   nodes.[ch]      other weirs on the database: leases, notices
 *   schedule.c      which entry runs next; life.[ch]: from there to its end
 *   tidy.c          max_done, clear_completed_after
 *   commands.[ch]   the calls delete, start, history, version, show, order
 *   add.[ch]        the call add: extraction, entries; add_share.c, facts.[ch]
 *   engine.[ch]     the table of engines; ytdlp.c (found.[ch]), direct.c
 *   selection.[ch]  quality and format to what yt-dlp is told
 *   run.[ch]        one run of an engine: cancel, result; extract.c
 *   process.[ch]    the process of a run: supervisor, pipes
 *   excess.[ch]     bounds of a run that it went over
 *   room.[ch]       room on the disk while runs write
 *   lines.[ch]      what an engine says, line by line
 *   options.[ch]    the file of engine options, watched
 *   place.[ch]      the directory: folders of runs, names, moves, removal
 *   proxy.[ch]      the checking proxy, through which engines reach others
 *   tell.[ch]       events; tell_snapshots.c, tell_history.c
 *
 * A request to add is an extraction first.  Each entry that it names is
 * written to the store, then it is in the queue, then clients hear of it.
 * Nothing is told that is not on the disk, but progress.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_FETCHER_H
#define MODULES_DOWNLOADS_FETCHER_FETCHER_H

#include "downloads.h"
#include "fetcher/options.h"
#include "fetcher/place.h"
#include "fetcher/plan.h"
#include "fetcher/proxy.h"
#include "request.h"

struct starter;

struct fetcher {             /* the role */
    struct loop *loop;       /* borrowed, as is the starter */
    struct starter *starter; /* programs: enum fetcher_program; folder n: the
                                n-th directory of weir.conf */
    struct task_threads *threads; /* owned: disk work */
    struct proxy *proxy;          /* owned */
    struct str node;
    char tag[48];       /* this process among all that ever were, in notices */
    struct list queues; /* struct queue (queue.h) */
    struct list jobs;   /* commands.c */
    bool shared;        /* other nodes may be on the store */
    bool draining;      /* starts nothing new */
    bool stopping;
};

enum fetcher_program { PROGRAM_SUPERVISOR };

/* The queue of that name; NULL: weir.conf has none. */
struct queue *fetcher_find(struct fetcher *f, struct str instance);

/* The same for a request; NULL: it was answered why not. */
struct queue *fetcher_queue(struct fetcher *f, struct rpc_request **r,
                            struct str instance);

/* Ends a worker's call.  body is JSON. */
void fetcher_answer(struct rpc_request **r, int status, int64_t retry_after,
                    struct str body);
/* {"status":"error","msg":...} */
void fetcher_answer_error(struct rpc_request **r, int status,
                          int64_t retry_after, const char *msg);

rpc_handler add_on_request; /* add.c */
/* The same, of a wish that was read already; texts are copied. */
void add_wish(struct fetcher *f, struct rpc_request *r,
              const struct download_wish *w);
/* The queue goes, or weir ends: all adds are answered 503. */
void add_drop_all(struct queue *q);
/* Sets the sizes of downloads_pools, as the queues are now. */
void add_set_pools(const struct fetcher *f);
rpc_handler commands_on_delete, commands_on_start, /* commands.c */
    commands_on_history, commands_on_version, commands_on_show,
    commands_on_order;

#endif

/*
 * The queue of an instance: three lists, and the only table of transitions.
 *
 *     trigger          from            to       event
 *     ADD_WAITING      (none)          pending  added
 *     ADD              (none)          queue    added
 *     START            pending         queue    updated
 *     FINISH           queue           done     completed
 *     CANCEL           queue, pending  gone     canceled, when no process and
 *                                               no file of it is left
 *     CLEAR            done            gone     cleared
 *
 * A transition is a write to the store (keep.h).  When it is committed, the
 * lists change and clients are told (tell.h).  Writes of one entry are made one
 * after the other.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_QUEUE_H
#define MODULES_DOWNLOADS_FETCHER_QUEUE_H

#include "base/fair_queue.h"
#include "fetcher/entry.h"
#include "fetcher/fetcher.h"
#include "fetcher/lanes.h"
#include "fetcher/run.h"
#include "store/store.h"

enum queue_trigger {
    TRIGGER_ADD_WAITING,
    TRIGGER_ADD,
    TRIGGER_START,
    TRIGGER_CLAIM, /* a run of it begins: no transition, but a write */
    TRIGGER_FINISH,
    TRIGGER_CANCEL,
    TRIGGER_GONE, /* no file of a canceled one is left */
    TRIGGER_CLEAR,
    QUEUE_TRIGGERS
};

/* Where an entry is, in the table of transitions. */
enum queue_state {
    STATE_PENDING = LIST_PENDING,
    STATE_QUEUE = LIST_QUEUE,
    STATE_DONE = LIST_DONE,
    STATE_CANCELED, /* in queue.canceled: it goes */
    STATE_NONE,
};

#define QUEUE_WRITES 128 /* of a queue, under way at once; others wait */

struct queue {        /* an instance */
    struct list link; /* in fetcher.queues */
    struct fetcher *fetcher;
    struct pool *pool; /* owned: has the texts of plan */
    struct downloads_instance plan;
    bool retired; /* weir.conf has it no more */
    bool loaded;  /* the lists are those of the store */

    struct list lists[ENTRY_LISTS]; /* struct entry, in order of adding */
    size_t counts[ENTRY_LISTS];
    struct list canceled; /* struct entry: in no list any more, but there */
    struct entry **by_url, **by_asked; /* owned buckets */
    size_t buckets;

    struct place *place;       /* owned: the directory; NULL: it is not there */
    struct options *options;   /* owned: the engine's */
    struct list adds;          /* add.c: requests that wait or extract, */
    struct fair_queue waiting; /* of them those that wait, */
    struct list extracting;    /* and those that extract */
    size_t waits, extracts;    /* how many these are */
    size_t running;            /* runs of this node */
    struct fetch_engine_state *engine; /* owned: engine.h: its version */
    int64_t change; /* grows with every change that /history shows */
    int64_t left;   /* the same, when an entry last left the lists */
    void *told;     /* tell.c */

    /* queue.c */
    struct list ops;            /* struct queue_op: all of them */
    struct lanes backlog;       /* those that wait for their write */
    struct list held;           /* adds of addresses that are being canceled */
    struct tally_holder client; /* for whom it is asked just now */
    size_t writing;             /* writes under way */
    size_t adding;              /* of them adds */
    size_t entries;             /* in by_url */
    int64_t newest_ns;          /* the last timestamp */
    struct later pump;

    /* keep.c, nodes.c: reading of the store */
    struct store_call *load;
    int64_t load_from;   /* number of the last row */
    int64_t load_change; /* queue.change, when that page was asked for */
    uint32_t round;      /* entry.seen */
    struct list looks;   /* struct look */
    struct timer again;

    /* schedule.c, tidy.c */
    struct later act;
    struct timer retry, tidy;
    size_t tidying;    /* records that are being cleared */
    size_t busy;       /* entries that are not PHASE_IDLE */
    bool crowded;      /* a run could not start: none does until the retry */
    const char *pause; /* why nothing starts; "": it does */
};

/* ---- instance.c ---- */

struct queue *queue_new(struct fetcher *f, const struct downloads_instance *p);
void queue_free(struct queue **q);
/* weir.conf was read again. */
void queue_reconfigure(struct queue *q, const struct downloads_instance *p);

/* ---- lists.c ---- */

/* By its address, or by what was asked.  In pending or queue / in done.  One
 * that is canceled is not found. */
struct entry *queue_find(const struct queue *q, struct str id);
struct entry *queue_find_done(const struct queue *q, struct str id);
/* By its address alone, in pending or queue. */
struct entry *queue_find_url(const struct queue *q, struct str url);
/* The entry of that address; if there is none, all that were made of what was
 * asked, as those of a playlist are.  How many. */
size_t queue_each(const struct queue *q, struct str id, bool done,
                  void (*each)(void *arg, struct entry *e), void *arg);
/* Looks at all of them. */
struct entry *queue_by_number(const struct queue *q, int64_t number);
/* The same, of a known address: looks at few. */
struct entry *queue_of_row(const struct queue *q, struct str url,
                           int64_t number);
/* How many more may be added (max_entries). */
size_t queue_room(const struct queue *q);

/* ---- queue.c ---- */

/* status: STORE_OK, and e is in its new list (NULL: gone); else nothing has
 * changed. */
typedef void queue_done(void *arg, struct entry *e, enum store_status status);

/* Writes that are asked for from now on are that client's, until this is called
 * with NULL: clients have them in turn. */
void queue_serve(struct queue *q, const struct tally_holder *client);
/* facts are copied, and get a timestamp: the place of the caller's order is
 * kept.  STORE_CONFLICT: the address is in queue or pending by now; e is that
 * entry, or NULL: it cannot be found.  STORE_BUSY: max_entries are there.  An
 * add of an address that is being canceled waits until it is gone; a further
 * one is STORE_BUSY. */
void queue_add(struct queue *q, const struct entry_facts *facts, bool waits,
               queue_done *done, void *arg);
/* Whether an add waits for the end of such a cancellation. */
bool queue_is_held(const struct queue *q, struct str url);
/* STORE_MISSING, here and below: it is not in such a list any more. */
void queue_start(struct entry *e, queue_done *done, void *arg);
/* done is called when the cancellation is committed. */
void queue_cancel(struct entry *e, queue_done *done, void *arg);
void queue_wipe(struct entry *e, queue_done *done, void *arg);
/* done is not called for that arg any more: its owner goes. */
void queue_forget(struct queue *q, void *arg);

/* ---- queue.c, for instance.c, schedule.c and nodes.c ---- */

void queue_ask(struct entry *e, enum queue_trigger trigger, queue_done *done,
               void *arg);
enum queue_state queue_state_of(const struct entry *e);
/* Whether an add of that address is being written. */
bool queue_is_adding(const struct queue *q, struct str url);
/* Puts a row of the store in its place, without a word. */
void queue_put(struct entry *e, enum queue_state to);
/* Another node has changed it: the same transitions, told in order.  STATE_NONE
 * frees it. */
void queue_follow(struct entry *e, enum queue_state to);
void queue_changed(struct queue *q); /* something that /history shows */
/* A row that was asked for before may be older than e. */
void queue_row_changed(struct entry *e);
void queue_start_ops(struct queue *q);
void queue_stop_ops(struct queue *q); /* forgets writes that are under way */

/* ---- schedule.c ---- */

void schedule_start(struct queue *q);
/* Starts what may start now; called after every change. */
void queue_schedule(struct queue *q);
/* Whether this node starts anything now. */
bool schedule_is_open(const struct queue *q);
/* The same, and there is a place and room for one more; if not, that is looked
 * at again. */
bool schedule_has_place(struct queue *q);
/* Ends what runs at once; the rows stay as they are. */
void schedule_stop(struct queue *q);
/* The right to run it has come, or has gone. */
void schedule_taken(struct entry *e);
void schedule_lost(struct entry *e);
/* It is canceled: ends its run, removes its files, then its row. */
void schedule_cancel(struct entry *e);

/* ---- tidy.c: max_done, clear_completed_after, files ---- */

void tidy_start(struct queue *q);
void tidy_look(struct queue *q); /* something has come to done */
/* A client of another node has cleared it: removes its file, if that is in this
 * node's directory. */
void tidy_file(const struct entry *e);
void tidy_stop(struct queue *q);

#endif

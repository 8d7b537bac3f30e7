/*
 * A download.
 *
 *   entry.c       words, memory
 *   entry_json.c  its JSON object
 *
 * Its key is (url, list): a run of an address whose earlier record
 * still stands in done has an entry of its own.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_ENTRY_H
#define MODULES_DOWNLOADS_FETCHER_ENTRY_H

#include "base/buf.h"
#include "base/list.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum entry_list { LIST_PENDING, LIST_QUEUE, LIST_DONE, ENTRY_LISTS };
enum entry_status {
    STATUS_PENDING, /* waits: for a start, or for its turn */
    STATUS_PREPARING,
    STATUS_DOWNLOADING,
    STATUS_POSTPROCESSING,
    STATUS_FINISHED,
    STATUS_ERROR,
};

/* These do not change after the add; texts end with NUL. */
struct entry_facts {
    struct str url;       /* the ID: the address that the engine names */
    struct str asked;     /* what the client said */
    struct str fetch;     /* what a run is given; often url */
    int64_t item;         /* of the list at fetch, from 1; 0: it is no list */
    struct str id, title; /* the engine's, behind the prefix */
    struct str quality, format, folder, prefix;
    struct str name;      /* wanted, below the folder, without its ending: the
                             template filled in; place.h makes it safe */
    struct str note;      /* from before the run: "error" of the object;
                             "": null */
    int64_t limit;        /* playlist_item_limit; 0: none */
    int64_t timestamp_ns; /* of adding, since 1970; unique in the queue, which
                             sets it: queue_add() */
};

/* Bytes that are kept of each; longer texts are cut, those of no UTF-8 mended.
 */
#define ENTRY_URL_MAX 8192  /* url, asked, fetch */
#define ENTRY_TEXT_MAX 1024 /* the others */

struct lease;
struct place_work;

/* schedule.c: what is done with an entry of the queue on this node. */
enum entry_phase {
    PHASE_IDLE,   /* waits for its turn, or another node runs it */
    PHASE_LEASE,  /* asks for the right to run it */
    PHASE_CLAIM,  /* writes that it begins */
    PHASE_RUN,    /* the engine works */
    PHASE_TAKE,   /* the result is moved to its place */
    PHASE_DROP,   /* what is left of the run is removed */
    PHASE_FINISH, /* its end is written */
};

struct entry {
    struct list link;          /* in a list of its queue */
    struct entry *next_of_url; /* in a bucket of its queue */
    struct entry *next_of_asked;
    struct queue *queue;
    int64_t number;                  /* the store's: never used again */
    const struct entry_facts *facts; /* owned, one piece of memory */
    uint8_t list;                    /* enum entry_list */
    uint8_t status;                  /* enum entry_status */
    bool canceled;   /* committed: it goes when its files are gone */
    bool foreign;    /* another node runs it */
    bool listed;     /* it is in a list, or canceled: it is in the store */
    bool again;      /* a run of it has begun before */
    bool stale;      /* another node has changed the row: nodes.c reads it */
    bool wiped;      /* a client clears it, and its file goes, too */
    uint8_t phase;   /* enum entry_phase */
    uint32_t seen;   /* nodes.c: the round of reading that has seen it */
    int64_t changed; /* queue.change, when its row was last known to change */
    int64_t started_ms, finished_ms; /* since 1970; -1: null */
    /* Of the run; -1: null. */
    int64_t percent;     /* thousandths */
    int64_t speed;       /* bytes/s */
    int64_t eta;         /* s */
    int64_t size;        /* bytes of the file */
    struct str filename; /* owned; below the directory and folder; "": null */
    struct str msg;      /* owned; "": null */
    struct str error;    /* facts->note; "": null */
    struct str where;    /* owned; of an ended one: the node that ran it, whose
                            directory has its file; "": this one */
    struct run *run;     /* NULL: none here */
    struct list ops;     /* queue.c: writes, the first is under way */
    struct lease *lease; /* owned; nodes.c */
    struct place_work *work; /* schedule.c: of the directory, under way */
    void *told; /* tell.c: progress that clients have had of late */
};

/* Facts in one piece of memory, cut and mended; free by mem_free(). */
struct entry_facts *entry_facts_copy(const struct entry_facts *facts);
/* In no list yet; e->facts is taken. */
struct entry *entry_new(struct queue *q, struct entry_facts *facts);
/* In no list any more; it has no run, no writes. */
void entry_free(struct entry **e);
/* Sets an owned text; cut to ENTRY_TEXT_MAX, mended. */
void entry_set_text(struct str *to, struct str s);

/* Appends the object that clients get (entry_json.c).  0, or -1: `to` is full.
 */
int entry_write_json(const struct entry *e, struct buf *to);
const char *entry_status_name(int status);
const char *entry_list_name(int list); /* "pending", "queue", "done" */

#endif

/*
 * One run of an engine: an extraction (what is there at an address?) or a
 * download (into a folder of its own, below DIRECTORY/.weir/).
 *
 * The engine runs under weir-supervisor, started by the starter: a session of
 * its own, which writes only below its folder and connects only to the checking
 * proxy, whose address and password it has in its environment.  It says what
 * it does by lines on a pipe (lines.h).
 *
 * Cancelling: SIGINT to the group, SIGKILL of the session 15 s later.  on_end
 * comes when no process of it is left.
 *
 *   run.c      a download
 *   extract.c  an extraction
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_RUN_H
#define MODULES_DOWNLOADS_FETCHER_RUN_H

#include "fetcher/entry.h"
#include "request.h"

struct queue;

#define RUN_GRACE_MS 15000     /* from SIGINT to SIGKILL */
#define EXTRACT_MAX (64 << 20) /* bytes that an extraction says, at most */

/* ---- a download ---- */

struct run_progress { /* -1: unknown */
    int status;       /* enum entry_status */
    int64_t percent;  /* thousandths */
    int64_t speed;    /* bytes/s */
    int64_t eta;      /* s */
    int64_t fetched;  /* bytes so far */
    struct str name;  /* of the file as it will be; "": as before */
};

struct run_result {
    bool finished;  /* else: it failed, or was cancelled */
    bool canceled;  /* by run_cancel() */
    bool killed;    /* by run_abort(), or with weir: nothing is known of it */
    struct str msg; /* why it failed: of the engine, or ours; no path of
                       weir's own */
    /* The file, in the run's folder, where place_take() finds it; "": the
     * engine has made none. */
    struct str file;
};

struct run_handlers {
    void (*on_progress)(void *arg, const struct run_progress *p);
    void (*on_end)(void *arg, const struct run_result *r); /* last; frees it */
};

struct run;

/* Makes the folder of the run, or finds what an earlier one left there.  NULL
 * with err; `later`: because too much runs now, no descriptor is left, or this
 * process ends with its starter. */
struct run *run_start(struct entry *e, const struct run_handlers *h, void *arg,
                      bool *later, struct errmsg *err);
void run_cancel(struct run *r);
/* SIGKILL at once: the lease ends, or weir does. */
void run_abort(struct run *r);
/* The role ends: the run is killed, and no call is made.  NULL inside is
 * fine. */
void run_forget(struct run **r);

/* ---- an extraction ---- */

struct extracted_item {
    struct str url;   /* the address that the engine names; with "#n" where
                         several have it */
    struct str fetch; /* what a run is given; often the same */
    int64_t item;     /* of the list at fetch, from 1; 0: it is no list */
    struct str id, title, ext;
    struct str uploader;
    int64_t index;   /* in the playlist, from 1; 0: no playlist */
    struct str note; /* "Live stream is scheduled ..."; "": none */
    struct str msg;  /* why it cannot be downloaded; "": it can */
};

struct extracted {
    bool ok;
    bool no_engine; /* it could not run */
    struct str msg; /* why not */
    bool playlist;
    struct str playlist_id, playlist_title, playlist_uploader;
    const struct extracted_item *items;
    size_t count;
    size_t left_out; /* beyond playlist_item_limit */
};

#define EXTRACT_ITEMS 10000 /* of a playlist, at most */

struct extraction;
/* Called once, unless it is freed before.  x lives until extract_free(). */
typedef void extract_handler(void *arg, const struct extracted *x);

/* w is copied.  Its time is the caller's to bound.  NULL with err: the engine
 * cannot run. */
struct extraction *extract_start(struct queue *q, const struct download_wish *w,
                                 extract_handler *handler, void *arg,
                                 struct errmsg *err);
/* Nobody waits for it: it is killed.  The handler is called as ever, when no
 * process of it is left. */
void extract_cancel(struct extraction *x);
/* NULL inside is fine. */
void extract_free(struct extraction **x);

#endif

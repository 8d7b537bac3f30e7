/*
 * The table of engines.  A row says how the program is called and how its lines
 * are read; run.c does the rest.
 *
 *   yt-dlp   everything that yt-dlp can; its path is a setting
 *   direct   weir-fetch: one file at an http or https address, with resume
 *   fake     in unit tests alone
 *
 * Where the setting names none ("auto"), the first runs whose program is there.
 * ytdlp.c and direct.c have their rows.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_ENGINE_H
#define MODULES_DOWNLOADS_FETCHER_ENGINE_H

#include "fetcher/lines.h"
#include "fetcher/run.h"

struct queue;

/* Arguments of a program; texts lie in the pool.  The engine's path is not
 * among them. */
struct fetch_line {
    struct pool *pool;
    const char *argv[PROGRAM_ARGUMENTS];
    size_t count;
    bool full; /* one was left out: there are too many */
};

void fetch_line_add(struct fetch_line *to, const char *text); /* borrowed */
void fetch_line_printf(struct fetch_line *to, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

typedef void fetch_read_extracted(struct pool *p, const struct download_wish *w,
                                  struct str out, struct str error,
                                  struct extracted *x);

struct fetch_engine {
    const char *name;
    /* The absolute path of its program on this machine; "" with err, which says
     * what to do. */
    struct str (*program)(const struct downloads_instance *i,
                          struct errmsg *err);
    /* Whether it can do this, which selection_check() has passed; -1 with err.
     * NULL: it can do all. */
    int (*check)(struct str quality, struct str format, struct errmsg *err);
    void (*version)(struct fetch_line *to);
    /* w: strict and limit are those in force (limit 0: none). */
    void (*extract)(struct fetch_line *to, const struct queue *q,
                    const struct download_wish *w);
    void (*download)(struct fetch_line *to, const struct entry *e);
    /* All that an extraction said, and its last error.  Runs on a thread: it
     * touches nothing but its arguments.  Its texts lie in the pool.  Sets
     * x->ok, or x->msg. */
    fetch_read_extracted *read_extracted;
    fetch_on_line *read_line; /* of a download: lines.h */
};

extern const struct fetch_engine ytdlp_engine;  /* ytdlp.c */
extern const struct fetch_engine direct_engine; /* direct.c */
/* Of yt-dlp, for engines that say what it says. */
fetch_read_extracted ytdlp_read_extracted;
fetch_on_line ytdlp_read_line;
/* The one that the queue uses.  One whose place another had takes it again as
 * soon as it is there. */
const struct fetch_engine *fetch_engine_of(struct queue *q);
int fetch_engine_check(const struct fetch_engine *e, struct str quality,
                       struct str format, struct errmsg *err);

/* ---- its version ---- */

struct fetch_engine_state {
    const struct fetch_engine *engine;
    struct str version; /* owned; "": it cannot run, or was not asked yet */
    struct str error;   /* owned; why not, and what to do; "": it can */
    struct str missing; /* owned; it takes the place of another: why that one
                           cannot run, and what to do; "": it does not */
    struct fetch_engine_ask *ask; /* owned: under way, or waits */
};

/* Chooses the engine by q->plan and asks it for its version, now and, while it
 * cannot run or takes the place of another, once a minute; then again as soon
 * as somebody calls this: at the start, when the plan changes, when a run could
 * not be started.  Makes q->engine. */
void fetch_engine_look(struct queue *q);
/* For people: its error, or why it takes the place of another; "": all is
 * well. */
struct str fetch_engine_trouble(const struct queue *q);
/* True: nothing is known of the engine yet, and r waits; `again` gets it when
 * something is.  Not when many wait already. */
bool fetch_engine_hold(struct queue *q, struct rpc_request *r,
                       rpc_handler *again);
void fetch_engine_free(struct fetch_engine_state **s); /* NULL inside is fine */

#endif

/*
 * Putting another configuration in force while weir runs (the master's part).
 *
 * One reload at a time: READING the file, perhaps starting ROLES that the
 * workers need, perhaps waiting for ROOM (slots of the oldest generation),
 * STARTING the new workers until all are READY.  Until then the master can undo
 * everything, and the generation in force runs as before: new sockets do not
 * listen, new workers do not accept.  Then, in one turn: the new sockets
 * listen, the new workers accept, the old ones drain.  LEAVING lasts until no
 * old worker accepts connections, 10 s at most; then those who asked hear of
 * it.
 *
 * A replaced generation lives as long as one of its workers, at most
 * reload_drain; when there are more than max_generations the oldest is closed.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_MASTER_RELOAD_H
#define APP_MASTER_RELOAD_H

#include "base/errmsg.h"
#include "base/list.h"
#include "event/loop.h"

struct generation;
struct master;
struct child;

enum reload_phase {
    RELOAD_NONE,
    RELOAD_ROLES,
    RELOAD_ROOM,
    RELOAD_STARTING,
    RELOAD_LEAVING
};

struct reload {
    enum reload_phase phase;
    struct generation *next; /* owned; the one that may come in force */
    struct list asked;       /* struct asked: wait for the one that runs */
    struct list waiting;     /* ... for the next one */
    struct list old;         /* struct replaced, the oldest first */
    struct timer deadline;   /* of the phase */
    int64_t leave_ms;        /* clock_ms(): LEAVING is over */
    struct errmsg told;      /* LEAVING: the first line of the answer */
    struct later begin;
    uint32_t failures; /* reloads that changed nothing, since the start */
};

/* Called once, in a later turn; text: one or more lines, without a newline at
 * the end ("FILE:LINE: ..." for every mistake, "generation 3 is in force: 4
 * workers, 4 old ones drain").  After a success no old worker accepts
 * connections at an address that stays, or a line of the text says that some
 * may. */
typedef void reload_done(void *arg, bool ok, const char *text);

/* Reads the file again and puts it in force. done NULL: the result is only
 * logged.  Calls while a reload runs (or weir starts) share one more reload
 * after it. */
void reload_ask(struct master *m, reload_done *done, void *arg);
/* Reads and checks the file as a reload would, tries to open its files and
 * addresses, and changes nothing. 0, with a description of the reload in *text
 * if describe is true; -1 with every mistake in *text (for mem_free()). */
int reload_test(struct master *m, bool describe, char **text);

/* ---- for the master ---- */

void reload_init(struct master *m);
/* Nothing runs any more; answers all callers that weir stops. */
void reload_clear(struct master *m);
/* Weir starts to serve: reloads that were asked for before may begin. */
void reload_serving(struct master *m);
/* Weir ends: undoes the reload that runs. */
void reload_abort(struct master *m);
/* A child said READY / cannot start / was reaped. */
void reload_on_ready(struct master *m);
void reload_on_failed(struct master *m, const struct child *c, const char *why);
void reload_on_gone(struct master *m);

#endif

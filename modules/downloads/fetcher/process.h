/*
 * An engine's process: weir-supervisor around it, what it says on two pipes,
 * and what the supervisor alone says on a third, a line each:
 *
 *     excess NAME     the run went over that bound and was ended (excess.h)
 *     bytes NUMBER    what its folder has now
 *     call NUMBER     the engine made a call that is not on its list
 *
 * Other lines are passed over.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_PROCESS_H
#define MODULES_DOWNLOADS_FETCHER_PROCESS_H

#include "base/errmsg.h"
#include "base/str.h"
#include "fetcher/engine.h"
#include "fetcher/excess.h"

struct fetcher;
struct proxy_pass;

struct fetch_process_end {
    bool started;             /* false: it never ran; *why says why */
    int status;               /* as a shell has it: 128 + n after signal n */
    const char *why;          /* "": it ran */
    bool lost;                /* it was killed with the starter, or with weir */
    enum fetch_excess excess; /* why it was ended; the first that was told */
};

struct fetch_process_options {
    struct fetcher *fetcher;
    struct str program;            /* absolute path of the engine */
    const struct fetch_line *line; /* its arguments; borrowed for the call */
    int folder;                    /* where it writes; taken; -1: nowhere */
    const struct place *place;     /* whose folder it is; NULL: of none */
    const struct proxy_pass *pass; /* borrowed for the call; NULL: none */
    const struct downloads_instance *plan; /* its bounds; borrowed for the
                                              call */
    /* It has written these bytes, which are borrowed.  May call
     * fetch_process_kill(). */
    void (*on_output)(void *arg, struct str bytes, bool is_error);
    /* The last call, which frees it: no process of it is left, and all that it
     * said was told. */
    void (*on_end)(void *arg, const struct fetch_process_end *end);
    void *arg;
};

struct fetch_process;

/* NULL with err, and without a call. */
struct fetch_process *fetch_process_start(const struct fetch_process_options *o,
                                          struct errmsg *err);
/* SIGINT, and SIGKILL RUN_GRACE_MS later; on_end follows. */
void fetch_process_interrupt(struct fetch_process *p);
void fetch_process_kill(struct fetch_process *p); /* on_end follows */
/* Ends it without a call; NULL inside is fine. */
void fetch_process_forget(struct fetch_process **p);

#endif

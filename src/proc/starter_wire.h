/*
 * The messages of a role and its starter (proc/starter.h): one in a packet,
 * made with base/pack.h.
 *
 * The starter can become any user that its role's programs may be, so it
 * believes nothing that a role says.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_STARTER_WIRE_H
#define PROC_STARTER_WIRE_H

#include "base/buf.h"
#include "proc/starter.h"

#define STARTER_MESSAGE 65536 /* bytes of a request at most */

enum starter_asks { STARTER_START = 1, STARTER_SIGNAL };

/* Points into the bytes that it was read from. */
struct starter_request {
    enum starter_asks asks;
    uint32_t run; /* < STARTER_RUNS; chosen by the role */
    int number;   /* SIGNAL: of the signal */
    /* START */
    uint32_t program, folder; /* below the counts that the starter has */
    struct program_limits limits;
    struct program_bounds bounds;
    uint32_t passed; /* bit n: descriptor n comes along,
                      * in order; else /dev/null */
    const char *arguments[PROGRAM_TEXTS + 1]; /* NULL ends */
    const char *environment[PROGRAM_TEXTS + 1];
};

/* -1: it is more than a message holds, or than a starter takes; with err. */
int starter_wire_write(const struct starter_request *r, struct buf *out,
                       struct errmsg *err);
/* false: it is no request that a starter with so many programs and folders
 * takes; fds: descriptors that came along. */
bool starter_wire_read(struct starter_request *r, struct str bytes,
                       const struct starter_options *o, size_t fds);

enum starter_tells {
    STARTER_STARTED = 1,
    STARTER_ENDED,
    STARTER_FAILED,
    STARTER_CALLED, /* made a call that is not on its list */
};

struct starter_report {
    enum starter_tells tells;
    uint32_t run;
    /* STARTED: its status is the pid, CALLED: the number.  why points into the
     * bytes. */
    struct program_end end;
};

#define STARTER_REPORT 1024 /* bytes at most */
void starter_report_write(const struct starter_report *r, struct buf *out);
bool starter_report_read(struct starter_report *r, struct str bytes);

#endif

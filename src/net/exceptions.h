/*
 * Exceptions: limits and debug lines that an operator sets for one client or
 * one stream while weir runs.
 *
 * The master has the table in its own memory, and sends it whole to its
 * children when it changes (app/child_commands.h); a child that is forked later
 * inherits it.  So a child trusts the rows, and the master trusts nothing from
 * a child.  All processes count in shared memory how often each row had an
 * effect; that count is only shown.
 *
 * While no row of a kind exists, a look-up costs one branch.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_EXCEPTIONS_H
#define NET_EXCEPTIONS_H

#include "net/access.h"

#define EXCEPTIONS 64        /* rows */
#define EXCEPTION_STREAM 256 /* bytes of "app/name", NUL included */
#define EXCEPTION_LIMIT 24   /* bytes of a limit as it was written */

enum exception_kind {
    EXCEPTION_FREE,        /* the row is nobody's */
    EXCEPTION_DEBUG,       /* all log lines of it are written */
    EXCEPTION_CONNECTIONS, /* of each address of a client's network */
    EXCEPTION_REQUESTS,    /* over HTTP, the same; interval_us, most at once */
    EXCEPTION_PLAYERS,     /* of a stream */
    EXCEPTION_RATE,        /* of a stream's publisher, bit/s */
    EXCEPTION_KINDS
};

struct exception {
    uint8_t kind;                  /* enum exception_kind */
    struct access_net net;         /* of clients, if stream is "" */
    char stream[EXCEPTION_STREAM]; /* "app/name" */
    char limit[EXCEPTION_LIMIT];   /* as the operator wrote it */
    int64_t most;                  /* the limit */
    int64_t interval_us;           /* REQUESTS: one each, in the long run */
    int64_t until_ms;              /* clock_ms(); 0: for good */
};

/* ---- the table ---- */

/* Master, before any fork. */
int exceptions_create(struct errmsg *err);
void exceptions_destroy(void);
/* Row 0 to EXCEPTIONS - 1. */
const struct exception *exception_row(size_t i);
uint64_t exception_struck(size_t i); /* how often, by all processes */

/* Master: adds a row, or takes the place of one of the same kind for the same
 * clients or stream.  -1 with err: all rows are taken. */
int exceptions_set(const struct exception *e, struct errmsg *err);
/* Master: removes the row of its kind for its clients or stream; false: there
 * is none. */
bool exceptions_remove(const struct exception *e);
/* Child: the master's table, EXCEPTIONS rows. */
void exceptions_take(const struct exception *rows);

/* ---- which one holds ---- */

extern unsigned exceptions_of_kind[EXCEPTION_KINDS]; /* rows */

/* The row for a client: the one whose network is the smallest; for a stream:
 * its own.  NULL: none. */
const struct exception *exception_of_client(enum exception_kind kind,
                                            const struct addr *client);
const struct exception *exception_of_stream(enum exception_kind kind,
                                            struct str stream);
/* Counts that the row had an effect. */
void exception_strikes(const struct exception *e);

/* ---- debug ---- */

/* The result of the last look-up for a client or a stream, all zero at first:
 * the table is looked at again only when it has changed. */
struct debug_mark {
    uint32_t version; /* of the table that was looked at; 0: none was */
    uint8_t row;      /* 1 + its number; 0: none holds */
};

bool debug_mark_look(struct debug_mark *mark, const struct addr *client,
                     struct str stream);

/* Whether the next line of log_limited_if() about that client, and that stream
 * unless it is empty, is wanted.  Counts one for the row if it is. */
static inline bool
debug_wanted(struct debug_mark *mark, const struct addr *client,
             struct str stream)
{
    return exceptions_of_kind[EXCEPTION_DEBUG] > 0 &&
           debug_mark_look(mark, client, stream);
}

#endif

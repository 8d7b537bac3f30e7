/*
 * From a SQLSTATE to the answer of a call of the store.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_POSTGRES_ERROR_H
#define STORE_POSTGRES_ERROR_H

#include "store/postgres/libpq.h"
#include "store/store.h"

enum pg_remedy {
    PG_ANSWER, /* none: this is the answer */
    PG_AGAIN,  /* asked again it may succeed */
    PG_LEAVE,  /* the same, over a new connection */
};

struct pg_fault {
    enum store_status status;
    enum pg_remedy remedy;
};

/* state: five characters, or NULL for one that libpq found itself. */
struct pg_fault pg_fault_of(const char *state);
struct pg_fault pg_fault_of_result(const PGresult *r);

/* The server's message, without values: they may be secret. */
void pg_explain(const PGresult *r, struct errmsg *why);
/* The error of a failed connection, in one line. */
void pg_explain_conn(const PGconn *c, struct errmsg *why);
/* Whether a connection failed for a reason that an operator has to mend: a
 * wrong password, no such database, a right that is missing. */
bool pg_conn_was_refused(const PGconn *c);

#endif

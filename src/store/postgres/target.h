/*
 * Where the PostgreSQL server is and who weir is there: a conninfo taken
 * apart.
 *
 * The conninfo alone counts: libpq's environment variables, its password and
 * service files and those of a home folder are not used.  Hosts are connected
 * to one at a time, in their order, by addresses that were found before: libpq
 * never looks for a name.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_POSTGRES_TARGET_H
#define STORE_POSTGRES_TARGET_H

#include "base/buf.h"
#include "store/postgres/libpq.h"
#include "store/store.h"

#define PG_HOSTS 8 /* of a conninfo, at most */

/* Texts are NUL terminated. */
struct pg_host {
    const char *name;    /* "" or the name that certificates must have; the
                            folder of a unix socket */
    const char *address; /* "": to be found by name, unless it is a folder */
    const char *port;
    bool local; /* a unix socket */
};

struct pg_target;

/* Reads it; -1, or NULL, with err, which quotes nothing secret. */
int pg_target_check(struct str conninfo, struct errmsg *err);
struct pg_target *pg_target_new(struct str conninfo, struct errmsg *err);
void pg_target_free(struct pg_target **t); /* NULL inside is fine */

size_t pg_target_hosts(const struct pg_target *t);
const struct pg_host *pg_target_host(const struct pg_target *t, size_t i);
/* "database weir on db1:5432, db2:5432": no secrets. */
void pg_target_print(const struct pg_target *t, struct buf *out);
/* Adds the rights that libpq needs whenever it connects, for all targets of
 * this process: files, ports. */
void pg_target_rights_of_all(struct rights *r);

/* Begins to connect to host i at address (NULL: its own). name is the
 * connection's in the server's list of sessions.  NULL: out of memory. */
PGconn *pg_target_connect(const struct pg_target *t, size_t i,
                          const char *address, const char *name);

#endif

/*
 * Bringing the tables of all schemas to what this weir knows.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_SQLITE_MIGRATE_H
#define STORE_SQLITE_MIGRATE_H

#include "store/sqlite/sqlite.h"

/* Each migration in a transaction of its own, those that were made before
 * compared.  -1 with err: the database is newer than this weir, one was
 * changed after it was released, or one failed; those before it stay. */
int migrate_all(struct sqlite *db, struct errmsg *err);

#endif

/*
 * Migrates the tables of all schemas to the versions of this weir.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_SQLITE_MIGRATE_H
#define STORE_SQLITE_MIGRATE_H

#include "store/sqlite/sqlite.h"

/* Makes each migration in a transaction of its own, and compares those that
 * were made before. -1 with err: the database is newer than this weir, one was
 * changed after it was released, or one failed; those before it stay. */
int migrate_all(struct sqlite *db, struct errmsg *err);

#endif

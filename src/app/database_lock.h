/*
 * Keeps a second weir off a SQLite database: each weir has its own notices, and
 * would do all work of the database.
 *
 * The lock is on a file beside the database, never on the database, where it
 * would be in SQLite's way.  It is fcntl's: it belongs to the master, whose
 * children do not inherit it, and the kernel drops it when the master ends,
 * however that happens.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_DATABASE_LOCK_H
#define APP_DATABASE_LOCK_H

#include "app/settings/settings.h"

/* Master, when the database is there: holds it until this process ends; does
 * nothing when it holds it.  -1 with err: another weir has it (and which), or
 * it cannot be looked at. */
int database_lock(const struct settings *s, struct errmsg *err);
/* Whether another weir had it at the last try. */
bool database_lock_is_taken(void);

#endif

/*
 * The keeper: the one process that writes to the database.
 *
 * Writes come over the bus.  All that has come while the last transaction ran
 * makes the next one, which a thread of its own runs: the loop goes on taking
 * in.  A writer alone is never kept waiting; when there were several lately,
 * the keeper waits up to 5 ms for as many again, so that they share a sync.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_SQLITE_KEEPER_H
#define STORE_SQLITE_KEEPER_H

#include "store/store.h"

/* In the role's process, before it enters the sandbox: opens or makes the
 * database, migrates it, tells all processes that it is there.  -1 with
 * err. */
int keeper_start(struct loop *l, const struct store_settings *s,
                 struct errmsg *err);
/* Finishes the transaction that runs and answers it; what waits is asked
 * again of the next keeper. */
void keeper_stop(void);

#endif

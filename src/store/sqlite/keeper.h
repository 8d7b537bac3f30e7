/*
 * The keeper: the one process that writes to the database.
 *
 * Writes come over the bus.  The writes that came while the last transaction
 * ran make the next one.  A thread runs it, while the loop goes on receiving.
 * A single writer never waits; when there were several lately, the keeper waits
 * up to 5 ms for as many again, so that they share a sync.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_SQLITE_KEEPER_H
#define STORE_SQLITE_KEEPER_H

#include "store/store.h"

/* In the role's process, before it enters the sandbox: opens or makes the
 * database, migrates it, announces itself to all processes. -1 with err. */
int keeper_start(struct loop *l, const struct store_settings *s,
                 struct errmsg *err);
/* Finishes the transaction that runs and answers it; waiting writes are sent
 * again to the next keeper. */
void keeper_stop(void);

#endif

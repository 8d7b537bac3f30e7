/*
 * The keeper of a PostgreSQL database: it writes nothing for others, but makes
 * the tables, and cleans the ledger.
 *
 * Several weirs may start on one database at once: a lock of the server lets
 * them check and make missing tables one after the other, each in one
 * transaction.
 *
 * A server that cannot be reached does not keep weir from starting: the keeper
 * goes on trying.  It does all of this again whenever the server is back,
 * because it may be another server.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_POSTGRES_KEEPER_H
#define STORE_POSTGRES_KEEPER_H

#include "store/store.h"

/* In the role's process, before it enters the sandbox. -1 with err: the server
 * refuses us, or its tables cannot be used. */
int postgres_keeper_start(struct loop *l, const struct store_settings *s,
                          struct errmsg *err);
void postgres_keeper_stop(void);

#endif

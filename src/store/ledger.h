/*
 * The keeper's own schema: what it has done for whom, so that what it is
 * asked again after it was killed is answered again and not done again.
 *
 * A row is made in the transaction of the write it tells of, and dropped when
 * its answer has arrived (a later write of the same process says so), when
 * the process is gone, or when weir was started anew.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_LEDGER_H
#define STORE_LEDGER_H

#include "store/store.h"

extern const struct store_schema ledger_schema;

/* Its statements, and what else the keeper says again and again. */
enum {
    LEDGER_BEGIN,
    LEDGER_COMMIT,
    LEDGER_ROLLBACK,
    LEDGER_SAVE, /* one call of a transaction */
    LEDGER_RELEASE,
    LEDGER_UNDO,
    LEDGER_ADD,    /* boot, owner, number, answer */
    LEDGER_FIND,   /* boot, owner, number -> answer */
    LEDGER_FORGET, /* boot, owner, number: those before it */
    LEDGER_OWNERS, /* boot -> owner */
    LEDGER_DROP,   /* boot, owner: all of it */
    LEDGER_OTHERS, /* boot: all but it */
};

#endif

/*
 * The keeper's own schema: the writes that it has done, and for which process.
 * When a process repeats a write after the keeper was killed, the keeper
 * answers again and does not do it again.
 *
 * A row is made in the transaction of its write.  It is dropped when the answer
 * has arrived (a later write of the same process reports that), when the
 * process is gone, or when weir was started anew.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_LEDGER_H
#define STORE_LEDGER_H

#include "store/store.h"

extern const struct store_schema ledger_schema;

/* Its statements, and others that the keeper uses often. */
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

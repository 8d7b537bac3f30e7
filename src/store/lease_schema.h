/*
 * The tables and statements of leases.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_LEASE_SCHEMA_H
#define STORE_LEASE_SCHEMA_H

#include "store/store.h"

enum lease_statement {
    /* node, role, place, session, expiry -> session: unless the node is there
     * with another place */
    LEASE_OPEN,
    /* session, expiry, role -> how many other nodes live; changes nothing if
     * the session is over.  It begins every write: from then on nobody else
     * can find this node dead before the COMMIT. */
    LEASE_RENEW,
    LEASE_FORGET_NODES, /* those whose time is over -> node */
    LEASE_FORGET,       /* leases of sessions that are over */
    LEASE_CLAIM,        /* session, names -> those that are ours now */
    LEASE_RELEASE,      /* session, names */
    LEASE_SAY,          /* session, pairs of name and state */
    LEASE_LOOK,         /* role -> name, node, state, ms left */
    LEASE_CLOSE,        /* session: its leases */
    LEASE_LEAVE,        /* session */
    LEASE_STATEMENTS
};

extern const struct store_statement lease_statements[];

#endif

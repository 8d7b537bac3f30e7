/*
 * Leases: what exactly one of the weirs on one database does.
 *
 * A weir is a node there: it has a row that says until when it is believed to
 * live, by the database's clock, and renews it three times in that time, with
 * all that it holds, in one statement.  A node's leases are free when it
 * says so, and when its row was not renewed in time: then another deletes the
 * row, and with it all that the node held.
 *
 * A node stops using what it holds before that can happen, by a clock of its
 * own that goes on while the machine sleeps: the last renewal that was
 * confirmed counts from when it was asked for, less a margin.  A node that was
 * alone at its last renewal goes on while the database does not answer:
 * nobody can take anything there.  In both cases it renews first when the
 * database is back, and gives way if somebody else was quicker.
 *
 * Where the store is of one weir alone (SQLite) all leases are granted at
 * once and nothing is written.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_LEASE_H
#define STORE_LEASE_H

#include "store/store.h"

#define LEASE_NAME_MAX 64   /* bytes, of ASCII */
#define LEASE_NODE_MAX 200  /* bytes of a node's name */
#define LEASE_STATE_MAX 768 /* bytes of a state */

extern const struct store_schema lease_schema;

/* ---- a process that holds leases ---- */

struct lease_options {
    bool shared; /* other nodes may be on this store */
    /* Of this node; no other has it.  At most LEASE_NODE_MAX bytes. */
    struct str node;
    /* What only one weir can have at a time, and has again when it is started
     * again (its locked pid file).  A row of the same node and place is this
     * weir's own, of before it was killed: it goes on with what it held. */
    struct str place;
    struct str role; /* which process of the node: leases are told apart */
    int64_t expiry;  /* ms that a node may be silent */
};

/* After store_open(); *o is copied. */
void lease_start(struct loop *l, const struct lease_options *o);
/* Nothing is written until lease_stop(): its owners are ending what they did.
 */
void lease_hold(void);
/* Gives all back, without telling their owners; new ones are not asked for. */
void lease_stop(void);
/* After lease_stop(): the database knows, or cannot be told. */
bool lease_is_stopped(void);
/* Frees what is left; before store_close(). */
void lease_end(void);

/* ---- one lease ---- */

struct lease;

/* All are called by the loop, and must not free leases. */
struct lease_handlers {
    void (*on_taken)(void *arg);
    /* It may be another's from now on. */
    void (*on_lost)(void *arg, const char *reason);
    /* It is not ours: who has it (STR_NONE: nobody), and what that one says of
     * it.  Told again whenever it was looked at. */
    void (*on_seen)(void *arg, struct str node, struct str state);
};

/* name is copied; nobody else in this process has it.  handlers is static. */
struct lease *lease_new(struct str name, const struct lease_handlers *handlers,
                        void *arg);
/* Gives it back; NULL inside is fine. */
void lease_free(struct lease **l);
/* Tries to have it, again and again until lease_drop().  True: it is ours
 * already, and on_taken() is not called. */
bool lease_want(struct lease *l);
/* Gives it back, if it is ours. */
void lease_drop(struct lease *l);
bool lease_is_held(const struct lease *l);
/* What others see of it while it is ours: at most LEASE_STATE_MAX bytes, no
 * secrets.  Written when it has changed, at most once a second. */
void lease_say(struct lease *l, struct str state);

#endif

/*
 * Leases: rights that exactly one of the weirs on one database has at a time.
 *
 * A weir is a node there: its row has the time until which it counts as alive,
 * by the database's clock.  The node renews the row three times in that span,
 * with all that it holds, in one statement.  A node's leases are free when it
 * gives them back, or when it has not renewed its row in time: then another
 * node deletes the row, with all that the node held.
 *
 * A node stops using what it holds before that can happen, by its own clock,
 * which goes on while the machine sleeps.  The last confirmed renewal counts
 * from the time when the node asked for it, less a margin.  A node that was
 * alone at its last renewal goes on while the database does not answer: nobody
 * can take anything there.  In both cases it renews first when the database is
 * back, and gives way if another node was quicker.
 *
 * Where one weir alone has the store (SQLite), all leases are granted at once
 * and nothing is written.
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
    /* A thing that only one weir can have at a time, and has again after a
     * restart (its locked pid file).  A row of the same node and place is this
     * weir's own from before it was killed: it goes on with the leases that it
     * held. */
    struct str place;
    struct str role; /* process of the node: leases of roles are separate */
    int64_t expiry;  /* ms that a node may be silent */
};

/* After store_open(); *o is copied. */
void lease_start(struct loop *l, const struct lease_options *o);
/* Nothing is written until lease_stop(): its owners are ending what they did.
 */
void lease_hold(void);
/* Gives all back, without calling their owners; asks for no new ones. */
void lease_stop(void);
/* After lease_stop(): whether the database has them back, or cannot be
 * reached. */
bool lease_is_stopped(void);
/* Frees what is left; before store_close(). */
void lease_end(void);

/* ---- one lease ---- */

struct lease;

/* All are called by the loop, and must not free leases. */
struct lease_handlers {
    void (*on_taken)(void *arg);
    /* Another node may have it from now on. */
    void (*on_lost)(void *arg, const char *reason);
    /* It is not ours: the node that has it (STR_NONE: none), and that node's
     * state for it.  Called after every look. */
    void (*on_seen)(void *arg, struct str node, struct str state);
};

/* name is copied, and used once in this process. handlers is static. */
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
/* Sets the state that other nodes see while it is ours: at most LEASE_STATE_MAX
 * bytes, no secrets.  Written when it has changed, at most once a second. */
void lease_say(struct lease *l, struct str state);

#endif

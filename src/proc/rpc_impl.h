/*
 * Shared by the files of rpc.h.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_RPC_IMPL_H
#define PROC_RPC_IMPL_H

#include "proc/rpc.h"
#include "proc/rpc_wire.h"

#define RPC_BUCKETS 256

/* A method in this process, which calls it, or serves it. */
struct rpc_state {
    struct list link; /* all methods */
    const struct rpc_method *method;
    uint32_t request_type, answer_type; /* of the bus */

    /* The caller's. */
    struct list calls;       /* struct rpc_call, the oldest first */
    struct rpc_call **table; /* owned; by the place in the number */
    uint32_t *vacant;        /* owned; places of table that are free */
    unsigned open;           /* calls */
    unsigned waiting;        /* of them, not sent yet */
    uint64_t serial;         /* of the last call */
    size_t kept;             /* bytes of requests that may be sent again */
    slot_owner role;         /* that was asked last */
    uint32_t role_index;

    /* The role's. */
    rpc_handler *handler; /* NULL: this process does not serve it */
    void *arg;
    struct list requests;             /* struct served */
    struct list buckets[RPC_BUCKETS]; /* the same, by number */
    unsigned count;                   /* of requests */
    size_t bytes;                     /* of their data */
    uint16_t open_of[SLOT_MAX];       /* of them, by the caller's slot */
    struct list refusals;             /* struct refusal; they wait for room */
    unsigned refusal_count;
};

/* Whether an answer, or a part, to that slot waits for room in its mailbox: a
 * call must not overtake it. */
bool rpc_owes(uint32_t slot);
/* One more (1), or less (-1). */
void rpc_owe(uint32_t slot, int change);
/* NULL while not open. */
struct loop *rpc_loop(void);
bool rpc_serves(void); /* false behind rpc_stop_serving() */
/* Something is open: looks after it from time to time. */
void rpc_watch(void);

void rpc_caller_init(struct rpc_state *s);
/* Processes came or went. */
void rpc_caller_look(struct rpc_state *s);
/* The mailbox of that slot has room again. */
void rpc_caller_room(struct rpc_state *s, uint32_t slot);
/* Ends all calls, or, in a child, forgets its parent's. */
void rpc_caller_end(struct rpc_state *s, struct loop *l);
void rpc_caller_forget(struct rpc_state *s);
bus_handler rpc_on_message; /* an answer; arg is a struct rpc_state */

void rpc_role_init(struct rpc_state *s);
void rpc_role_look(struct rpc_state *s);
void rpc_role_room(struct rpc_state *s, uint32_t slot);
void rpc_role_end(struct rpc_state *s, struct loop *l); /* frees requests */
bus_handler rpc_on_request;

#endif

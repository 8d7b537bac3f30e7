/*
 * Messages of calls as they cross the bus: a head, and what follows.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_RPC_WIRE_H
#define PROC_RPC_WIRE_H

#include "base/str.h"

#include <stdint.h>

enum rpc_kind {
    RPC_REQUEST = 1, /* caller: data */
    RPC_GRANT,       /* caller: count parts more, perhaps none; no data */
    RPC_CANCEL,      /* caller: no data */
    RPC_PART,        /* role: data */
    RPC_LAST,        /* role: data */
    RPC_ERROR,       /* role: text */
};

struct rpc_head {
    uint64_t number; /* of the call, in its method and caller; not 0 */
    int64_t due;     /* REQUEST, GRANT: clock_ms() of the deadline */
    uint32_t kind;   /* enum rpc_kind */
    uint32_t count;  /* REQUEST, GRANT: parts, up to RPC_WINDOW_MAX */
};

/* Sends head and data to the process in that slot; as bus_send(). */
int rpc_wire_send(uint32_t slot, uint32_t type, const struct rpc_head *h,
                  struct str data, int fd);

/* Take the head of a caller's, or a role's, message off *bytes and leave the
 * data. false: no caller, or role, sends this. */
bool rpc_wire_get_request(struct str *bytes, struct rpc_head *h);
bool rpc_wire_get_answer(struct str *bytes, struct rpc_head *h);

#endif

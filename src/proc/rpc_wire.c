/*
 * Packing and checking the messages of calls.
 *
 * Sender and reader are forks of one program, so numbers are as this machine
 * has them; but the sender may be in the hands of a stranger.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/rpc_wire.h"

#include <string.h>

#include "base/mem.h"
#include "proc/bus.h"
#include "proc/rpc.h"

#define SMALL 1024 /* bytes that need no memory from the heap */

int
rpc_wire_send(uint32_t slot, uint32_t type, const struct rpc_head *h,
              struct str data, int fd)
{
    uint8_t small[SMALL], *large = NULL, *message = small;
    size_t len = sizeof(*h) + data.len;
    int rc;

    if (len > sizeof(small)) {
        message = large = try_alloc(len);
        if (large == NULL) {
            return -1;
        }
    }
    memcpy(message, h, sizeof(*h));
    if (data.len > 0) {
        memcpy(message + sizeof(*h), data.ptr, data.len);
    }
    rc = bus_send_soon(slot, type, message, len, fd);
    mem_free(&large);
    return rc;
}

static bool
get_head(struct str *bytes, struct rpc_head *h)
{
    if (bytes->len < sizeof(*h)) {
        return false;
    }
    memcpy(h, bytes->ptr, sizeof(*h));
    *bytes = str_skip(*bytes, sizeof(*h));
    return h->number != 0;
}

bool
rpc_wire_get_request(struct str *bytes, struct rpc_head *h)
{
    if (!get_head(bytes, h) || h->count > RPC_WINDOW_MAX) {
        return false;
    }
    switch (h->kind) {
    case RPC_REQUEST:
        return true;
    case RPC_GRANT:
    case RPC_CANCEL:
        return bytes->len == 0;
    default:
        return false;
    }
}

bool
rpc_wire_get_answer(struct str *bytes, struct rpc_head *h)
{
    return get_head(bytes, h) &&
           (h->kind == RPC_PART || h->kind == RPC_LAST ||
            (h->kind == RPC_ERROR && bytes->len <= RPC_TEXT_MAX));
}

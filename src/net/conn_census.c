/*
 * How connections of one client are counted.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/conn.h"

#include "base/hash.h"
#include "net/share.h"

uint64_t
conn_census(const struct addr *peer)
{
    struct tally_holder client = share_prefix(peer);

    return peer->family == AF_INET || peer->family == AF_INET6
               ? hash_str(str_of(&client, sizeof(client))) | 1
               : 0;
}

struct tally_pool conn_pools[] = {
    { .name = "worker_connections", .scope = TALLY_PROCESS }, { .name = NULL }
};

void
conn_enter_pool(const struct addr *peer)
{
    struct tally_holder client = share_client(peer);

    tally_enter(&conn_pools[0], &client);
}

void
conn_leave_pool(const struct addr *peer)
{
    struct tally_holder client = share_client(peer);

    tally_leave(&conn_pools[0], &client);
}

/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "largest.h"

#define LOOKED 1024

bool
largest_look(struct largest *l, const struct tally_holder *client)
{
    uint32_t n = share_is_exempt(client)
                     ? 0
                     : tally_part_of(l->want->pool, l->want->part, client);

    if (n > l->holds) {
        l->holds = n;
        l->client = *client;
    }
    return ++l->looked < LOOKED;
}

bool
largest_gives(const struct largest *l)
{
    const struct share_want *w = l->want;

    return l->holds > (uint64_t)w->size / 8 &&
           l->holds > tally_part_of(w->pool, w->part, &w->client);
}

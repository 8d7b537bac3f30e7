/*
 * Subscribers of a layer as a part of their pool (net/share.h): which of them
 * gives way.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_STAT_LARGEST_H
#define MODULES_STAT_LARGEST_H

#include "net/share.h"

/* Of the things that it is shown, one of the client that has most of them. */
struct largest {
    const struct share_want *want;
    struct tally_holder client;
    uint32_t holds; /* 0: nobody has */
    int looked;
};

/* False: that were enough. */
bool largest_look(struct largest *l, const struct tally_holder *client);
/* Whether that client should give way to the one that wants something. */
bool largest_gives(const struct largest *l);

#endif

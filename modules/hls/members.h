/*
 * The streams of a ladder (live/ladder.h) that a request is about.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_HLS_MEMBERS_H
#define MODULES_HLS_MEMBERS_H

#include "asked.h"

struct member {
    char text[LIVE_NAME_MAX]; /* "app/name", of which these borrow */
    struct str name, room;    /* "app/name", "name" */
    struct live_cuts cuts;
};

void members_copy(struct member *to, const struct member *from);
/* The stream of the request itself; false: it is not there. */
bool members_self(const struct asked *a, struct member *out);
/* The members that the name of the request stands for which can be given to
 * the client, in the order of the ladder, at most LIVE_LADDER_MAX.  Those that
 * are over are left out where others are not. */
size_t members_of(const struct asked *a, struct member *out);
/* Whether the stream of the request is a member. */
bool members_is_one(const struct asked *a);
/* The other members beside the stream of the request. */
size_t members_beside(const struct asked *a, struct member *out);
/* The name by which viewers of a member are counted: one watches the ladder,
 * whichever of its streams it takes at the time. */
struct str members_counted(const struct asked *a);

#endif

/*
 * What /events?changes=... tells: once in an interval what differs from what
 * was told before.
 *
 * Subscribers who want the same share a feed.  A feed knows what it has told
 * (told.h); all feeds of a layer are filled by one walk, over several turns.
 * A new reader, and one that missed a round because its connection was full,
 * gets the whole at the next round, which begins at once for a new one.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_STAT_CHANGES_H
#define MODULES_STAT_CHANGES_H

#include "stat.h"

struct changes; /* of a layer */

enum { CHANGES_SERVER = 1, CHANGES_STREAMS = 2, CHANGES_SESSIONS = 4 };

struct changes_wish {
    unsigned what;  /* CHANGES_SERVER and so on, together */
    struct str key; /* of the stream whose sessions alone are wanted, and all
                       of it; empty: none */
};

struct changes *changes_new(struct loop *l, const struct stat_settings *s);
/* When no subscriber is left. */
void changes_free(struct changes **c);
/* "server,streams,sessions" into wish->what; false: it is something else. */
bool changes_parse(struct str list, struct changes_wish *wish);

/* Lies in the request's pool. */
struct change_subscriber;
/* r's answer has begun; whoever ends it calls changes_leave() before. */
struct change_subscriber *changes_join(struct changes *c,
                                       struct http_request *r,
                                       const struct changes_wish *wish);
void changes_leave(struct change_subscriber *s);

#endif

/*
 * The events of /events?changes=...: once in an interval, all values that have
 * changed since the last time.
 *
 * Subscribers with the same wish share a feed.  A feed remembers the values
 * that it has sent (told.h).  One walk fills all feeds of a layer, over several
 * turns.  A new reader, and one that missed a round because its connection was
 * full, gets all values at the next round, which begins at once for a new one.
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
    struct str key; /* of the one stream that is wanted in full, with its
                       sessions; empty: none */
};

struct changes *changes_new(struct loop *l, const struct stat_settings *s);
/* When no subscriber is left. */
void changes_free(struct changes **c);
/* "server,streams,sessions" into wish->what; false: it is something else. */
bool changes_parse(struct str list, struct changes_wish *wish);

/* Lies in the request's pool. */
struct change_subscriber;
/* r's answer has begun; the code that ends it calls changes_leave() before. */
struct change_subscriber *changes_join(struct changes *c,
                                       struct http_request *r,
                                       const struct changes_wish *wish);
void changes_leave(struct change_subscriber *s);

#endif

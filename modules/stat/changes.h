/*
 * Changes: once in an interval, all values that have changed since the last
 * time, for subscribers over HTTP (events.c) and over Socket.IO (sockets.c).
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

/* A round, as a subscriber is told it. */
struct changes_told {
    bool whole;      /* all values; else those that differ */
    struct str text; /* as server-sent events; empty: nothing differs */
    struct changes_event {
        const char *name; /* "streams" */
        struct str json;  /* one value */
    } events[4];          /* the same, one by one */
    size_t count;
};

/* In its owner's memory. */
struct change_subscriber {
    /* Set by the owner: false asks for the whole at the next round.  It may end
     * nothing that subscribes. */
    bool (*tell)(struct change_subscriber *s, const struct changes_told *told);
    /* Ours: */
    struct list link;
    struct feed *feed;
    bool stale; /* has to be told the whole */
    bool new;   /* was told nothing yet */
};

/* interval: ms between two rounds.  layer: the settings of the layer that
 * answers (place.h); NULL: the server is told without its place. */
struct changes *changes_new(struct loop *l, int64_t interval,
                            const void *layer);
/* When no subscriber is left. */
void changes_free(struct changes **c);
/* "server,streams,sessions" into wish->what; false: it is something else. */
bool changes_parse(struct str list, struct changes_wish *wish);

/* Subscribers of one feed are told in the order in which they joined. */
void changes_join(struct changes *c, struct change_subscriber *s,
                  const struct changes_wish *wish);
void changes_leave(struct change_subscriber *s);

#endif

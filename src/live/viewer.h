/*
 * Viewers: players that come with a request now and then, to any process.
 *
 * A viewer's session record belongs to no process.  It is found by its id from
 * every process, each counts into it, and the master ends it when nobody came
 * for as long as it was told.  Statistics, limits and kicks see it like any
 * other player (live/record.h).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_VIEWER_H
#define LIVE_VIEWER_H

#include "live/live.h"

/* Random, told to the client in the addresses of its playlists. */
struct live_viewer_id {
    uint64_t words[2];
};

struct live_viewer {
    struct live_viewer_id id;
    struct str name; /* "app/name" of the stream */
    struct str url;  /* as in live_play */
    struct addr peer;
    enum live_kind kind;
    uint32_t lasts; /* ms without a request after which it has gone */
};

enum live_viewer_answer {
    LIVE_VIEWER_COUNTED,
    LIVE_VIEWER_KICKED, /* by the operator, not long ago */
    LIVE_VIEWER_FULL,   /* live.max_sessions, or the stream has as many players
                           as the operator allows */
};

/* A request of a viewer: it is entered where it was not known.  bytes: of
 * pictures and sound that it is sent. */
enum live_viewer_answer live_viewer_came(const struct live_viewer *v,
                                         uint64_t video, uint64_t audio);
/* The same for a viewer that is known; false: it is not, or was kicked. */
bool live_viewer_took(struct live_viewer_id id, struct str name, uint64_t video,
                      uint64_t audio);

#endif

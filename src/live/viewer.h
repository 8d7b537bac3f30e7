/*
 * Viewers: players that come with a request now and then, to any process.
 *
 * A viewer is known by its id and the name of its stream.  Its session record
 * belongs to no process: it is found from every process, each counts into it,
 * and the master ends it when no request came for as long as was said, or when
 * its stream is over.  Statistics, limits and kicks see it like any other
 * player (live/record.h).
 *
 * Finding takes two buckets of a table like that of names (live/names.h),
 * however many viewers there are.  Two processes that enter a viewer at once
 * end with one record.  A process that is killed at a request leaves at most a
 * player too many until that expires.  A record that has ended is used again
 * only when every process has made a turn since, so nobody counts into the
 * session of another.  The states of a record: viewer.c.
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

/* The most that "lasts" may be, ms. */
#define LIVE_VIEWER_MAX (INT64_C(10) * 60 * 1000)

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
    LIVE_VIEWER_KICKED, /* by the operator, within live.kick_time */
    LIVE_VIEWER_FULL,   /* live.max_sessions, its client's share of them, or
                           the stream has as many players as the operator
                           allows; why is told, and it is counted as refused */
};

/* In a process with a hub: a request of a viewer.  It is entered where it was
 * not known.  video, audio: bytes of pictures and sound that it is sent. */
enum live_viewer_answer live_viewer_came(const struct live_viewer *v,
                                         uint64_t video, uint64_t audio,
                                         struct errmsg *why);
/* The same for a viewer that is known; false: it is not, or was kicked. */
bool live_viewer_took(struct live_viewer_id id, struct str name, uint64_t video,
                      uint64_t audio);

/* Ends the viewer that record n is by that word, for others; false: it is none
 * any more. */
bool viewer_give(uint32_t n, slot_owner owner);

/* ---- the master ---- */

/* Bytes of the table for so many sessions. */
size_t viewers_size(uint32_t sessions);
/* When the arena has been made. */
void viewers_begin(void);
/* From time to time: looks at some thousand records, and ends and frees those
 * that are over.  Returns whether there are more to look at: call again soon.
 */
bool viewers_sweep(void);

#endif

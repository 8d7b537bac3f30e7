/*
 * The hub: one in each process that publishes or plays.
 *
 * It has a struct hub_stream for every stream that this process publishes or
 * plays.  Each of its players is in exactly one list there:
 *
 *   waiting   wants a frame to start at (new, paused, or fell behind)
 *   current   has all that was released, stands at hub_stream.reached
 *   behind    is served in this pass
 *   blocked   its socket is full: left alone until it is writable
 *
 * or, while there is no stream of its name, in a bucket of the hub.  New
 * frames are released (gathering: see release_due) by moving `reached` and
 * all of `current` to `behind`; a pass then sends the same ranges to all.
 *
 *   hub.c        streams of this process, and its turns
 *   publisher.c  publishers
 *   kick.c       sending sessions away
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_HUB_H
#define LIVE_HUB_H

#include "live/pass.h"
#include "live/record.h"
#include "live/stream.h"
#include "live/writer.h"

#define HUB_BUCKETS 1024

struct hub_stream {
    struct list active; /* in hub.active while `behind` has players */
    struct stream *stream;
    uint64_t generation;              /* of the record when we met it */
    struct live_publisher *publisher; /* of this process, writing */
    struct live_publisher *asking;    /* waits for another's hand-over */
    struct list waiting, current, behind, blocked;
    struct list rests;   /* struct rest */
    uint64_t reached;    /* frames before it are released to players */
    uint64_t looked;     /* frames before it were looked at */
    int64_t released_ms; /* clock_ms() of the last release */
    bool video_pending;  /* a video frame is between reached and looked */
    bool live;           /* as the players were told */
    int64_t stalls_checked_ms;
    int64_t gather; /* ms or LIVE_GATHER_AUTO */
    struct timer gather_timer;
    struct later idle; /* frees it when nobody needs it */
};

struct hub {
    struct loop *loop;
    struct io wake_io;
    struct timer stall_timer;
    struct hub_stream **streams;       /* by record number */
    struct list nameless[HUB_BUCKETS]; /* players of streams not there */
    struct list active;
    uint64_t turn; /* batches of an earlier turn are void */
    bool check_stalls;
    struct pass pass;
    struct batch own; /* for players with headers of their own */
};
extern struct hub hub;

/* Whether the record is still the stream that it was when we met it. */
bool hub_stream_valid(const struct hub_stream *hs);
/* Our view of a stream, made if need be. */
struct hub_stream *hub_adopt(struct stream *s);
bool hub_has_players(const struct hub_stream *hs);
/* Called when a player or publisher has left. */
void hub_release(struct hub_stream *hs);
/* Tells players what the stream's state is, starts those that can start. */
void hub_look(struct hub_stream *hs);
/* Releases everything up to the tail now. */
void hub_release_frames(struct hub_stream *hs);
/* There is a player in hs->behind. */
void hub_activate(struct hub_stream *hs);

/* ---- player.c ---- */
struct list *hub_bucket(struct str name);
void player_meet(struct live_player *p, struct hub_stream *hs);
void players_start(struct hub_stream *hs);
void players_tell(struct hub_stream *hs, bool live);
void players_end(struct hub_stream *hs);
/* The same, only for players that have had all frames. */
void players_leave(struct hub_stream *hs);
/* Whether a player of this process waits for a stream of that name. */
bool players_wait_for(struct str name);
/* These players have met it now. */
void players_match_name(struct hub_stream *hs);
/* Saves frames that are about to leave the arena, closes players that take
 * nothing; returns whether there are blocked players left. */
bool players_check_stalls(struct hub_stream *hs);
void players_forget_all(void);

/* ---- publisher.c ---- */
/* The stream changed hands, or another process asks for it. */
void publisher_look(struct hub_stream *hs);
/* The stream is over while a publisher of ours waits for it. */
void publisher_retry(struct hub_stream *hs);
const struct session_record *publisher_record(const struct live_publisher *p);
/* Takes the stream from it; the stream goes on hold. */
void publisher_kick(struct live_publisher *p, const char *reason);

#endif

/*
 * A player as the files of src/live see it.
 *
 *   player.c        its life, and what its session wishes
 *   player_start.c  from waiting to the first bytes
 *   player_send.c   a step of sending, and where it stands afterwards (called
 *                   by a pass: pass.c)
 *   player_stall.c  failures of its stream or its socket
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_PLAYER_H
#define LIVE_PLAYER_H

#include "live/hub.h"

struct rest;

/* Shared by the players of one connection; lives as long as one of them. */
struct turns {
    struct live_player *busy; /* has sent half of something: others keep out
                                 until it is NULL again */
    const struct live_player *last; /* who has sent last */
    unsigned holders;
};

struct live_player {
    struct list link;      /* in one list of hs, or in a bucket of the hub */
    struct hub_stream *hs; /* NULL while there is no such stream */
    struct conn *conn;     /* borrowed */
    struct turns *turns;   /* held */
    const struct live_player_handlers *handlers;
    void *arg;
    struct session_record *record;
    struct cursor at;
    const struct batch *asked; /* its send is in the ring of the pass */
    uint64_t first_frame;      /* where it started, the last time */
    uint64_t sent_frames;      /* before that */
    uint64_t not_before;       /* may start at this frame or a later one */
    int64_t blocked_ms;        /* since when its socket is full */
    int64_t gather;
    int64_t asked_ms;    /* clock_ms() of live_play() */
    uint32_t duration;   /* live_play.duration */
    uint32_t began_time; /* timestamp of the first frame it started at */
    unsigned app;        /* its place among METRIC_APPS */
    struct batch_view view;
    struct buf words;  /* of the session, for the next boundary */
    struct rest *rest; /* live/rest.h; NULL: its frame is in the arena */
    struct list in_rest;
    uint32_t rest_done; /* bytes of that frame that went out */
    bool started;       /* on_start was called */
    bool waiting;       /* wants a frame to start at */
    bool unbroken;      /* waits, and has had all before `at`: it may go on
                           there when no later start has come */
    bool early;         /* came before there was one */
    bool paused;
    bool gop_cache;
    bool stopped;            /* freed at the end of the turn */
    struct debug_mark debug; /* player_debugged() */
    struct later destroy;
};

enum sent {
    SENT_ALL,     /* stands at hs->reached */
    SENT_SOME,    /* the socket takes more: go on in the next pass */
    SENT_BLOCKED, /* the socket is full */
    SENT_WAITS,   /* wants a frame to start at */
    SENT_ASKED,   /* the pass makes its send, and puts it in its list */
    SENT_GONE,    /* stopped */
};

/* Whether it stands inside a frame. */
bool player_mid_frame(const struct live_player *p);
/* Whether another NetStream of its connection stands inside a frame. */
bool player_shut_out(const struct live_player *p);
/* Calls on_turn of its session when another player of its connection has sent
 * last; at a frame's boundary. false: it was stopped. */
bool player_take_turn(struct live_player *p);
/* Whether the operator wants all lines about its client or its stream. */
static inline bool
player_debugged(struct live_player *p)
{
    return debug_wanted(&p->debug, &p->record->peer, record_name(p->record));
}
/* Payload bytes that went out. */
static inline void
player_count(struct live_player *p, uint64_t video, uint64_t audio)
{
    record_count(p->record, loop_now(hub.loop), video, audio);
}

/* No stream has its name: it waits for one, and gets it from the start. */
void player_await_name(struct live_player *p);
/* Out of all lists and counters; freed at the end of the turn. */
void player_forget(struct live_player *p);
/* Forgets it and tells its session. */
void player_stop(struct live_player *p, const char *reason);
/* The same with a line in the log; always SENT_GONE. */
enum sent player_lose(struct live_player *p, const char *reason);
/* The same for a connection that failed. */
enum sent player_break(struct live_player *p);

/* ---- player_send.c ---- */
/* At most one send to a player that is in no list. */
enum sent player_step(struct live_player *p);
/* The socket took n bytes of a batch. */
enum sent player_sent(struct live_player *p, const struct batch *b, size_t n);
/* Puts a player, which is in no list, into its list after a step. */
void player_file(struct live_player *p, enum sent sent);
/* The same, and counts it as too slow instead of broken. */
enum sent player_too_slow(struct live_player *p, const char *reason);

#endif

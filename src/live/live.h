/*
 * Live streams in shared memory: what publishers and players use.
 *
 * A stream lies once in the arena (live/arena.h).  Its publisher, in whatever
 * process, appends frames; players in all processes read the same bytes
 * through cursors.  Each process has one hub, which is woken for new frames,
 * sends them to its own players and takes part in giving memory back.
 *
 * Nothing here knows RTMP or HTTP sessions: they hold a live_publisher or a
 * live_player, which calls them back.
 *
 *   sweep.c  the arena as the master sees to it
 *   view.c   looking from outside
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_LIVE_H
#define LIVE_LIVE_H

#include "base/errmsg.h"
#include "event/loop.h"
#include "media/describe.h"
#include "net/access.h"
#include "net/conn.h"
#include "proc/slot.h"
#include "proc/tally.h"

#define LIVE_NAME_MAX 256 /* bytes of "app/name", NUL included */
#define LIVE_URL_MAX 1024 /* of an address in statistics, NUL included */
/* The largest values of live.hold and live.window, ms. */
#define LIVE_HOLD_MAX (INT64_C(24) * 3600 * 1000)
#define LIVE_WINDOW_MAX (INT64_C(600) * 1000)
#define LIVE_KICK_MAX (INT64_C(24) * 3600 * 1000) /* of live.kick_time, ms */
#define LIVE_GATHER_AUTO (-1)
/* live.max_stream_memory where it is not told, bytes. */
#define LIVE_STREAM_MEMORY (INT64_C(32) * 1024 * 1024)
/* In place of a slot: the session belongs to no process (live/viewer.h). */
#define LIVE_NO_SLOT SLOT_MAX

/* The "live" block of weir.conf. */
struct live_settings {
    int64_t memory; /* bytes of the arena */
    int64_t max_streams;
    int64_t max_sessions;      /* publishers and players at once */
    int64_t history_streams;   /* streams whose speeds are kept
                                  (live/history.h) */
    int64_t window;            /* ms kept for players that fall behind */
    int64_t max_stream_memory; /* bytes; LIVE_STREAM_MEMORY: at most memory */
    int64_t hold;              /* ms a stream outlives its publisher */
    int64_t gather;            /* ms, or LIVE_GATHER_AUTO */
    int64_t kick_time;         /* ms that a kicked viewer is refused */
    bool io_uring;             /* sends of a pass in few system calls */
};

/* ---- the arena: master, before any fork ---- */

int live_create(const struct live_settings *s, struct errmsg *err);
void live_destroy(void);
/* Master: gives back what a dead process owned; streams it published go on
 * hold. */
void live_sweep(uint32_t slot);
/* Master: watches the arena on its loop: ends streams whose hold is over. */
int live_master_start(struct loop *l, struct errmsg *err);
void live_master_stop(void);
/* Master: the longest hold and window, ms, that a generation has.  A stream
 * whose record tells of more is kept no longer than the longest so far: streams
 * of older generations go on by theirs. */
void live_master_allow(int64_t hold, int64_t window);

/* ---- the hub: one in each process that reads or writes the arena ---- */

/* Hooks itself into the loop (loop_set_hooks). */
int live_hub_start(struct loop *l, const struct live_settings *s,
                   struct errmsg *err);
void live_hub_stop(void);

/* How a session came to be. */
enum live_kind {
    LIVE_KIND_RTMP,  /* a client over RTMP */
    LIVE_KIND_RTMPS, /* the same over TLS, here or with a proxy */
    LIVE_KIND_FLV,   /* a client over HTTP-FLV */
    LIVE_KIND_WS,    /* a client of FLV over WebSocket */
    LIVE_KIND_PULL,  /* publishes a stream that a relay plays elsewhere */
    LIVE_KIND_PUSH,  /* plays a stream that a relay publishes elsewhere */
    LIVE_KIND_HLS,   /* a client that asks for playlists (live/viewer.h) */
    LIVE_KIND_MP4,   /* a client of MP4 without an end, a viewer like that */
    LIVE_KINDS
};
const char *live_kind_name(enum live_kind kind); /* "rtmp" */

/* ---- publishing ---- */

struct live_publisher;

enum live_conflict { LIVE_REPLACE, LIVE_REFUSE };

#define LIVE_LADDER_MAX 8u  /* streams in a ladder */
#define LIVE_SUFFIX_MAX 32u /* of a suffix, NUL included */

/* Streams that are the same content in several qualities (live/ladder.h): how
 * the names of the members end, the first one leads. */
struct live_ladder {
    uint32_t count; /* 0: there is no ladder */
    char suffixes[LIVE_LADDER_MAX][LIVE_SUFFIX_MAX];
};

/* Where a stream is cut (live/cuts.h), ms; segment 0: nowhere. */
struct live_cut_rules {
    uint32_t segment, max_segment, part;
    bool strict_keys; /* no segment begins without a key frame: a longer group
                         of pictures than max_segment ends the offer */
    struct live_ladder ladder; /* of which the stream may be a member */
};

/* Bytes of a chunk of RTMP, as settings allow them. */
#define LIVE_CHUNK_MIN 128u
#define LIVE_CHUNK_MAX 0xffffffu

struct live_publish {
    struct str name; /* "app/name" */
    struct str url;  /* for statistics, no secrets; at least 768 bytes of it
                        are kept, LIVE_URL_MAX - 1 at most */
    struct addr peer;
    enum live_kind kind;
    uint32_t stream_id; /* RTMP message stream id */
    enum live_conflict conflict;
    uint32_t chunk_size;        /* wire layout of a stream made new */
    int64_t hold;               /* ms; of this application */
    struct live_cut_rules cuts; /* of this application, for a stream made new */
};

struct live_publisher_handlers {
    /* The name is this publisher's: frames may be written. */
    void (*on_start)(void *arg);
    /* The publisher cannot have the name, or has lost it (replaced, kicked,
     * codec headers that change too often): reason for the peer and the log.
     * The publisher is freed when this is called. */
    void (*on_stop)(void *arg, const char *reason);
};

/* Asks for the name; exactly one of the handlers is called, perhaps before
 * this returns, perhaps later (another process has to let go of it).
 * NULL with err when it is refused at once: no handler is called then. */
struct live_publisher *live_publish(const struct live_publish *p,
                                    const struct live_publisher_handlers *h,
                                    void *arg, struct errmsg *err);

/* Appends one message.  It drops repeated identical metadata and makes
 * timestamps continue those of an earlier publisher. 0; -1 if the frame was
 * dropped (no memory: it is counted, and the stream goes on with the next key
 * frame). */
int live_write(struct live_publisher *p, enum media_type type,
               uint32_t timestamp, const uint8_t *payload, size_t len);

/* The publisher leaves: the stream goes on hold.  No handler is called. */
void live_unpublish(struct live_publisher **p);

/* ---- playing ---- */

struct live_player;

enum live_framing {
    LIVE_RTMP,
    LIVE_FLV,
    LIVE_FLV_WS, /* FLV in messages of a WebSocket: each tag is one */
};

struct live_play {
    struct str name; /* "app/name" */
    struct str url;  /* as in live_publish; secrets masked by the caller */
    struct addr peer;
    enum live_kind kind;
    enum live_framing framing;
    uint32_t stream_id; /* RTMP message stream id; 1 for FLV */
    /* RTMP: we are the publisher of that connection, so "@setDataFrame" goes
     * before metadata. */
    bool set_data_frame;
    int64_t gather;    /* ms or LIVE_GATHER_AUTO; of the application */
    bool gop_cache;    /* start at the last key frame, not at the next */
    uint32_t duration; /* ms of the stream, then it is stopped; 0: all of it */
    struct conn *conn; /* borrowed: outlives the player */
    /* Another player of that connection; NULL: there is none. */
    const struct live_player *beside;
};

struct live_player_handlers {
    /* A publisher is there and the first bytes are about to be sent: the
     * session now sends its own messages with conn_write() (RTMP: chunk_size is
     * that of the media, which the peer must learn; else the answer's head). */
    void (*on_start)(void *arg, uint32_t chunk_size);
    /* The publisher left (stream on hold) / another one came. */
    void (*on_hold)(void *arg);
    void (*on_resume)(void *arg);
    /* The stream is over, or the player was too slow or kicked.  The player
     * is gone when this is called; close is true when the connection must
     * be closed (it stands in the middle of a frame). */
    void (*on_stop)(void *arg, const char *reason, bool close);
    /* It sends again after another player of the connection did; its chunks
     * have that size.  NULL: the connection has one player only. */
    void (*on_turn)(void *arg, uint32_t chunk_size);
};

/* Waits for the stream if there is none.  NULL with err (too many). */
struct live_player *live_play(const struct live_play *p,
                              const struct live_player_handlers *h, void *arg,
                              struct errmsg *err);
void live_stop_playing(struct live_player **p);
/* Reasons in on_stop: the stream has ended; the player has had its duration. */
#define LIVE_OVER "the stream is over"
#define LIVE_PLAYED "played as long as it wanted"

/* The session's conn_handlers.on_writable calls it for its players. */
void live_player_writable(struct live_player *p);
/* The player of its connection, itself or another, that has sent a part of a
 * message: the other players and the session's messages wait for it.  NULL:
 * none. */
struct live_player *live_player_busy(const struct live_player *p);
/* Messages of the session, in order with the media: sent at once or at the next
 * frame boundary. 0; -1: no room to keep them (close). */
int live_player_say(struct live_player *p, const void *data, size_t n);

/* Media that were sent to the player: payloads of audio and video, frames. */
struct live_sent {
    uint64_t bytes, frames;
};
void live_player_sent(const struct live_player *p, struct live_sent *sent);

void live_player_pause(struct live_player *p, bool pause);
void live_player_receive(struct live_player *p, enum media_type type, bool on);

/* ---- looking (statistics, console, tests) ---- */

/* Whether "app/name" has a publisher now. */
bool live_is_live(struct str name);
/* The same, or is on hold for one to come back. */
bool live_is_there(struct str name);

/* The name of the next stream that is live, at or behind position *at (0 at
 * first), which is moved past it; false behind the last. */
bool live_next_name(uint32_t *at, char name[LIVE_NAME_MAX]);

struct live_stream_view {
    char name[LIVE_NAME_MAX];
    bool live; /* a publisher is there; else on hold */
    uint8_t video_codec, audio_codec;
    uint64_t frames, bytes; /* appended since the start */
    /* As in live_session_view, of all its publishers. */
    uint64_t video_bytes, audio_bytes, video_speed, audio_speed;
    uint64_t dropped; /* frames for which there was no memory */
    uint64_t skipped; /* frames that its present players were too slow for */
    uint32_t memory;  /* bytes of the arena it holds */
    uint32_t players;
    struct media_video video;    /* codec CODEC_NONE: no picture, or */
    struct media_audio audio;    /* no sound */
    uint32_t fps;                /* as measured, thousandths; 0: not yet */
    uint32_t gop_ms, gop_frames; /* of the last whole one; 0: none */
    uint64_t key_frames;
    struct addr publisher; /* AF_UNSPEC: none, or unknown */
    /* Of the publisher's session; owner 0: there is none. */
    slot_owner publisher_owner;
    uint64_t publisher_id;
    enum live_kind publisher_kind;
    int64_t started_ms;
};

struct live_session_view {
    uint64_t id;      /* serial number: no two at once have the same */
    slot_owner owner; /* process that holds it; of a viewer LIVE_NO_SLOT */
    bool publisher;
    bool asking; /* a publisher that has not got the name yet */
    enum live_kind kind;
    char name[LIVE_NAME_MAX];
    char url[LIVE_URL_MAX];
    struct addr peer;
    uint32_t stream_id;
    /* Message payloads, codec headers included: of a publisher all that was
     * received (frames for which there was no memory, too), of a player whole
     * messages that were sent.  Data messages count for neither. */
    uint64_t video_bytes, audio_bytes;
    uint64_t video_speed, audio_speed; /* bit/s over the last 5 s */
    uint64_t dropped;                  /* frames skipped */
    int64_t started_ms;
};

/* Viewers: players that belong to no process. */
uint32_t live_count_viewers(void);
/* Calls it for each, with the name of its stream. */
void live_each_viewer(void (*on_viewer)(void *arg, struct str name,
                                        enum live_kind kind),
                      void *arg);
/* Streams with a publisher, and on hold. */
void live_count_streams(uint32_t *live, uint32_t *hold);

/* Call on_view for each; stops when it returns false. */
void live_each_stream(bool (*on_view)(void *arg,
                                      const struct live_stream_view *v),
                      void *arg);
void live_each_session(bool (*on_view)(void *arg,
                                       const struct live_session_view *v),
                       void *arg);

/* The same a piece at a time, for callers that must not take long: the next one
 * at or behind position *at (0 at first), which is moved past it; false behind
 * the last.  Sessions that come or go between two calls may be missed. */
bool live_next_session(uint32_t *at, struct live_session_view *v);
struct live_tally; /* sessions of each stream, counted at one moment */
struct live_tally *live_tally_new(void);
void live_tally_free(struct live_tally **t);
bool live_next_stream(const struct live_tally *t, uint32_t *at,
                      struct live_stream_view *v);

/* ---- sending sessions away ---- */

struct live_kick {
    uint32_t slot, serial; /* one session: serial is not 0 */
    struct str name;       /* else those of a stream, if not empty */
    bool publishers, players;
    const struct access_list *from; /* else those whose peer it allows */
};

bool live_kick_means(const struct live_kick *k,
                     const struct live_session_view *v);
/* Ends the sessions of this process that k means, with reason LIVE_KICKED in
 * their handlers' on_stop.  Returns how many. */
unsigned live_kick(const struct live_kick *k);
/* Master: the same with the viewers that belong to no process; each is refused
 * for kick_time, ms. */
unsigned live_kick_viewers(const struct live_kick *k, int64_t kick_time);
#define LIVE_KICKED "kicked by the operator"

/* Pools that clients share (net/share.h), for the master to register. */
extern struct tally_pool live_pools[];

struct live_memory_view {
    uint64_t segments, used, retired;
    uint32_t segment_size;
    uint32_t streams, sessions;
};
void live_memory(struct live_memory_view *v);

#endif

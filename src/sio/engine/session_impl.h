/*
 * Shared by the files of this folder: the engine, a session's insides.
 *
 * A session is SESSION_OPEN until it ends; then on_close was called.  It is
 * SESSION_CLOSING while its transport still gives what waits to the client, and
 * SESSION_GONE until the end of the turn, when it is freed.
 *
 *     session_new -> OPEN -> (ENDING) -> session_end -> CLOSING -> GONE
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef SIO_ENGINE_SESSION_IMPL_H
#define SIO_ENGINE_SESSION_IMPL_H

#include "base/list.h"
#include "proc/metric.h"
#include "sio/engine/engine.h"
#include "sio/engine/queue.h"

#define ENGINE_PREFIX 12 /* characters of id_prefix, at most */
#define ENGINE_RANDOM 16 /* characters behind it, of six random bits each */

/* How long a client may take what waits when its session has ended. */
#define POLLING_LINGER_MS 30000
#define WEBSOCKET_LINGER_MS 5000
#define NOOP_MS 100 /* a poll waits no longer during an upgrade */
/* Bytes of a poll's answer; a single packet may be longer. */
#define POLLING_ANSWER_MAX ((size_t)256 * 1024)

struct engine {
    struct loop *loop;       /* borrowed */
    struct ws_host *ws_host; /* borrowed */
    char prefix[ENGINE_PREFIX + 1];
    size_t sessions_max;
    uint8_t key[16];          /* of the table's hash, random */
    struct session **buckets; /* owned; by id; a power of two */
    size_t bucket_count;
    size_t count;            /* in the table */
    size_t open;             /* of them SESSION_OPEN */
    struct list sessions;    /* all, in the order of their numbers */
    struct list postings;    /* of them, those whose POST goes on */
    struct timer post_timer; /* of the first one */
    struct list fresh; /* of them, those that the client has not used yet */
    uint64_t last_number;
    struct ws_frame *ping, *probe_answer; /* held */
};

enum session_stage {
    SESSION_OPEN,
    SESSION_ENDING, /* it ends at the end of the turn */
    SESSION_CLOSING,
    SESSION_GONE
};

/* A WebSocket that wants to become the session's transport. */
struct upgrade {
    struct ws *ws;
    enum packet_form form;
    int64_t due;      /* the client has until then */
    int64_t noop_due; /* the next noop for a poll that waits */
    bool probed;
};

struct session_state {
    struct engine *engine;
    struct session *next;         /* in its bucket */
    struct list link;             /* of the engine's sessions */
    struct list fresh;            /* in the engine's */
    struct timer timer;           /* the only one: see session_set_timer() */
    struct later later;           /* to flush, to end, to be freed */
    struct queue queue;           /* what waits */
    size_t noted;                 /* bytes of it in the metric */
    struct ws *ws;                /* NULL: polling, or not adopted yet */
    struct upgrade *upgrade;      /* owned; NULL: none goes on */
    struct engine_exchange *get;  /* a poll that waits; NULL: none */
    struct engine_exchange *post; /* a POST that goes on; NULL: none */
    struct str rest;              /* of its body */
    struct list posting;          /* in the engine's */
    /* As its client was told: a reload does not change them. */
    int64_t ping_interval, ping_timeout;
    int64_t due; /* OPEN: next ping, or its answer's end;
                    CLOSING: the end */
    enum session_stage stage;
    enum session_end why; /* from ENDING on */
    bool awaits_pong;
    bool takes_post;  /* packets of `post` are taken now */
    bool awaits_room; /* on_room is owed */
    bool websocket;   /* its transport; ws follows when it is adopted */
};

/* A session lies in one piece. */
struct session_block {
    struct session session;
    struct session_state state;
    char user[]; /* of the client */
};

static inline struct session *
session_of(struct session_state *state)
{
    return &LIST_ITEM(state, struct session_block, state)->session;
}

/* ---- engine.c ---- */

/* Writes a new id; it has room for ENGINE_ID + 1. */
void engine_draw_id(const struct engine *e, char *id);
/* Gives s its number and its places; engine_remove() takes it off the table. */
void engine_add(struct engine *e, struct session *s);
void engine_remove(struct engine *e, struct session *s);
/* The session that a request names, open or closing: of its endpoint and its
 * user.  NULL: there is none. */
struct session *engine_find_asked(const struct engine *e,
                                  const struct engine_request *r);

/* ---- admit.c ---- */

/* Counts a session for the client of r, where it may have one.  ENGINE_OK:
 * engine_add() takes it over, or engine_give_up() gives it back. */
enum engine_error engine_admit(struct engine *e,
                               const struct engine_request *r);
void engine_give_up(const struct engine_request *r);
/* Its client has come again. */
void engine_used(struct session *s);

/* ---- session.c ---- */

/* With the open packet in its queue.  It was admitted; NULL: memory is out, and
 * that was given up. */
struct session *session_new(struct engine *e, const struct engine_request *r,
                            bool websocket);
/* Begins the heartbeat, calls on_open. */
void session_open(struct session *s);
/* A packet in text of the client.  False: it is none, or out of place; s is as
 * it was. */
bool session_take(struct session *s, struct str text);
void session_take_binary(struct session *s, struct str data);
/* Ends it, if it was open: on_close, then the transport's end. */
void session_end(struct session *s, enum session_end why);
/* The same at the end of the turn, if it is open: the caller may be walking its
 * sessions.  Nothing can be sent any more, what waits is dropped. */
void session_end_later(struct session *s, enum session_end why);
/* Its transport has nothing more to do: it is freed at the end of the turn. */
void session_gone(struct session *s);
void session_free(struct session *s);
/* Calls on_room if it is owed and due. */
void session_tell_room(struct session *s);
/* Its transport is a WebSocket from now on. */
void session_leave_polling(struct session *s, enum packet_form form);
/* Sets the timer to what comes first. */
void session_set_timer(struct session *s);
/* Whether its client still gets what waits. */
bool session_is_graceful(enum session_end why);
/* Counts a packet of the client's or ours, and what waits. */
void session_count(struct session *s, enum metric_dir dir, size_t bytes);
void session_note_queue(struct session *s);

/* ---- polling.c ---- */

/* Answers the poll that waits, if there is one, with what waits for it. */
void polling_flush(struct session *s);
/* s has ended. */
void polling_finish(struct session *s);
/* Answers the poll that waits with that packet. */
void polling_release(struct session *s, struct str packet);

/* Answers with an error. */
void polling_refuse(struct engine_exchange *x, enum engine_error e);

/* ---- posting.c ---- */

/* Takes the packets of a POST, now or with turns to come, and answers x. */
void posting_take(struct session *s, struct str payload,
                  struct engine_exchange *x);
void posting_go_on(struct timer *timer); /* the engine's */
/* The client of x has gone, and so s ends; false: x is no POST that goes on. */
bool posting_gone(struct session *s, const struct engine_exchange *x);
/* s has ended, or all is taken: a POST that goes on is answered. */
void posting_end(struct session *s);

/* ---- websocket.c ---- */

/* Sends at once; false: there is no room, or the session ends later, as there
 * is no memory. */
bool websocket_send(struct session *s, struct ws_frame *f);
void websocket_flush(struct session *s);
/* s has ended. */
void websocket_finish(struct session *s);
/* Closes it, whatever waits. */
void websocket_drop(struct session *s);
/* A deadline of the upgrade may be due. */
void websocket_tick(struct session *s, int64_t now);
/* How a client that asks so gets binary packets. */
enum packet_form websocket_form(const struct engine_query *q);
/* The session goes on, or ends, without its upgrade. */
void websocket_end_upgrade(struct session *s, const char *why);

#endif

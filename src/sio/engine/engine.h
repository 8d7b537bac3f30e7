/*
 * Engine.IO v4: sessions over polling and WebSocket, in the process that owns
 * them (the channel).
 *
 *     engine_poll(), engine_upgrade() <- requests that workers forwarded
 *            |
 *     polling.c   websocket.c    transports: how packets travel
 *            \     /
 *          session.c             one client: queue, heartbeat, upgrade, end
 *              |
 *     struct engine_protocol     what messages mean: Socket.IO (sio/), or a
 *                                module's own
 *
 * A session's packets wait in its queue, shared frames of ws/frame.h, until its
 * transport takes them.  The queue has a bound.  When it is reached, the
 * protocol may drop what it can tell again; else the session ends.
 *
 *   engine.c   the table of sessions
 *   admit.c    shares of clients
 *   query.c    what a request asks for, errors
 *   session.c  a session
 *   polling.c, posting.c (what a POST brings), websocket.c
 *
 * Protocol: engine.io-protocol, revision 4.  Times are ms, sizes bytes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef SIO_ENGINE_ENGINE_H
#define SIO_ENGINE_ENGINE_H

#include "base/buf.h"
#include "net/share.h"
#include "ws/ws.h"

#define ENGINE_ID 28 /* characters of a session id, at most */

struct engine;  /* all sessions of the process */
struct session; /* one of them */

/* Why a session ends; each has a cell in a metric. */
enum session_end {
    SESSION_CLIENT_CLOSED,  /* it said so, or closed its transport */
    SESSION_TRANSPORT_LOST, /* the connection broke */
    SESSION_PING_TIMEOUT,
    SESSION_PARSE_ERROR,   /* what it sent is no packet, or out of place */
    SESSION_TOO_SLOW,      /* its queue was full */
    SESSION_NOT_JOINED,    /* no namespace within connect_timeout */
    SESSION_SERVER_CLOSED, /* a module said so */
    SESSION_KICKED,        /* the operator said so */
    SESSION_REFUSED,       /* there are too many */
    SESSION_ENDPOINT_GONE, /* a reload took the endpoint away */
    SESSION_STOPPING,      /* weir drains or stops */
    SESSION_ENDS
};
const char *session_end_text(enum session_end why); /* "ping timeout" */

/* Of an endpoint; borrowed as long as sessions of it live. */
struct engine_settings {
    int64_t ping_interval, ping_timeout;
    int64_t upgrade_timeout;
    size_t max_payload; /* of what a client sends at once */
    /* Of what waits for a client, as the client gets it: base64 and headers
     * count; each frame counts at least 64. */
    size_t max_queue;
    bool polling, websocket; /* transports that are allowed */
    bool deflate;
};

/* A protocol that runs over sessions.  Each may be NULL. */
struct engine_protocol {
    void (*on_open)(struct session *s);
    /* A message packet (type 4); data is borrowed for the call.  Text is valid
     * UTF-8.  It may send, and end the session. */
    void (*on_message)(struct session *s, struct str data, bool binary);
    /* The session is over: nothing can be sent, s is freed after the call. */
    void (*on_close)(struct session *s, enum session_end why);
    /* The queue has no room for a message of session_send(): the protocol may
     * make some by session_drop().  It sends nothing. */
    void (*on_full)(struct session *s);
    /* session_await_room() is answered.  It may send, and end the session. */
    void (*on_room)(struct session *s);
};

/* Of a message that waits. */
struct engine_mark {
    uint64_t key;   /* the newest of a key replaces an older one; 0: none */
    uint32_t group; /* session_drop() drops those of a group; 0: none */
    uint32_t bits;  /* the protocol's, told when it is dropped */
};

/* A client as its first request told: the worker checked it against the
 * filters of its location. */
struct engine_client {
    struct addr address;
    struct tally_holder holder; /* by which its sessions are counted */
    bool secure;
    struct str user;     /* authenticated; may be empty */
    uint32_t generation; /* of the worker that let it in */
};

struct session {
    char id[ENGINE_ID + 1];      /* a secret of the client */
    struct engine_client client; /* its texts are the session's */
    const struct engine_settings *settings;
    const struct engine_protocol *protocol;
    void *endpoint;    /* the caller's, as given with the first request */
    void *user;        /* the protocol's own */
    uint64_t number;   /* 1, 2, ...: it names the session where it is shown */
    int64_t opened_ms; /* loop_now() */
    uint64_t packets[2], bytes[2]; /* totals, by enum metric_dir */
    struct session_state *state;   /* session.c's */
};

/* id_prefix: names this node and this start of the process in every id (at
 * most 12 characters, base64url), so that the ids of others are unknown
 * here. */
struct engine *engine_new(struct loop *l, struct ws_host *ws,
                          const char *id_prefix, size_t sessions_max);
/* Ends all sessions. */
void engine_free(struct engine **e, enum session_end why);
size_t engine_sessions(const struct engine *e);
extern struct tally_pool engine_pools[]; /* for the master to register */
/* In the order of their numbers; each may end the session that it is given. */
void engine_each(struct engine *e, void (*each)(void *arg, struct session *s),
                 void *arg);
/* Ends all that have not ended, those of an endpoint or, with NULL, all; also
 * those that would end at the end of this turn.  Nothing looks at the endpoint
 * any more. */
void engine_end_all(struct engine *e, const void *endpoint,
                    enum session_end why);
struct session *engine_find(struct engine *e, struct str id);

/* ---- requests ---- */

/* The errors of requests: code and text of the protocol. */
enum engine_error {
    ENGINE_TRANSPORT_UNKNOWN,
    ENGINE_SESSION_UNKNOWN,
    ENGINE_BAD_METHOD,
    ENGINE_BAD_REQUEST,
    ENGINE_FORBIDDEN,
    ENGINE_BAD_VERSION,
    ENGINE_FULL,  /* too many sessions: no error of the protocol, */
    ENGINE_SHARE, /* nor is this: its client has its share of them */
    ENGINE_OK
};
/* Of the answer: 400; 403 for ENGINE_FORBIDDEN, 503 for ENGINE_FULL and
 * ENGINE_SHARE. */
int engine_error_status(enum engine_error e);
/* {"code":N,"message":"..."} */
struct str engine_error_body(enum engine_error e);
/* "Session ID unknown": of a refused upgrade. */
const char *engine_error_text(enum engine_error e);

/* The query of a request, as sent: each may be empty.  Both the worker, which
 * refuses what needs no session, and the channel look at it. */
struct engine_query {
    struct str eio, transport, sid;
    bool base64; /* b64: binary as text on a WebSocket as well */
};

/* Checks what needs no session, in the order of the reference server.
 * ENGINE_OK: go on.  is_upgrade: it asks for a WebSocket. */
enum engine_error engine_check_query(const struct engine_query *q,
                                     struct str method, bool is_upgrade);

/* A request of the polling transport. */
struct engine_request {
    struct str method; /* GET, POST, others are refused */
    struct engine_query query;
    struct str content_type; /* of a POST */
    struct str body;         /* borrowed until the answer, or its end */
    struct engine_client client;
    const struct engine_settings *settings;
    const struct engine_protocol *protocol;
    void *endpoint;
};

/* Where its answer goes: the caller's, until answer() or engine_poll_gone(). */
struct engine_exchange {
    /* Called once, perhaps within engine_poll(); body is borrowed for the call.
     * type is static. */
    void (*answer)(struct engine_exchange *x, int status, const char *type,
                   struct str body);
    /* The engine's. */
    struct session *session; /* that holds it; NULL: none */
    bool opened; /* the answer opens `session`: Set-Cookie may go along */
};

void engine_poll(struct engine *e, const struct engine_request *r,
                 struct engine_exchange *x);
/* The client of a held request has gone. */
void engine_poll_gone(struct engine *e, struct engine_exchange *x);

/* A request for a WebSocket with connection c, which it takes over: opens a
 * session, or begins the upgrade of one.  Any other result is the refusal:
 * nothing was sent, c is still the caller's. */
enum engine_error engine_upgrade(struct engine *e,
                                 const struct engine_request *r, struct conn *c,
                                 const struct ws_handshake *h);

/* ---- sessions ---- */

/* Queues a message: for a text f begins with the packet's type '4', a binary f
 * has none.  f may be let go at once.  A key other than 0 replaces the frame of
 * that key that still waits: the older one is dropped, the new one is the last.
 * -1: the session has ended, or ends because its queue is full: then on_close
 * is called at the end of this turn, so that callers can walk their sessions.
 */
int session_send(struct session *s, struct ws_frame *f, uint64_t key);
/* The same for a message of a group, which the protocol can tell again: if the
 * queue has no room for it, nothing happens, and the result is 1. */
int session_offer(struct session *s, struct ws_frame *f,
                  const struct engine_mark *mark);
/* Drops messages of that group that wait; returns all their bits. */
uint32_t session_drop(struct session *s, uint32_t group);
/* on_room is called once, at the end of this turn or later, when the client has
 * taken all that was sent and takes more. */
void session_await_room(struct session *s);
/* Bytes that wait, over all transports. */
size_t session_queued(const struct session *s);
bool session_is_websocket(const struct session *s);
/* Whether all that it was sent was taken: nothing waits, and the socket has no
 * part of a frame left to take. */
bool session_is_idle(const struct session *s);
/* Whether f still waits, or a part of it; looks at all that waits. */
bool session_holds(const struct session *s, const struct ws_frame *f);
/* Ends it: on_close is called at once, and settings, protocol and endpoint are
 * not looked at any more; the transport still sends what waits, as far as the
 * client takes it.  connect_timeout is watched by the protocol. */
void session_close(struct session *s, enum session_end why);

#endif

/*
 * WebSocket connections (RFC 6455), the server's side.
 *
 * The worker reads and judges the client's request (http/websocket.h) and gives
 * the connection away.  ws_adopt() then says 101, from the key alone.  From
 * there on the layer puts fragments together, answers pings, refuses what
 * RFC 6455 forbids, and closes with the code that the standard has for a
 * violation.
 *
 * No library does this.  libwebsockets 4.1.6 takes frames without a mask,
 * lengths in more bytes than they need, closes of one byte and with codes that
 * there are not, and it has no place where another could look first; its
 * permessage-deflate stalls and keeps 228 KB a connection; and it copies for
 * each client what the socket did not take of a message that thousands share.
 *
 * A message is sent at once, or not at all: the caller keeps what waits, as it
 * alone knows what may be dropped.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef WS_WS_H
#define WS_WS_H

#include "base/errmsg.h"
#include "event/loop.h"
#include "net/conn.h"
#include "ws/frame.h"

struct ws_host; /* all connections of the process */
struct ws;      /* a connection */

/* Codes of a close (RFC 6455 7.4.1). */
enum {
    WS_NORMAL = 1000,
    WS_GOING_AWAY = 1001,
    WS_PROTOCOL = 1002,
    WS_UNSUPPORTED = 1003,
    WS_NONE = 1005,     /* the peer gave no code */
    WS_ABNORMAL = 1006, /* the connection broke */
    WS_NOT_UTF8 = 1007,
    WS_POLICY = 1008,
    WS_TOO_BIG = 1009,
    WS_INTERNAL = 1011,
    WS_TRY_LATER = 1013,
};

struct ws_limits {
    unsigned connections; /* of the process, at most */
    unsigned deflated;    /* of them with permessage-deflate, at most */
    /* Bytes of messages that are not whole yet, over all connections: the one
     * that holds most is closed with WS_TRY_LATER when there would be more. */
    size_t unfinished;
};

struct ws_handlers {
    /* A whole message; data is borrowed for the call.  The handler may send and
     * close. */
    void (*on_message)(void *arg, struct str data, bool binary);
    /* ws_send() was refused, and may succeed now. */
    void (*on_room)(void *arg);
    /* The connection is over, by whomever: *w is not valid any more.  Called
     * once, never within ws_adopt(). reason: the peer's or ours, may be
     * empty. */
    void (*on_close)(void *arg, unsigned code, struct str reason);

    /* The rest is for an owner that sends messages to the connection itself,
     * past ws_send(); it is NULL for others.  The socket is writable again. */
    void (*on_writable)(void *arg);
    /* Sends bytes between two messages, now or later. 0; -1: there is no room
     * for them, and the connection ends. */
    int (*say)(void *arg, const void *data, size_t n);
    /* The connection is ending: the owner sends the rest of the message under
     * way with conn_write() or closes the connection, and sends no more. */
    void (*on_ending)(void *arg);
};

struct ws_handshake {
    struct str key;      /* Sec-WebSocket-Key as the client sent it */
    bool deflate;        /* the client offers it, in a form that we take */
    size_t message_max;  /* bytes of a message, after inflation; a longer one
                            ends the connection with WS_TOO_BIG */
    size_t deflate_from; /* shorter messages are not compressed */
};

struct ws_host *ws_host_new(struct loop *l, const struct ws_limits *limits);
/* Ends what is left, without words: each on_close is called. */
void ws_host_free(struct ws_host **host);

/* Whether ws_adopt() would refuse for the number of connections. */
bool ws_host_is_full(const struct ws_host *host);

/* Takes over c, whose client asked for an upgrade: says 101, and reads on from
 * what c has unread.  c goes with the connection.  NULL with err: there are too
 * many, or the client has gone; c is closed. */
struct ws *ws_adopt(struct ws_host *host, struct conn *c,
                    const struct ws_handshake *h,
                    const struct ws_handlers *handlers, void *arg,
                    struct errmsg *err);
void ws_set_handlers(struct ws *w, const struct ws_handlers *handlers,
                     void *arg);

/* Sends f; it may be let go at once.  False: there is no room, on_room will be
 * called; nothing was sent. */
bool ws_send(struct ws *w, struct ws_frame *f);
/* Whether ws_send() would take a message now.  False: on_room will be called.
 */
bool ws_has_room(struct ws *w);
/* Whether ws_send() has taken f, but the socket only a part of it yet. */
bool ws_is_sending(const struct ws *w, const struct ws_frame *f);
/* Whether there is a frame of which that is true. */
bool ws_is_busy(const struct ws *w);
/* Reads what has come already, as if the loop had seen it: w may be over
 * behind it. */
void ws_look(struct ws *w);
/* Sends a close with that code and a reason of at most 123 bytes, waits for the
 * peer's (5 s at most), then calls on_close.  No message is given or sent any
 * more.  Idempotent. */
void ws_close(struct ws *w, unsigned code, const char *reason);

#endif

/*
 * Shared by the parts of the WebSocket layer.
 *
 *   adopt.c    the handshake, and all connections of the process
 *   ws.c       a connection: its end
 *   receive.c  frames of the peer
 *   send.c     frames of ours
 *   deflate.c  permessage-deflate
 *   frame.c    messages
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef WS_WS_IMPL_H
#define WS_WS_IMPL_H

#include "base/buf.h"
#include "base/list.h"
#include "net/ws_head.h"
#include "ws/ws.h"

/* Frames (RFC 6455 5.2): the first byte, the second. */
enum { CONTINUATION = 0, TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10 };
enum { FIN = 0x80, RESERVED = 0x70, RSV1 = 0x40, OPCODE = 0x0f };
enum { MASKED = 0x80, LENGTH = 0x7f, IN_16_BITS = 126, IN_64_BITS = 127 };

#define WS_HEAD_MAX 14     /* bytes of a header from the peer */
#define WS_CONTROL_MAX 125 /* bytes of a control frame (RFC 6455 5.5) */
#define WS_REASON_MAX 123  /* of them, a close's reason */
#define WS_CLOSE_MS 5000   /* how long the peer may take to close */
#define WS_PONGS_MAX 4096  /* bytes of pongs that wait */

struct ws_deflater; /* deflate.c: of the process */
struct ws_inflater; /* deflate.c: of a connection */

struct ws_host {
    struct loop *loop; /* borrowed */
    struct ws_limits limits;
    struct list all;              /* struct ws */
    struct ws_deflater *deflater; /* owned; NULL: not used yet */
    size_t count, deflated;
    size_t unfinished; /* bytes in struct ws.message of all */
};

struct ws_end {
    uint16_t code;
    uint8_t len;
    char reason[WS_REASON_MAX + 1];
};

/* The frame that is being read. */
struct ws_reader {
    uint8_t head[WS_HEAD_MAX];
    uint8_t have;        /* bytes of head */
    bool in_payload;     /* head is whole */
    uint64_t left;       /* bytes of the payload that are to come */
    size_t at;           /* bytes of it that came, for the mask */
    uint8_t control_len; /* bytes in control */
    char control[WS_CONTROL_MAX];
    bool in_message;         /* between fragments */
    bool binary, compressed; /* the message is */
    bool deaf;               /* after a violation: nothing is read any more */
};

/* A message that the socket took a part of. */
struct ws_sending {
    struct ws_frame *frame; /* held; NULL: there is none */
    const uint8_t *next;    /* in it */
    size_t left;            /* bytes */
};

struct ws {
    struct list link; /* of the host's */
    struct ws_host *host;
    struct conn *conn; /* owned, until conn_close() or conn_finish() */
    const struct ws_handlers *handlers;
    void *arg;
    size_t message_max, deflate_from;
    struct ws_reader reader;
    struct buf message; /* what came of one */
    struct ws_sending sending;
    struct buf pongs;             /* frames that wait */
    struct ws_inflater *inflater; /* owned; NULL: not used yet */
    struct later act;             /* what must not be done within a callback */
    struct timer deadline;
    struct ws_end *end; /* owned; NULL: nobody has closed */
    bool deflated;
    bool wants_room;  /* on_room is owed */
    bool sent_close;  /* ours, or our answer */
    bool peer_closed; /* its close came: there is no more to read */
    bool broken;      /* nothing can be sent or read any more */
};

/* ---- ws.c ---- */

extern const struct conn_handlers ws_conn_handlers; /* argument: the ws */
/* Whether messages are given and sent. */
bool ws_is_open(const struct ws *w);
/* Sends a close, or the answer to one (then it is over). reason: cut to what
 * fits.  Code WS_NONE: a close without one. */
void ws_end(struct ws *w, unsigned code, struct str reason, bool answers);
/* Nothing can be sent any more: ends it at the end of the turn. */
void ws_break(struct ws *w);
/* Frees what came of a message. */
void ws_forget_message(struct ws *w);
/* With its callbacks. */
void ws_init(struct ws *w);
void ws_free(struct ws *w);

/* ---- receive.c ---- */

/* Of the connection; its argument is the struct ws. */
ssize_t ws_on_data(void *arg, const uint8_t *data, size_t n);

/* ---- send.c ---- */

/* Control frames.  A pong waits for ws_send_pongs(), which sends at once what
 * one read asked for.  Without room in the socket or for them, the last one
 * replaces the others. */
void ws_owe_pong(struct ws *w, struct str data);
void ws_send_pongs(struct ws *w);
/* False: no room. */
bool ws_send_close(struct ws *w, const struct ws_end *end);
/* The socket has room: sends what waits; false: not all of it. */
bool ws_send_waiting(struct ws *w);

/* ---- deflate.c ---- */

/* The frame, header included, that says the same as f in fewer bytes; borrowed
 * from f.  NULL: f must be sent as it is. */
struct ws_frame *ws_deflate(struct ws_host *h, struct ws_frame *f);
void ws_deflater_free(struct ws_deflater **d);

enum ws_inflated { WS_INFLATED, WS_INFLATED_TOO_BIG, WS_INFLATE_FAILED };
/* Inflates a message to out, up to its limit. */
enum ws_inflated ws_inflate(struct ws_inflater **i, struct str message,
                            struct buf *out);
void ws_inflater_free(struct ws_inflater **i);

#endif

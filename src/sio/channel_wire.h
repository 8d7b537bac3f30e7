/*
 * The bytes of calls to the channel (channel.h): what a worker forwards, what
 * any process emits, what the master asks for.
 *
 * Each message has a function that writes it and one that reads it.  The
 * readers believe nothing: lengths have bounds, numbers have ranges.  Texts
 * that they give point into the message.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef SIO_CHANNEL_WIRE_H
#define SIO_CHANNEL_WIRE_H

#include "base/pack.h"
#include "net/conn_move.h"
#include "sio/sio.h"

#define CHANNEL_TEXT 512 /* bytes of a short text: a user, a type */
/* Bytes that a connection on its way has read and not eaten, or not sent. */
#define CHANNEL_UNREAD ((size_t)64 << 10)

/* Bytes of messages, at most. */
#define CHANNEL_ASK_MAX ((size_t)SIO_PAYLOAD + 16 * CHANNEL_TEXT)
#define CHANNEL_UPGRADE_MAX \
    (CONN_MOVE_BYTES + 2 * CHANNEL_UNREAD + 16 * CHANNEL_TEXT)
/* All that may wait for a client, a third more as base64, and what stands
 * between packets. */
#define CHANNEL_ANSWER_MAX ((size_t)SIO_QUEUE * 2 + CHANNEL_TEXT)
#define CHANNEL_EMIT_MAX ((size_t)8 << 20)
#define CHANNEL_PAGE_MAX ((size_t)32000) /* the master takes no more */

/* ---- requests of clients, from workers ---- */

/* Request of CHANNEL_POLL and, with what follows below, CHANNEL_UPGRADE. */
struct channel_ask {
    struct str module, endpoint;
    bool plain; /* at "engine.io/" */
    struct engine_client client;
    struct str method, content_type;
    struct engine_query query;
    struct str body; /* of a poll */
    /* Of an upgrade; the packed connection stands behind it. */
    struct ws_handshake handshake;
};

void channel_pack_ask(struct pack *out, const struct channel_ask *a);
/* False: these are no such bytes.  The rest is left in *in. */
bool channel_unpack_ask(struct unpack *in, struct channel_ask *a);

/* Types of answers; the worker takes no others. */
enum channel_type { CHANNEL_PLAIN, CHANNEL_HTML, CHANNEL_JSON, CHANNEL_TYPES };

/* Answer to CHANNEL_POLL; an upgrade's is a status alone. */
struct channel_answer {
    int status;
    enum channel_type type;
    struct str opened; /* the id of a new session, for the cookie; else empty */
    struct str body;
};

void channel_pack_answer(struct pack *out, const struct channel_answer *a);
bool channel_unpack_answer(struct str data, struct channel_answer *a);

/* The media type, as engine.h and HTTP have it. */
const char *channel_type_text(enum channel_type t);
enum channel_type channel_type_of(const char *text);

/* ---- events, from any process ---- */

/* Request of CHANNEL_EMIT; there is nothing to answer.  `attachments` has room
 * for SIO_ATTACHMENTS; m->args.attachments points to it.  Without an event's
 * name it is that of sio_stale() or, if it stales nothing, of sio_renew(). */
void channel_pack_emit(struct pack *out, const struct sio_target *to,
                       const struct sio_message *m);
bool channel_unpack_emit(struct str data, struct sio_target *to,
                         struct sio_message *m, struct str *attachments);

/* ---- commands, from the master ---- */

/* Request of CHANNEL_LIST: a number; sessions with higher ones are told, as
 * many as fit.  Answer: rows, to be read until one is not there. */
struct channel_row {
    uint64_t number;
    struct str module, endpoint;
    bool plain; /* it speaks Engine.IO alone */
    bool websocket;
    bool secure;
    struct str namespaces; /* that it has joined: "/,/custom" */
    struct addr client;
    struct str user;
    int64_t age_ms;
    uint64_t queued; /* bytes */
    uint64_t packets[2], bytes[2];
};

void channel_pack_row(struct pack *out, const struct channel_row *r);
/* False: no row is left (then in->bad is false), or the bytes are none. */
bool channel_unpack_row(struct unpack *in, struct channel_row *r);

/* Requests and answers that are one number: where a list goes on, the session
 * to kick (0: all) and how many were, the status of an upgrade. */
void channel_pack_number(struct pack *out, uint64_t n);
bool channel_unpack_number(struct str data, uint64_t *n);

#endif

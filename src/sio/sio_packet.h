/*
 * Packets of Socket.IO v5 (socket.io-protocol, revision 5, "Packet encoding"):
 *
 *     <type>[<attachments>-][<namespace>,][<ack id>][<JSON>]
 *
 * Each stands in a message packet of Engine.IO ('4'); its attachments follow
 * as binary messages.  JSON is checked here and handed on as text.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef SIO_SIO_PACKET_H
#define SIO_SIO_PACKET_H

#include "sio/sio.h"

enum sio_packet_type {
    SIO_PACKET_CONNECT,
    SIO_PACKET_DISCONNECT,
    SIO_PACKET_EVENT,
    SIO_PACKET_ACK,
    SIO_PACKET_CONNECT_ERROR,
    SIO_PACKET_BINARY_EVENT,
    SIO_PACKET_BINARY_ACK,
};

#define SIO_PACKET_ID_DIGITS                         \
    15 /* of an ack id, at most: exact in JavaScript \
        */

/* A packet as it was read.  Its texts lie in the text that was read; `event`
 * may lie in the struct itself, which must not be moved. */
struct sio_packet {
    enum sio_packet_type type;
    size_t attachments;        /* that follow */
    struct str namespace_name; /* "/" where the packet names none */
    struct str id;             /* digits; empty: no ack is asked for */
    struct str json;           /* all of it; empty: none */
    struct str event;          /* EVENT: decoded */
    struct str args;           /* EVENT: what stands behind the name */
    char name[SIO_NAME_MAX];
};

/* The text of a message, without Engine.IO's '4'.  -1: it is no packet that a
 * client may send; *why (static) is for the log. */
int sio_packet_read(struct sio_packet *p, struct str text, const char **why);

/* ---- packets of ours ---- */

/* A packet with its attachments; made once, sent to many. */
struct sio_frames {
    struct ws_frame *frame[1 + SIO_ATTACHMENTS]; /* each held once */
    size_t count;                                /* 0: memory is out */
    size_t bytes;                                /* of all */
};
/* *to holds the frames of f, too. */
void sio_frames_hold(struct sio_frames *to, const struct sio_frames *f);
void sio_frames_let_go(struct sio_frames *f);

/* Arguments must be right (sio_check_args()).  offset: of the connection state
 * recovery; empty: none. */
void sio_packet_event(struct sio_frames *f, struct str namespace_name,
                      struct str event, const struct sio_args *args,
                      struct str offset);
/* id: digits, as the client sent them. */
void sio_packet_ack(struct sio_frames *f, struct str namespace_name,
                    struct str id, const struct sio_args *args);
/* pid: empty where nothing is recovered. */
void sio_packet_connected(struct sio_frames *f, struct str namespace_name,
                          struct str sid, struct str pid);
/* data: JSON, or empty. */
void sio_packet_refused(struct sio_frames *f, struct str namespace_name,
                        const char *message, struct str data);
void sio_packet_left(struct sio_frames *f, struct str namespace_name);

#endif

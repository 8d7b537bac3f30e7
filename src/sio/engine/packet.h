/*
 * Packets of Engine.IO v4, and the payloads of polling that join them
 * (engine.io-protocol, "Packet encoding", "Payload encoding").
 *
 * A packet in text is one character, its type, and its data.  A binary message
 * has no type in a WebSocket; where there is text alone it is 'b' and base64.
 * A payload is packets with PACKET_SEPARATOR between them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef SIO_ENGINE_PACKET_H
#define SIO_ENGINE_PACKET_H

#include "ws/frame.h"

#define PACKET_SEPARATOR '\x1e'

enum packet_type {
    PACKET_BAD = 0, /* empty, or of no known type */
    PACKET_OPEN = '0',
    PACKET_CLOSE = '1',
    PACKET_PING = '2',
    PACKET_PONG = '3',
    PACKET_MESSAGE = '4',
    PACKET_UPGRADE = '5',
    PACKET_NOOP = '6',
    PACKET_BINARY = 'b' /* its data is base64 */
};

struct packet {
    enum packet_type type;
    struct str data; /* borrowed from what was read */
};

struct packet packet_read(struct str text);
/* Takes the first packet off a payload; there is one in an empty payload too,
 * which is empty itself.  False: that was the last one. */
bool packet_cut(struct str *payload, struct str *text);
/* The bytes of a PACKET_BINARY; *out is the caller's to mem_free(). -1: that is
 * no base64, or memory is out. */
int packet_decode(struct str base64, uint8_t **out, size_t *n);

/* How a client gets packets. */
enum packet_form {
    PACKET_PAYLOAD,     /* polling: joined, binary in base64 */
    PACKET_FRAME,       /* WebSocket */
    PACKET_FRAME_BASE64 /* WebSocket of a client that takes text alone */
};

/* Bytes of a message in that form, without separator or header. */
size_t packet_length(const struct ws_frame *f, enum packet_form form);
/* The same with them: what the client gets. */
size_t packet_size(const struct ws_frame *f, enum packet_form form);
/* Writes it in text; out has room for packet_length() of PACKET_PAYLOAD and one
 * byte.  Returns that length. */
size_t packet_write(const struct ws_frame *f, char *out);

#endif

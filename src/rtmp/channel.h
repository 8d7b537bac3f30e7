/*
 * The common part of both ends of an RTMP connection: the connection itself,
 * the chunk reader, windows and acknowledgements, pings, a peer that takes no
 * bytes.  Sessions (server) and clients each hold a channel, and send the
 * messages that it gives them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef RTMP_CHANNEL_H
#define RTMP_CHANNEL_H

#include "net/conn.h"
#include "rtmp/chunk.h"
#include "rtmp/words.h"

enum {
    /* Words are small; the rest is for a frame that was begun when its
     * player stopped. */
    CHANNEL_OUT_LIMIT = 1048576,
    /* Bytes of a message, and of all half-received ones, of a peer that sends
     * no media: commands are not that long. */
    STRANGER_MESSAGE = 131072,
    STRANGER_MEMORY = 262144,
    COMMAND_MAX = 65536, /* bytes of a command: nobody comes near it */
};

struct channel {
    struct conn *conn; /* ours until it is closed */
    struct chunk_reader reader;
    int64_t ping_ms;      /* when a ping was sent, 0: none awaited */
    int64_t stuck_ms;     /* when the peer was first seen not to read, or 0 */
    uint64_t stuck_bytes; /* conn->bytes_out then */
    uint32_t chunk_size;  /* of what we send */
    uint32_t ack_window;  /* bytes after which the peer wants an
                             acknowledgement */
    uint32_t acked;       /* conn->bytes_in of the last acknowledgement */
    uint32_t said_window; /* the window that we last sent */
    uint8_t burst;        /* messages that may still be taken in this turn */
    struct parts_rest *rest; /* owned: of an aggregate (aggregate.h), or NULL */
};

/* Takes over a socket; ack_window holds until the peer sends its own. 0; -1,
 * with the socket closed, when the system has no room to watch it. */
int channel_open(struct channel *ch, struct loop *l,
                 const struct conn_socket *socket,
                 const struct conn_handlers *handlers, void *arg,
                 uint32_t ack_window);
/* Frees the reader's memory; the connection is closed by then. */
void channel_clear(struct channel *ch);

/* ---- receiving ---- */

/* Takes some of the bytes: how many, or <= 0 to stop for now. */
typedef ssize_t channel_step(void *arg, const uint8_t *p, size_t n);
/* Calls step for the bytes that came.  A turn takes only a share
 * (channel_charge()); the next turn offers the rest again, so that a flood of
 * small messages keeps nobody else waiting.  Returns the bytes eaten. */
size_t channel_feed(struct channel *ch, const uint8_t *data, size_t n,
                    channel_step *step, void *arg);
/* The turn's share is whole again. */
void channel_begin_turn(struct channel *ch);
/* Counts a message that is taken. */
void channel_charge_message(struct channel *ch, uint8_t type);
/* Counts something that costs as much as so many messages of media. */
static inline void
channel_charge(struct channel *ch, uint8_t cost)
{
    ch->burst = ch->burst > cost ? (uint8_t)(ch->burst - cost) : 0;
}

/* Protocol control messages and pings.  The reply to them is put into
 * answer, which may stay empty.  0, or -1 with err: it cannot go on. */
int channel_control(struct channel *ch, const struct chunk_message *m,
                    struct words *answer, struct errmsg *err);
/* Acknowledges to the peer the bytes that came, at half of the window that it
 * gave: true if answer has a message. */
bool channel_acknowledge(struct channel *ch, struct words *answer);
/* Finds the beginning of a command that may be wrapped for AMF3; false: it is
 * too long (COMMAND_MAX). */
bool channel_command(const struct chunk_message *m, struct str *body);

/* ---- time ---- */

void channel_ping(struct channel *ch, int64_t now, struct words *answer);
/* When a ping, or the answer to one, is due. */
int64_t channel_ping_deadline(const struct channel *ch, int64_t interval,
                              int64_t timeout);
/* Whether bytes wait for the peer and it has taken none for timeout ms. */
bool channel_stuck(struct channel *ch, int64_t now, int64_t timeout);
int64_t channel_stuck_deadline(const struct channel *ch, int64_t now,
                               int64_t timeout);

#endif

/*
 * The chunk reader (RTMP 1.0, 5.3): bytes in any pieces in, messages out.
 *
 * A pure state machine: no socket, no time.  It accepts all that real senders
 * send (any header form, any chunk stream id from 2 to 65599, fmt 1..3 on a
 * chunk stream never seen, extended timestamps repeated in fmt 3 chunks or not,
 * a new message in the middle of another, any chunk size) and refuses only
 * peers that would cost too much: messages over max_message, half-received ones
 * of more than max_memory together, more than CHUNK_STREAMS_MAX of them at
 * once.  Memory follows the bytes received, not the length a header declares.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef RTMP_CHUNK_H
#define RTMP_CHUNK_H

#include "base/errmsg.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    CHUNK_SIZE_START = 128,    /* before a Set Chunk Size */
    CHUNK_SIZE_MAX = 0xffffff, /* no message is longer */
    CHUNK_STREAMS_MAX = 64,    /* remembered at once */
};

struct chunk_message {
    uint8_t type;
    uint32_t csid;
    uint32_t stream_id;
    uint32_t timestamp;     /* absolute, wraps at 32 bits */
    const uint8_t *payload; /* borrowed: valid during the call */
    uint32_t len;
};

/* Takes one message.  Returns 0 to go on, 1 to stop reading after it. */
typedef int chunk_handler(void *arg, const struct chunk_message *m);

struct chunk_stream; /* the last header of one chunk stream, and its message */

struct chunk_reader {
    struct chunk_stream *streams; /* owned; NULL while there are none */
    uint32_t max_message;         /* bytes of one message */
    uint32_t max_memory;          /* bytes of all half-received ones */
    uint32_t memory;              /* bytes taken for those now */
    uint32_t chunk_size;
    uint32_t csid;   /* of the chunk being read */
    uint32_t left;   /* payload bytes of this chunk still to come */
    uint32_t clock;  /* chunks so far: tells which stream is least used */
    uint8_t count;   /* streams in use */
    uint8_t room;    /* streams there is memory for */
    uint8_t current; /* the stream of this chunk */
    uint8_t expect;  /* what comes next */
    uint8_t fmt;     /* of this chunk */
    uint8_t may_be;  /* forms that a repeated timestamp may still have */
    uint8_t have;    /* bytes in head */
    uint8_t back_len;
    uint8_t head[11]; /* a header that came in pieces */
    uint8_t back[4];  /* bytes to be read again as payload */
};

void chunk_reader_init(struct chunk_reader *r, uint32_t max_message,
                       uint32_t max_memory);
void chunk_reader_clear(struct chunk_reader *r);

/* Eats bytes and calls on_message for each message they complete.  Returns
 * how many were eaten (fewer than n only after the handler said stop; the
 * rest is to be given again), or -1 with err: the reader cannot go on. */
ssize_t chunk_read(struct chunk_reader *r, const uint8_t *data, size_t n,
                   chunk_handler *on_message, void *arg, struct errmsg *err);

/* Set Chunk Size, any time: 0, or -1 with err for a size of zero.  The top bit
 * is not part of the number; a size above CHUNK_SIZE_MAX counts as
 * CHUNK_SIZE_MAX. */
int chunk_set_size(struct chunk_reader *r, uint32_t size, struct errmsg *err);
/* Abort Message: drops the received part of an unfinished message. */
void chunk_abort(struct chunk_reader *r, uint32_t csid);

#endif

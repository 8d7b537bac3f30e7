/*
 * RTMP as it comes in: any chunk size, header formats 0 to 3, any chunk
 * stream id, extended timestamps, abort. Bytes may come in pieces of any size.
 *
 * Audio and video are checked in place and never copied; control messages,
 * data and commands are put together and handed on whole. What the
 * specification forbids is an error, not guessed at: this is a judge.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_CHUNK_READER_H
#define BENCH_CHUNK_READER_H

#include "frame_check.h"
#include "rtmp_wire.h"

struct chunk_stream;

/* Any other message than audio and video; body is for the call only. */
struct rtmp_message {
    uint8_t type;
    uint32_t timestamp;
    uint32_t msid;
    const uint8_t *body;
    uint32_t size;
};

struct chunk_events {
    void (*media)(void *context, const struct media *m);
    void (*message)(void *context, const struct rtmp_message *m);
};

struct chunk_reader {
    const struct chunk_events *events;
    void *context;     /* borrowed: given to the events */
    const char *wrong; /* what was not RTMP; NULL while all is well */
    uint32_t chunk_size;
    uint32_t chunk_left;           /* bytes of the chunk still to come */
    struct chunk_stream *current;  /* of that chunk; NULL in a header */
    struct chunk_stream **streams; /* owned; in the order they came up */
    unsigned count;
    uint8_t head[18]; /* basic header 3, message header 11, extended 4 */
    unsigned head_size;
};

void chunk_reader_init(struct chunk_reader *r,
                       const struct chunk_events *events, void *context);
void chunk_reader_clear(struct chunk_reader *r);
/* Takes n bytes; -1 and r->wrong when they are not RTMP. */
int chunk_reader_feed(struct chunk_reader *r, const uint8_t *p, size_t n);

#endif

/*
 * One player of FLV over HTTP or WebSocket: sends a GET, reads the answer's
 * head, takes chunked transfer coding or frames off, and checks FLV tags in
 * place.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_FLV_CLIENT_H
#define BENCH_FLV_CLIENT_H

#include "frame_check.h"
#include "target.h"

enum http_state {
    HTTP_HEAD,
    HTTP_PLAIN,      /* the rest of the connection is the body */
    HTTP_CHUNK_SIZE, /* a line */
    HTTP_CHUNK_DATA,
    HTTP_CHUNK_END,  /* the line end after the data */
    HTTP_FRAME_HEAD, /* of a WebSocket */
    HTTP_FRAME_DATA,
    HTTP_ENDED,
};

enum flv_state { FLV_FILE_HEAD, FLV_TAG_HEAD, FLV_BODY, FLV_TAG_SIZE };

struct flv_client {
    int fd;                      /* borrowed */
    const struct target *target; /* borrowed */
    unsigned stream;
    int64_t asked; /* when the request was sent, ns */
    void (*on_media)(void *context, const struct media *m);
    void *context; /* borrowed */
    enum http_state http;
    enum flv_state flv;
    char *line; /* owned; the head, then a chunk's size line */
    size_t line_size;
    uint64_t chunk_left;
    uint8_t head[13]; /* of the file, of a tag, or a tag's size */
    unsigned head_size;
    uint8_t type;
    uint32_t size; /* of the tag's body */
    uint32_t left; /* of it, to come */
    uint32_t timestamp;
    struct frame_check check;
    char why[128];
};

/* target, stream, on_media and context are set before. */
void flv_client_init(struct flv_client *c);
void flv_client_clear(struct flv_client *c);
/* The connection stands: sends the request. 0, or -1 and why. */
int flv_client_start(struct flv_client *c, int fd);
/* Takes what was received. 0, or -1 and why. */
int flv_client_feed(struct flv_client *c, const uint8_t *p, size_t n);

#endif

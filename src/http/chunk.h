/*
 * Chunked bodies (RFC 9112, 7.1), from the wire to their payload.
 *
 * Stricter than the RFC where peers have been fooled: sizes of 1 to 16 hex
 * digits, CRLF everywhere, extensions of tokens only and at most 256 bytes in
 * all, trailers of at most 4 KB, none of which may change the framing.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_CHUNK_H
#define HTTP_CHUNK_H

#include "base/buf.h"
#include "http/refusal.h"

#include <sys/types.h>

struct http_chunked {            /* all zero at the start of a body */
    uint64_t left;               /* bytes of the chunk's data to come */
    uint16_t extension, trailer; /* bytes of these so far */
    uint8_t state;
    uint8_t digits;   /* of the size */
    uint8_t name_len; /* of a trailer, as far as kept */
    uint8_t why;      /* enum http_refusal */
    char name[18];
    struct buf *trailers; /* borrowed; their lines, each with its CRLF.  NULL:
                             they are dropped */
};

/* Eats from data up to the end of the next piece of payload (put in *piece,
 * possibly empty), of the body, or of data; returns bytes eaten, -1 when
 * refused: see c->why. */
ssize_t http_chunked_eat(struct http_chunked *c, const uint8_t *data, size_t n,
                         struct str *piece);
/* The last n bytes of the piece eaten last come once more. */
void http_chunked_return(struct http_chunked *c, size_t n);
bool http_chunked_done(const struct http_chunked *c);
/* Bytes of the chunk's data to come, once its size is whole. */
uint64_t http_chunked_left(const struct http_chunked *c);

#endif

/*
 * The body of a request on its way in: framed by length or chunked.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_BODY_H
#define HTTP_BODY_H

#include "http/chunk.h"
#include "http/parse.h"

struct http_body {
    struct buf bytes;    /* owned; kept until the request ends */
    struct buf trailers; /* owned; lines behind the last chunk */
    uint64_t left;       /* of a length, to come */
    uint64_t seen;       /* payload bytes so far */
    uint64_t limit;      /* more payload than this is refused */
    struct http_chunked chunked;
    bool is_chunked;
    bool keep; /* into bytes; else dropped */
    bool done; /* all of it was read (at once when there is none) */
};

void http_body_init(struct http_body *b, const struct http_head *head);
void http_body_clear(struct http_body *b);

/* Eats from data until the body or data ends.  Returns bytes eaten; -1 with
 * *why when it is refused. */
ssize_t http_body_eat(struct http_body *b, const uint8_t *data, size_t n,
                      enum http_refusal *why);

/* The same up to the end of the next piece of payload, which is put in *piece,
 * possibly empty, and is not kept. */
ssize_t http_body_next(struct http_body *b, const uint8_t *data, size_t n,
                       struct str *piece, enum http_refusal *why);
/* The last n bytes of that piece come once more. */
void http_body_return(struct http_body *b, size_t n);
/* The trailers of a whole body, in the pool; those with '_' in their name are
 * left out. */
void http_body_trailers(const struct http_body *b, struct pool *pool,
                        const struct http_header **out, size_t *count);

/* The same of lines that http_chunked_eat() has kept. */
void http_split_trailers(struct pool *pool, struct str lines,
                         const struct http_header **out, size_t *count);

#endif

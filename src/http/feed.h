/*
 * How the body of a request is read before the handler of its route is called:
 * with a bound of the module's own, and so much at once that no turn gets long.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_FEED_H
#define HTTP_FEED_H

#include "base/str.h"

#include <stdint.h>

struct http_request;

/* Bytes of a body that are handed on in one turn, at most. */
#define HTTP_PIECE ((size_t)64 * 1024)
/* Bytes of a body that are kept for a handler, at most, whatever the settings
 * and its module allow. */
#define HTTP_WHOLE ((size_t)8 * 1024 * 1024)

/* How a body is read before the handler of its route is called.  state is that
 * of the layer. */
struct http_feed {
    /* Bytes that the module takes, at most: what is longer is answered with
     * 413, before any of it is read if the client says its length.  Kept ones
     * (piece, whole) have HTTP_WHOLE at most.  NULL: no bound of its own. */
    uint64_t (*most)(const void *state);
    /* Before the first piece; what it returns is r->fed.  It gives no
     * answer. */
    void *(*begin)(struct http_request *r, void *state);
    /* The body piece by piece, HTTP_PIECE bytes in a turn at most.  Returns how
     * many bytes it took: it may leave some for the next piece, but not of the
     * last one, which may be empty.  NULL: nobody looks at the body. */
    size_t (*piece)(void *fed, struct str piece, bool last);
    /* The body is refused because it is longer than that, or than the settings
     * of the location allow: for the module's count.  NULL: nothing. */
    void (*on_long)(struct http_request *r, void *state);
    bool whole; /* r->body is there for the handler, to be handed on.  Without
                   it and piece the body is dropped as it comes, and the handler
                   may not pass */
};

/* The body is whole in r->body, and has HTTP_PIECE bytes at most. */
extern const struct http_feed http_small_body;
/* For the feed of a body in JSON: r->fed is a struct json_reader
 * (json/read.h). */
void *http_json_begin(struct http_request *r, void *state);
size_t http_json_piece(void *fed, struct str piece, bool last);
/* The body is read, and nobody looks at it. */
extern const struct http_feed http_dropped_body;

#endif

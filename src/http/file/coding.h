/*
 * Chooses the answers that are compressed, and sets their headers (RFC 9110,
 * 8.4).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_FILE_CODING_H
#define HTTP_FILE_CODING_H

#include "http/exchange.h"
#include "http/file/gzip.h"

/* The longest body of a handler that is compressed in one go; a longer one
 * would keep the other connections waiting. */
#define CODING_AT_ONCE ((size_t)256 * 1024)

/* Whether to compress an answer of that type and length (-1: not known) for a
 * client that accepts gzip. */
bool http_compressible(const struct exchange *x, int status, const char *type,
                       int64_t length);

/* The answer's head says gzip; its ETag, if it has one, becomes weak: the
 * content is the same, its bytes are not. */
void http_say_gzip(struct exchange *x);
/* The same for a whole body: sets *body to the bytes to send, which stay as
 * they are or are compressed into the request's pool. */
void http_code_body(struct exchange *x, int status, const char *type,
                    struct str *body);
/* The same, and the compressed bytes are kept in *gzip: a call that finds them
 * there uses them. */
void http_code_shared(struct exchange *x, int status, const char *type,
                      struct str *body, struct buf *gzip);
/* The same for a body that comes in pieces: sets x->gzip if it is
 * compressed. */
void http_code_stream(struct exchange *x, int status, const char *type);

#endif

/*
 * Which answers are compressed, and how that is said (RFC 9110, 8.4).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_FILE_CODING_H
#define HTTP_FILE_CODING_H

#include "http/exchange.h"
#include "http/file/gzip.h"

/* The body of a handler that is compressed in one go; a longer one would
 * keep the other connections waiting. */
#define CODING_AT_ONCE ((size_t)256 * 1024)

/* Whether an answer of that type and length (-1: not known) is one to
 * compress, for a client that accepts it. */
bool http_compressible(const struct exchange *x, int status, const char *type,
                       int64_t length);

/* The answer's head says gzip; its ETag, if it has one, becomes weak: it is
 * the same to read, not the same bytes. */
void http_say_gzip(struct exchange *x);
/* The same for a whole body: *body is what is to be sent, as it was or
 * compressed into the request's pool. */
void http_code_body(struct exchange *x, int status, const char *type,
                    struct str *body);
/* For a body that comes in pieces: x->gzip is set if it is compressed. */
void http_code_stream(struct exchange *x, int status, const char *type);

#endif

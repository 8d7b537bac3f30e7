/*
 * Parses a request head: method, target, headers and how its body is framed.
 *
 * A whole head that passed http_scan() must meet our rules: a known method, one
 * Host, one way of framing, known forms only.  Where two parsers disagree,
 * requests are smuggled; so the tests and the fuzz target compare each head
 * that is accepted here with llhttp in strict mode, byte for byte.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_PARSE_H
#define HTTP_PARSE_H

#include "http/head_scan.h"
#include "http/http.h"

struct http_head {
    struct str text; /* the whole head, in the pool; the rest points
                        into it */
    struct str line; /* request line */
    struct str method;
    struct str target;    /* as sent */
    struct str authority; /* of "http://authority/path", or empty */
    struct str path;      /* of the target, not decoded; "*" of OPTIONS */
    struct str query;     /* behind '?' */
    struct str host;      /* Host, or the authority */
    int version;          /* 10, 11 */
    struct http_header *headers; /* those with '_' in their name left out */
    size_t header_count;
    int64_t length; /* Content-Length, -1: none */
    bool chunked;
    bool keep_alive;
    bool expects_continue;
};

extern const struct http_head http_head_empty;

/* The head is data[scan->begin .. n), as http_scan() found it.  REFUSE_NONE,
 * or why not; then *out holds the text, and method, target and headers as they
 * were sent. */
enum http_refusal http_parse(struct pool *pool, const struct http_scan *scan,
                             const uint8_t *data, size_t n,
                             struct http_head *out);

#endif

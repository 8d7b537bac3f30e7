/*
 * Parses the head of another server's answer: status, headers and how the body
 * is framed (RFC 9112, 4 and 6).
 *
 * The rules for lines and framing are those of requests (parse.h), and as
 * strict: where two parsers disagree about the end of an answer, what follows
 * goes to the wrong client.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_PARSE_ANSWER_H
#define HTTP_PARSE_ANSWER_H

#include "http/parse.h"

/* How the body ends. */
enum http_framing {
    HTTP_BODY_NONE,      /* whatever its headers say */
    HTTP_BODY_BY_LENGTH, /* head.length bytes; 0: none */
    HTTP_BODY_BY_CHUNKS, /* head.chunked */
    HTTP_BODY_TO_CLOSE,  /* of the connection */
};

struct http_answer {
    /* As of a request: text, line, version, headers (all of them), length,
     * chunked, keep_alive.  The rest is empty. */
    struct http_head head;
    struct str reason; /* behind the status; may be empty */
    int status;        /* 100 .. 599 */
    enum http_framing framing;
    /* No further answer can be read behind this one: it asked for that, its
     * body has no other end, or it has headers of a body that it cannot
     * have. */
    bool last;
};

/* The head is data[0 .. n), as http_scan_answer() found it; method is that of
 * the request.  REFUSE_NONE, or why not; then *out holds the text and the
 * headers as they were sent. */
enum http_refusal http_parse_answer(struct pool *pool,
                                    const struct http_scan *scan,
                                    const uint8_t *data, size_t n,
                                    struct str method, struct http_answer *out);

#endif

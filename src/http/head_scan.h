/*
 * The guard in front of the parsers: finds the end of a head, of a request or
 * an answer, and checks every byte on the way.
 *
 * It goes strictly byte after byte: the result does not depend on how the bytes
 * were cut into reads, and a head that can never become right is refused at its
 * first wrong byte instead of at the time-out.  It accepts lines ended by CRLF
 * only, no control bytes, no folded lines, names that are tokens, and sizes
 * within the limits; it skips one empty line before a request. parse.h and
 * parse_answer.h read the headers.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_HEAD_SCAN_H
#define HTTP_HEAD_SCAN_H

#include "http/refusal.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct http_limits {
    size_t head;    /* bytes: request line and headers */
    size_t target;  /* bytes */
    size_t header;  /* bytes of one line */
    size_t headers; /* lines */
};

/* Where it is; all zero at the start of a head. */
struct http_scan {
    uint32_t at;    /* bytes seen, from the first one offered */
    uint32_t begin; /* of the head: 0, or 2 behind an empty line */
    uint32_t mark;  /* begin of the word or line it is in */
    uint16_t headers;
    uint8_t state;
    uint8_t why; /* enum http_refusal, once it refused */
};

/* data is everything from the first byte of the head on, n bytes of it now.
 * Returns the length of the whole head (with scan->begin and the empty line
 * at its end), 0: more is needed, -1: refused, see scan->why. */
ssize_t http_scan(struct http_scan *scan, const uint8_t *data, size_t n,
                  const struct http_limits *limits);

/* The same for the head of an answer, which begins with a status line at its
 * first byte: "HTTP/1.1 200 OK". */
ssize_t http_scan_answer(struct http_scan *scan, const uint8_t *data, size_t n,
                         const struct http_limits *limits);

/* RFC 9110, 5.6.2: tchar.  Letters, digits and "!#$%&'*+-.^_`|~" as bits, 64
 * characters a word. */
static inline bool
http_is_token(unsigned char c)
{
    static const uint64_t bits[4] = { 0x03ff6cfa00000000, 0x57ffffffc7fffffe, 0,
                                      0 };

    return (bits[c >> 6] >> (c & 63) & 1) != 0;
}

#endif

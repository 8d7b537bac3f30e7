/*
 * Lines of playlists on their way into a buffer.
 *
 * Adding never fails by itself: whether all had room is asked once, at the end.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_HLS_LINES_H
#define MODULES_HLS_LINES_H

#include "base/buf.h"

struct lines {
    struct buf *out; /* borrowed */
    bool full;       /* something had no room */
};

void lines_add(struct lines *l, struct str s);
void lines_number(struct lines *l, uint64_t number);
/* Milliseconds as seconds: "2.000". */
void lines_thousandths(struct lines *l, uint64_t thousandths);
/* A quoted-string (RFC 8216, 4.2), with its quotes.  It has no double quote and
 * no control character: single quotes and spaces take their places. */
void lines_quoted(struct lines *l, struct str s);

#endif

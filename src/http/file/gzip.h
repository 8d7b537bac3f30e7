/*
 * Compressing to gzip (RFC 1952); the only place that knows zlib.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_FILE_GZIP_H
#define HTTP_FILE_GZIP_H

#include "base/buf.h"

struct gzip; /* one stream; some 270 KB */

/* Streams that a process has at once; further answers go out as they are. */
#define GZIP_STREAMS_MAX 32

enum gzip_flush {
    GZIP_MORE,  /* may keep bytes back */
    GZIP_FLUSH, /* the client can read all bytes so far */
    GZIP_END,   /* the last of it; nothing may follow */
};

/* level 1 (fast) to 9 (small).  NULL: memory is out, or too many. */
struct gzip *gzip_new(int level);
bool gzip_has_room(void);        /* one more stream may be had */
void gzip_free(struct gzip **g); /* NULL inside is fine */

/* Compresses data and adds the output to out; 0, or -1 when out is full or
 * memory is out: the stream cannot go on then. */
int gzip_add(struct gzip *g, struct str data, enum gzip_flush flush,
             struct buf *out);

/* All of data at once; 0 or -1. */
int gzip_whole(struct str data, int level, struct buf *out);

#endif

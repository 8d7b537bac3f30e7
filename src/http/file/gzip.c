/*
 * Streams of zlib.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/file/gzip.h"

#include <assert.h>
#include <zlib.h>

#include "base/mem.h"

#define WINDOW 15  /* bits: 32 KB, the largest */
#define AS_GZIP 16 /* added to it: gzip's head and tail, not zlib's */
#define MEMORY 8   /* zlib's default */
#define ROOM 4096  /* bytes made at once */

struct gzip {
    z_stream z;
};

static size_t streams;

bool
gzip_has_room(void)
{
    return streams < GZIP_STREAMS_MAX;
}

struct gzip *
gzip_new(int level)
{
    struct gzip *g;

    assert(level >= 1 && level <= 9);
    if (streams >= GZIP_STREAMS_MAX) {
        return NULL;
    }
    g = try_zero(sizeof(*g));
    if (g == NULL) {
        return NULL;
    }
    if (deflateInit2(&g->z, level, Z_DEFLATED, WINDOW + AS_GZIP, MEMORY,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        mem_free(&g);
        return NULL;
    }
    streams++;
    return g;
}

void
gzip_free(struct gzip **g)
{
    if (*g != NULL) {
        deflateEnd(&(*g)->z);
        streams--;
    }
    mem_free(g);
}

static int
zlib_flush(enum gzip_flush flush)
{
    switch (flush) {
    case GZIP_MORE:
        return Z_NO_FLUSH;
    case GZIP_FLUSH:
        return Z_SYNC_FLUSH;
    case GZIP_END:
        break;
    }
    return Z_FINISH;
}

int
gzip_add(struct gzip *g, struct str data, enum gzip_flush flush,
         struct buf *out)
{
    assert(data.len <= UINT32_MAX);
    g->z.next_in = (Bytef *)(uintptr_t)data.ptr;
    g->z.avail_in = (uInt)data.len;
    do { /* room that was left over says that zlib has nothing more */
        g->z.next_out = buf_reserve(out, ROOM);
        g->z.avail_out = ROOM;
        if (g->z.next_out == NULL) {
            return -1;
        }
        if (deflate(&g->z, zlib_flush(flush)) == Z_STREAM_ERROR) {
            return -1;
        }
        buf_commit(out, ROOM - g->z.avail_out);
    } while (g->z.avail_out == 0);
    return 0;
}

int
gzip_whole(struct str data, int level, struct buf *out)
{
    static struct gzip *kept; /* making one costs more than a small body */
    static int kept_level;

    if (kept != NULL && kept_level != level) {
        gzip_free(&kept);
    }
    if (kept == NULL) {
        kept = gzip_new(level);
        kept_level = level;
    }
    if (kept == NULL) {
        return -1;
    }
    deflateReset(&kept->z);
    return gzip_add(kept, data, GZIP_END, out);
}

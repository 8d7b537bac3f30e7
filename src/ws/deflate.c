/*
 * permessage-deflate (RFC 7692), in its bare form.
 *
 * Our messages are compressed each by itself (a server may do so without
 * saying), so that one compressor serves the process, and one compressed frame
 * all connections that send it.  Messages of the peer may refer to earlier
 * ones: each connection that has had one has an inflater, of about 40 KB.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "ws/ws_impl.h"

#include <string.h>
#include <zlib.h>

#include "base/mem.h"

#define WINDOW (-15) /* bits; negative: no header */
#define MEMORY 8     /* zlib's usual */
#define STEP 16384   /* bytes inflated at once */

/* Stands behind every message, and is left out. */
static const unsigned char tail[] = { 0x00, 0x00, 0xff, 0xff };

struct ws_deflater {
    z_stream z;
};

struct ws_inflater {
    z_stream z;
};

/* ---- compressing ---- */

static struct ws_deflater *
deflater_of(struct ws_host *h)
{
    if (h->deflater == NULL) {
        h->deflater = mem_zero(sizeof(*h->deflater));
        if (deflateInit2(&h->deflater->z, Z_BEST_SPEED, Z_DEFLATED, WINDOW,
                         MEMORY, Z_DEFAULT_STRATEGY) != Z_OK) {
            mem_free(&h->deflater);
        }
    }
    return h->deflater;
}

/* Compresses f into out, whose room is known to be enough when the result is
 * smaller than f.  False: it is not. */
static bool
squeeze(struct ws_deflater *d, const struct ws_frame *f, struct ws_frame *out)
{
    deflateReset(&d->z);
    d->z.next_in = f->data;
    d->z.avail_in = (uInt)f->len;
    d->z.next_out = out->data;
    d->z.avail_out = (uInt)out->len;
    if (deflate(&d->z, Z_SYNC_FLUSH) != Z_OK || d->z.avail_in > 0 ||
        d->z.avail_out == 0) {
        return false;
    }
    out->len -= d->z.avail_out + sizeof(tail);
    return true;
}

struct ws_frame *
ws_deflate(struct ws_host *h, struct ws_frame *f)
{
    struct ws_deflater *d = deflater_of(h);
    struct ws_frame *out;
    unsigned char *first;

    if (f->deflated != NULL || f->stiff || d == NULL) {
        return f->deflated;
    }
    out = f->len <= UINT32_MAX ? ws_frame_new(f->len, f->binary) : NULL;
    if (out == NULL || !squeeze(d, f, out)) {
        ws_frame_let_go(&out);
        f->stiff = true;
        return NULL;
    }
    first = ws_put_head(out->data, FIN | RSV1 | (f->binary ? BINARY : TEXT),
                        out->len);
    out->len += (size_t)(out->data - first);
    out->data = first;
    f->deflated = out;
    return out;
}

void
ws_deflater_free(struct ws_deflater **d)
{
    if (*d != NULL) {
        deflateEnd(&(*d)->z);
        mem_free(d);
    }
}

/* ---- inflating ---- */

static struct ws_inflater *
inflater_of(struct ws_inflater **i)
{
    if (*i == NULL) {
        *i = try_zero(sizeof(**i));
        if (*i != NULL && inflateInit2(&(*i)->z, WINDOW) != Z_OK) {
            mem_free(i);
        }
    }
    return *i;
}

static enum ws_inflated
result_of(int zlib)
{
    return zlib == Z_OK || zlib == Z_BUF_ERROR || zlib == Z_STREAM_END
               ? WS_INFLATED
               : WS_INFLATE_FAILED;
}

/* Inflates once, into the room that is left; without room, into a byte that
 * must not be used. */
static int
inflate_step(z_stream *z, struct buf *out)
{
    size_t room = buf_room(out) < STEP ? buf_room(out) : STEP;
    unsigned char beyond;
    int result;

    z->next_out = room == 0 ? &beyond : buf_reserve(out, room);
    z->avail_out = room == 0 ? 1 : (uInt)room;
    if (z->next_out == NULL) {
        return Z_MEM_ERROR;
    }
    result = inflate(z, Z_SYNC_FLUSH);
    if (room > 0) {
        buf_commit(out, room - z->avail_out);
    } else if (z->avail_out == 0) {
        return Z_MEM_ERROR;
    }
    return result;
}

/* Inflates what z is given until there is no more. */
static enum ws_inflated
inflate_all(z_stream *z, struct buf *out)
{
    bool more;
    int result;

    do {
        result = inflate_step(z, out);
        more = z->avail_in > 0 || z->avail_out == 0;
        if (result == Z_STREAM_END) {
            inflateReset(z); /* the peer begins anew, perhaps at once */
            more = z->avail_in > 0;
        }
    } while (more && (result == Z_OK || result == Z_STREAM_END));
    return result == Z_MEM_ERROR ? WS_INFLATED_TOO_BIG : result_of(result);
}

enum ws_inflated
ws_inflate(struct ws_inflater **i, struct str message, struct buf *out)
{
    struct ws_inflater *it = inflater_of(i);
    enum ws_inflated result;

    if (it == NULL) {
        return WS_INFLATE_FAILED;
    }
    it->z.next_in = (unsigned char *)(uintptr_t)message.ptr;
    it->z.avail_in = (uInt)message.len;
    result = message.len > 0 ? inflate_all(&it->z, out) : WS_INFLATED;
    if (result == WS_INFLATED) {
        it->z.next_in = (unsigned char *)(uintptr_t)tail;
        it->z.avail_in = sizeof(tail);
        result = inflate_all(&it->z, out);
    }
    return result;
}

void
ws_inflater_free(struct ws_inflater **i)
{
    if (*i != NULL) {
        inflateEnd(&(*i)->z);
        mem_free(i);
    }
}

/*
 * Boxes of MP4: numbers in network order, sizes that are known at the end.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "base/bytes.h"
#include "media/mp4_impl.h"

struct mp4_out
mp4_out_to(struct buf *buf)
{
    return (struct mp4_out){ .buf = buf, .start = buf_len(buf) };
}

int
mp4_out_end(struct mp4_out *o)
{
    if (!o->full) {
        return 0;
    }
    buf_drop_end(o->buf, buf_len(o->buf) - o->start);
    return -1;
}

void
mp4_add(struct mp4_out *o, const void *data, size_t n)
{
    if (!o->full && n > 0 && buf_add(o->buf, data, n) == -1) {
        o->full = true;
    }
}

void
mp4_zeros(struct mp4_out *o, size_t n)
{
    static const uint8_t zeros[64];

    for (size_t now; n > 0; n -= now) {
        now = n < sizeof(zeros) ? n : sizeof(zeros);
        mp4_add(o, zeros, now);
    }
}

void
mp4_u8(struct mp4_out *o, uint32_t v)
{
    uint8_t byte = (uint8_t)v;

    mp4_add(o, &byte, 1);
}

void
mp4_u16(struct mp4_out *o, uint32_t v)
{
    uint8_t bytes[2];

    put_be16(bytes, v);
    mp4_add(o, bytes, sizeof(bytes));
}

void
mp4_u32(struct mp4_out *o, uint32_t v)
{
    uint8_t bytes[4];

    put_be32(bytes, v);
    mp4_add(o, bytes, sizeof(bytes));
}

void
mp4_u64(struct mp4_out *o, uint64_t v)
{
    mp4_u32(o, (uint32_t)(v >> 32));
    mp4_u32(o, (uint32_t)v);
}

size_t
mp4_open(struct mp4_out *o, const char *type)
{
    size_t place = buf_len(o->buf);

    mp4_u32(o, 0);
    mp4_add(o, type, 4);
    return place;
}

size_t
mp4_open_full(struct mp4_out *o, const char *type, uint32_t version,
              uint32_t flags)
{
    size_t place = mp4_open(o, type);

    mp4_u32(o, version << 24 | flags);
    return place;
}

void
mp4_close(struct mp4_out *o, size_t place)
{
    if (!o->full) {
        uint8_t *first = o->buf->mem + o->buf->head;

        put_be32(first + place, (uint32_t)(buf_len(o->buf) - place));
    }
}

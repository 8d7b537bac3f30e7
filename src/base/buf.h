/*
 * A bounded byte buffer: bytes are added at the end and taken from the front.
 *
 * It holds no memory while it is empty and was buf_trim()med, so that an idle
 * connection costs only the struct.  It never grows over its limit: adding
 * then fails and the caller decides (stop reading, close).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/str.h"

#include <stdarg.h>

struct buf {
    uint8_t *mem; /* owned; NULL while nothing was added */
    size_t size;  /* bytes at mem */
    size_t head;  /* first byte not yet taken */
    size_t tail;  /* end of what was added */
    size_t limit; /* most bytes it may hold at once */
};

void buf_init(struct buf *b, size_t limit);
void buf_clear(struct buf *b); /* frees the memory, keeps the limit */
void buf_trim(struct buf *b);  /* gives memory back if it is empty */

static inline size_t
buf_len(const struct buf *b)
{
    return b->tail - b->head;
}

const uint8_t *buf_data(const struct buf *b); /* buf_len() bytes */
struct str buf_str(const struct buf *b);

/* Room for n more bytes in one piece at the end, to be written by the caller
 * and then committed; NULL when that would pass the limit or memory is out.*/
uint8_t *buf_reserve(struct buf *b, size_t n);
void buf_commit(struct buf *b, size_t n);

/* Bytes that can be reserved before the limit is met. */
static inline size_t
buf_room(const struct buf *b)
{
    size_t len = buf_len(b);

    return len < b->limit ? b->limit - len : 0;
}

/* buf_add() where the memory at hand has no room for it. */
int buf_add_more(struct buf *b, const void *data, size_t n);

/* 0, or -1 with nothing added. */
static inline int
buf_add(struct buf *b, const void *data, size_t n)
{
    if (n == 0) {
        return 0;
    }
    if (n > b->size - b->tail || n > buf_room(b)) {
        return buf_add_more(b, data, n);
    }
    memcpy(b->mem + b->tail, data, n);
    b->tail += n;
    return 0;
}

static inline int
buf_add_str(struct buf *b, struct str s)
{
    return buf_add(b, s.ptr, s.len);
}

/* All of them: buf_join(b, STRS(a, b)). */
int buf_join(struct buf *b, const struct str *parts, size_t count);
int buf_printf(struct buf *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int buf_vprintf(struct buf *b, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

void buf_take(struct buf *b, size_t n);     /* forget n bytes at the front */
void buf_drop_end(struct buf *b, size_t n); /* forget n bytes at the end */

#endif

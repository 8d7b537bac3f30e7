/*
 * Bounded byte buffers.
 *
 * The bytes held lie in one piece at mem + head.  When there is no room
 * behind them they are moved to the front if at least half of the memory is
 * free by that (so that moving stays cheap on the whole), else the memory
 * doubles.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/buf.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define FIRST_SIZE 512

void
buf_init(struct buf *b, size_t limit)
{
    *b = (struct buf){ .limit = limit };
}

void
buf_clear(struct buf *b)
{
    mem_free(&b->mem);
    buf_init(b, b->limit);
}

void
buf_trim(struct buf *b)
{
    if (buf_len(b) == 0) {
        buf_clear(b);
    }
}

const uint8_t *
buf_data(const struct buf *b)
{
    static const uint8_t nothing[1];

    return b->mem != NULL ? b->mem + b->head : nothing;
}

struct str
buf_str(const struct buf *b)
{
    return str_of(buf_data(b), buf_len(b));
}

/* Size to take for len + n bytes: doubled, within the limit. */
static size_t
next_size(const struct buf *b, size_t wanted)
{
    size_t size = b->size > FIRST_SIZE / 2 ? b->size : FIRST_SIZE / 2;

    size = size <= b->limit / 2 ? size * 2 : b->limit;
    return size > wanted ? size : wanted;
}

static int
grow(struct buf *b, size_t wanted)
{
    size_t size = next_size(b, wanted);
    size_t len = buf_len(b);
    uint8_t *mem = try_alloc(size);

    if (mem == NULL) {
        return -1;
    }
    if (len > 0) {
        memcpy(mem, b->mem + b->head, len);
    }
    mem_free_raw(b->mem);
    b->mem = mem;
    b->size = size;
    b->head = 0;
    b->tail = len;
    return 0;
}

uint8_t *
buf_reserve(struct buf *b, size_t n)
{
    size_t len = buf_len(b);

    if (n > buf_room(b)) {
        return NULL;
    }
    if (b->mem != NULL && n <= b->size - b->tail) {
        return b->mem + b->tail;
    }
    if (b->mem != NULL && n <= b->size - len &&
        (len <= b->size / 2 || b->size == b->limit)) {
        memmove(b->mem, b->mem + b->head, len);
        b->head = 0;
        b->tail = len;
    } else if (grow(b, len + n) == -1) {
        return NULL;
    }
    return b->mem + b->tail;
}

void
buf_commit(struct buf *b, size_t n)
{
    assert(n <= b->size - b->tail);
    b->tail += n;
}

int
buf_add_more(struct buf *b, const void *data, size_t n)
{
    uint8_t *to = buf_reserve(b, n);

    if (to == NULL) {
        return -1;
    }
    memcpy(to, data, n);
    buf_commit(b, n);
    return 0;
}

int
buf_join(struct buf *b, const struct str *parts, size_t count)
{
    size_t len = 0;
    uint8_t *to;

    for (size_t i = 0; i < count; i++) {
        len += parts[i].len;
    }
    to = buf_reserve(b, len);
    if (to == NULL) {
        return len == 0 ? 0 : -1;
    }
    for (size_t i = 0; i < count; i++) {
        memcpy(to, parts[i].ptr, parts[i].len);
        to += parts[i].len;
    }
    buf_commit(b, len);
    return 0;
}

int
buf_printf(struct buf *b, const char *format, ...)
{
    va_list args;
    int result;

    va_start(args, format);
    result = buf_vprintf(b, format, args);
    va_end(args);
    return result;
}

/* Prints a text that does not fit on the stack: through a temporary, because
 * the NUL that vsnprintf() adds might be one byte over the limit. */
static int print_long(struct buf *b, size_t n, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

static int
print_long(struct buf *b, size_t n, const char *format, va_list args)
{
    char *text;
    int result;

    if (n > buf_room(b)) {
        return -1;
    }
    text = try_alloc(n + 1);
    if (text == NULL) {
        return -1;
    }
    vsnprintf(text, n + 1, format, args);
    result = buf_add(b, text, n);
    mem_free(&text);
    return result;
}

int
buf_vprintf(struct buf *b, const char *format, va_list args)
{
    char text[512];
    va_list again;
    int n;

    va_copy(again, args);
    n = vsnprintf(text, sizeof(text), format, args);
    if (n >= 0 && (size_t)n < sizeof(text)) {
        n = buf_add(b, text, (size_t)n);
    } else if (n > 0) {
        n = print_long(b, (size_t)n, format, again);
    }
    va_end(again);
    return n;
}

void
buf_take(struct buf *b, size_t n)
{
    assert(n <= buf_len(b));
    b->head += n;
    if (b->head == b->tail) {
        b->head = b->tail = 0;
    }
}

void
buf_drop_end(struct buf *b, size_t n)
{
    assert(n <= buf_len(b));
    b->tail -= n;
}

/*
 * Pools: memory is cut from blocks; what is large gets a block of its own.
 * The pool itself lies in its first block.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/pool.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define ALIGN (_Alignof(max_align_t))
#define SMALLEST_BLOCK 256
#define LARGEST_BLOCK (64 * 1024) /* blocks double up to this */

#if defined(__SANITIZE_ADDRESS__)
#define ONE_BY_ONE true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ONE_BY_ONE true
#endif
#endif
#ifndef ONE_BY_ONE
#define ONE_BY_ONE false
#endif

struct block {
    struct block *next;
    size_t size; /* of the block, this head included */
    _Alignas(max_align_t) char bytes[];
};

struct cleanup {
    struct cleanup *next;
    void (*done)(void *arg);
    void *arg;
};

struct pool {
    struct block *blocks;     /* owned; newest first */
    struct cleanup *cleanups; /* in the pool; newest first */
    char *at;                 /* free bytes of the current block */
    size_t left;
    size_t next_block; /* size of the next one */
    size_t size;       /* bytes of all blocks */
};

static size_t
round_up(size_t n)
{
    assert(n <= SIZE_MAX / 2);
    return (n + ALIGN - 1) & ~(ALIGN - 1);
}

static struct block *
new_block(size_t bytes)
{
    struct block *b = mem_alloc(sizeof(*b) + bytes);

    b->next = NULL;
    b->size = sizeof(*b) + bytes;
    return b;
}

struct pool *
pool_new(size_t first_block)
{
    size_t head = round_up(sizeof(struct pool));
    size_t first = ONE_BY_ONE ? 0 : round_up(first_block);
    struct block *b = new_block(head + first);
    struct pool *p = (struct pool *)(void *)b->bytes;

    *p = (struct pool){ .blocks = b, .size = b->size };
    p->at = b->bytes + head;
    p->left = first;
    p->next_block = first > SMALLEST_BLOCK ? first : SMALLEST_BLOCK;
    return p;
}

void
pool_free(struct pool **pp)
{
    struct pool *p = *pp;
    struct block *b;

    if (p == NULL) {
        return;
    }
    *pp = NULL;
    while (p->cleanups != NULL) { /* one may register another */
        struct cleanup *c = p->cleanups;

        p->cleanups = c->next;
        c->done(c->arg);
    }
    b = p->blocks; /* the last of them holds p */
    while (b != NULL) {
        struct block *next = b->next;

        mem_free_raw(b);
        b = next;
    }
}

static struct block *
add_block(struct pool *p, size_t bytes)
{
    struct block *b = new_block(bytes);

    b->next = p->blocks;
    p->blocks = b;
    p->size += b->size;
    return b;
}

/* n is rounded and does not fit into what is left. */
static void *
alloc_block(struct pool *p, size_t n)
{
    struct block *b;

    if (ONE_BY_ONE || n > p->next_block / 4) {
        return add_block(p, n)->bytes;
    }
    b = add_block(p, p->next_block);
    p->at = b->bytes + n;
    p->left = p->next_block - n;
    if (p->next_block < LARGEST_BLOCK) {
        p->next_block *= 2;
    }
    return b->bytes;
}

void *
pool_alloc(struct pool *p, size_t n)
{
    size_t rounded = round_up(n > 0 ? n : 1);
    void *mem = p->at;

    if (ONE_BY_ONE) { /* not rounded: an overrun of one byte is seen */
        return alloc_block(p, n);
    }
    if (rounded > p->left) {
        return alloc_block(p, rounded);
    }
    p->at += rounded;
    p->left -= rounded;
    return mem;
}

void *
pool_zero(struct pool *p, size_t n)
{
    void *mem = pool_alloc(p, n);

    memset(mem, 0, n);
    return mem;
}

char *
pool_cstr(struct pool *p, struct str s)
{
    char *copy = pool_alloc(p, s.len + 1);

    str_copy(copy, s.len + 1, s);
    return copy;
}

struct str
pool_str(struct pool *p, struct str s)
{
    return (struct str){ pool_cstr(p, s), s.len };
}

struct str
pool_join(struct pool *p, const struct str *parts, size_t count)
{
    size_t len = 0;
    char *text, *to;

    for (size_t i = 0; i < count; i++) {
        len += parts[i].len;
    }
    to = text = pool_alloc(p, len + 1);
    for (size_t i = 0; i < count; i++) {
        memcpy(to, parts[i].ptr, parts[i].len);
        to += parts[i].len;
    }
    *to = '\0';
    return str_of(text, len);
}

struct str
pool_printf(struct pool *p, const char *format, ...)
{
    char shorter[256]; /* most are: printed once */
    va_list args, again;
    struct str text;
    char *to;
    int n;

    va_start(args, format);
    va_copy(again, args);
    n = vsnprintf(shorter, sizeof(shorter), format, args);
    va_end(args);
    assert(n >= 0);
    text = str_of(shorter, (size_t)n);
    if (text.len < sizeof(shorter)) {
        text = pool_str(p, text);
    } else {
        to = pool_alloc(p, text.len + 1);
        vsnprintf(to, text.len + 1, format, again);
        text.ptr = to;
    }
    va_end(again);
    return text;
}

void
pool_on_free(struct pool *p, void (*done)(void *arg), void *arg)
{
    struct cleanup *c = pool_alloc(p, sizeof(*c));

    *c = (struct cleanup){ p->cleanups, done, arg };
    p->cleanups = c;
}

size_t
pool_size(const struct pool *p)
{
    return p->size;
}

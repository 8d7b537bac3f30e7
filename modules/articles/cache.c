/*
 * Answers that a layer keeps: one table, found by a hash of what was asked.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "cache.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

#define PLACES_LEAST 1024 /* a power of two */
#define PLACES_MOST (1 << 20)
#define PLACE_BYTES 512     /* so many of the limit for each place */
#define BODY_MAX (64 << 10) /* bytes of one that is kept */

struct place {
    struct cached answer;
    char *bytes; /* owned: all texts of it; NULL: it is free */
    size_t size; /* of bytes */
};

struct cache {
    size_t limit, used; /* bytes */
    size_t count;       /* of places: a power of two */
    struct place places[];
};

struct cache *
cache_new(int64_t bytes)
{
    struct cache *c;
    size_t count = PLACES_LEAST;

    if (bytes == 0) {
        return NULL;
    }
    while (count < PLACES_MOST && count < (size_t)bytes / PLACE_BYTES) {
        count *= 2;
    }
    c = mem_zero(sizeof(*c) + count * sizeof(c->places[0]));
    c->count = count;
    c->limit = (size_t)bytes;
    return c;
}

static void
drop(struct cache *c, struct place *p)
{
    c->used -= p->size;
    p->size = 0;
    mem_free(&p->bytes);
}

static void
drop_all(struct cache *c)
{
    for (size_t i = 0; i < c->count; i++) {
        drop(c, &c->places[i]);
    }
}

void
cache_free(struct cache **c)
{
    if (*c != NULL) {
        drop_all(*c);
    }
    mem_free(c);
}

static size_t
place_of(const struct cache *c, const struct article_format *format,
         struct str target)
{
    return (hash_str(target) + (uintptr_t)format / sizeof(void *)) &
           (c->count - 1);
}

const struct cached *
cache_find(const struct cache *c, uint64_t version,
           const struct article_format *format, struct str target)
{
    const struct place *p;

    if (c == NULL || version == 0) {
        return NULL;
    }
    p = &c->places[place_of(c, format, target)];
    return p->bytes != NULL && p->answer.version == version &&
                   p->answer.format == format &&
                   str_eq(p->answer.target, target)
               ? &p->answer
               : NULL;
}

static struct str
keep(char **at, struct str s)
{
    struct str kept = str_of(*at, s.len);

    if (s.len > 0) {
        memcpy(*at, s.ptr, s.len);
    }
    *at += s.len;
    return kept;
}

void
cache_put(struct cache *c, const struct cached *a)
{
    size_t size =
        a->target.len + a->body.len + a->tag.len + a->cursor.len + a->link.len;
    struct place *p;
    char *at;

    if (c == NULL || a->version == 0 || size > BODY_MAX || size > c->limit) {
        return;
    }
    p = &c->places[place_of(c, a->format, a->target)];
    drop(c, p);
    if (c->used + size > c->limit) {
        drop_all(c);
    }
    p->bytes = at = mem_alloc(size);
    p->size = size;
    c->used += size;
    p->answer = (struct cached){
        .version = a->version,
        .format = a->format,
        .target = keep(&at, a->target),
        .body = keep(&at, a->body),
        .tag = keep(&at, a->tag),
        .cursor = keep(&at, a->cursor),
        .link = keep(&at, a->link),
    };
}

/*
 * Answers to GET that were made before, kept by a layer in its worker.
 *
 * Answers are made of data in the store, which has a version (store_version()).
 * An answer is current while the store still has the version of which it was
 * made, whichever process writes.  A store without versions has no cache.
 *
 * There is a place for each 512 bytes that may be kept; another answer that
 * hashes to the same place takes it.  Long answers are not kept, and all are
 * dropped when together they have too many bytes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_ARTICLES_CACHE_H
#define MODULES_ARTICLES_CACHE_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct article_format; /* format.h */

struct cached {
    uint64_t version;
    const struct article_format *format;
    /* All of them borrowed from the cache; it owns a copy. */
    struct str target; /* as the request had it */
    struct str body;
    struct str tag;    /* ETag */
    struct str cursor; /* X-Cursor; empty: there is none */
    struct str link;   /* Link, with it */
};

struct cache;

/* bytes: of all answers; 0: keeps none. */
struct cache *cache_new(int64_t bytes);
void cache_free(struct cache **c);

/* NULL, or the answer that was put there under that version; until the next
 * call. */
const struct cached *cache_find(const struct cache *c, uint64_t version,
                                const struct article_format *format,
                                struct str target);
/* Copies what it is given. */
void cache_put(struct cache *c, const struct cached *answer);

#endif

/*
 * Answers to GET that were made before, kept by a layer in its worker.
 *
 * What an answer is made of is in the store, which has a version
 * (store_version()): an answer is as good as a new one while that is the
 * version it was made of, whichever process writes.  Where the store has none
 * nothing is kept.
 *
 * A place for each 512 bytes that may be kept; another answer that hashes to
 * the same place takes it.  Long answers are not kept, and all are dropped when
 * they have become too many bytes.
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

/* bytes: of all that is kept; 0: nothing is. */
struct cache *cache_new(int64_t bytes);
void cache_free(struct cache **c);

/* NULL, or what was put there under that version; until the next call. */
const struct cached *cache_find(const struct cache *c, uint64_t version,
                                const struct article_format *format,
                                struct str target);
/* Copies what it is given. */
void cache_put(struct cache *c, const struct cached *answer);

#endif

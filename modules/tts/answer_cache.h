/*
 * Answers that were given, as sealed memory files, by the digest of what was
 * asked.
 *
 * It holds `most` bytes at most, and a bounded number of descriptors; the
 * answer that was not wanted for longest goes first.  A file costs whole pages,
 * and CACHE_OVERHEAD for what the kernel and this list keep of it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_TTS_ANSWER_CACHE_H
#define MODULES_TTS_ANSWER_CACHE_H

#include "base/list.h"
#include "net/sha256.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CACHE_OVERHEAD 1536 /* bytes */

struct cache_answer {
    int fd;              /* the cache's; sealed */
    int64_t length;      /* bytes */
    int64_t sample_rate; /* Hz */
    int64_t duration;    /* ms */
};

struct answer_cache;

/* It keeps nothing before answer_cache_bound(). */
struct answer_cache *answer_cache_new(void);
void answer_cache_free(struct answer_cache **c);
/* Bytes and descriptors that it may have; drops what is too much now. */
void answer_cache_bound(struct answer_cache *c, int64_t most, size_t files);
void answer_cache_forget_all(struct answer_cache *c);
/* NULL: it is not there. */
const struct cache_answer *answer_cache_find(struct answer_cache *c,
                                             const uint8_t key[DIGEST_SHA256]);
/* Takes a->fd, and closes it at once where there is no room.  Whether it keeps
 * it. */
bool answer_cache_add(struct answer_cache *c, const uint8_t key[DIGEST_SHA256],
                      const struct cache_answer *a);
size_t answer_cache_entries(const struct answer_cache *c);
int64_t answer_cache_bytes(const struct answer_cache *c);

#endif

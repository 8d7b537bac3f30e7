/*
 * Which blocks of a file were seen in the page cache a moment ago, so that they
 * need not be looked for by each of many requests.
 *
 * It knows SEEN_BLOCKS neighbours at once, for SEEN_MS after the first of them
 * was seen; then, and with blocks elsewhere, it begins anew.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_FILE_SEEN_H
#define HTTP_FILE_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#define SEEN_BLOCKS 64
/* The kernel drops pages that were used a moment ago only where memory is so
 * short that it drops all: then the worker waits for one. */
#define SEEN_MS 100

struct seen {        /* all zero: none */
    uint64_t blocks; /* a bit for each */
    int64_t first;   /* the block of bit 0; a multiple of SEEN_BLOCKS */
    int64_t until_ms;
};

bool seen_has(const struct seen *s, int64_t block, int64_t now_ms);
void seen_add(struct seen *s, int64_t block, int64_t now_ms);
void seen_clear(struct seen *s);

#endif

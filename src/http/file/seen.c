/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/file/seen.h"

static int64_t
first_of(int64_t block)
{
    return block - block % SEEN_BLOCKS;
}

static uint64_t
bit_of(int64_t block)
{
    return UINT64_C(1) << block % SEEN_BLOCKS;
}

bool
seen_has(const struct seen *s, int64_t block, int64_t now_ms)
{
    return now_ms < s->until_ms && s->first == first_of(block) &&
           (s->blocks & bit_of(block)) != 0;
}

void
seen_add(struct seen *s, int64_t block, int64_t now_ms)
{
    if (now_ms >= s->until_ms || s->first != first_of(block)) {
        *s = (struct seen){ .first = first_of(block),
                            .until_ms = now_ms + SEEN_MS };
    }
    s->blocks |= bit_of(block);
}

void
seen_clear(struct seen *s)
{
    *s = (struct seen){ .blocks = 0 };
}

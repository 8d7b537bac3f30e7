/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/seldom.h"

bool
seldom(struct seldom *s, int64_t now_ms, uint64_t *skipped)
{
    if (s->said_ms != 0 && now_ms - s->said_ms < SELDOM_MS) {
        s->skipped++;
        return false;
    }
    *skipped = s->skipped;
    s->skipped = 0;
    s->said_ms = now_ms;
    return true;
}

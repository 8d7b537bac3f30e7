/*
 * Saying seldom what happens often: a line of the log for the first, then at
 * most one in a while that tells how many there were.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BASE_SELDOM_H
#define BASE_SELDOM_H

#include <stdbool.h>
#include <stdint.h>

#define SELDOM_MS 10000

struct seldom {
    int64_t said_ms;  /* clock_ms(); 0: never */
    uint64_t skipped; /* since then */
};

/* Whether to say it now; *skipped: how often it was not since the last time.
 * now_ms: clock_ms(). */
bool seldom(struct seldom *s, int64_t now_ms, uint64_t *skipped);

#endif

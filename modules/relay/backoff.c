/*
 * The wait doubles with each failure, and up to a quarter of it is random.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "backoff.h"

/* A remote that is started again is back in seconds: so long it is asked
 * every second, then ever less often. */
#define QUICK_TRIES 4
#define DOUBLINGS 5 /* 32 s: more than the most */

int64_t
backoff_delay(unsigned failures, uint32_t random)
{
    unsigned doublings = failures > QUICK_TRIES ? failures - QUICK_TRIES : 0;
    int64_t delay = (int64_t)BACKOFF_LEAST_MS
                    << (doublings < DOUBLINGS ? doublings : DOUBLINGS);

    if (delay > BACKOFF_MOST_MS) {
        delay = BACKOFF_MOST_MS;
    }
    /* Up to a quarter more, or less where there may be no more. */
    delay +=
        random % (delay / 4 + 1) - (delay == BACKOFF_MOST_MS ? delay / 4 : 0);
    return delay < BACKOFF_MOST_MS ? delay : BACKOFF_MOST_MS;
}

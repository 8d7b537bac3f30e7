/*
 * How long a relay waits before it connects again.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_RELAY_BACKOFF_H
#define MODULES_RELAY_BACKOFF_H

#include <stdint.h>

#define BACKOFF_LEAST_MS 1000
#define BACKOFF_MOST_MS 30000
/* A relay that ran so long before it failed begins anew. */
#define BACKOFF_STABLE_MS 10000

/* failures: in a row, 1 or more.  random: anything, so that the relays of a
 * remote that comes back do not all connect at once. */
int64_t backoff_delay(unsigned failures, uint32_t random);

#endif

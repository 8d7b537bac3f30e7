/*
 * Random bytes from the system.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/rand.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

void
rand_bytes(void *dst, size_t n)
{
    char *to = dst;

    while (n > 0) {
        ssize_t got = getrandom(to, n, 0);

        if (got == -1 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            abort();
        }
        to += got;
        n -= (size_t)got;
    }
}

uint64_t
rand_below(uint64_t limit)
{
    uint64_t n, uneven;

    assert(limit > 0);
    /* 2^64 is no multiple of the limit: the first few values, which would
     * come up once more often than the rest, are drawn again. */
    uneven = -limit % limit;
    do {
        rand_bytes(&n, sizeof(n));
    } while (n < uneven);
    return n % limit;
}

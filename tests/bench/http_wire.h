/*
 * Whole HTTP/1.1 answers, as a client of polls and upgrades reads them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_HTTP_WIRE_H
#define BENCH_HTTP_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct http_in {
    unsigned status;
    bool closes; /* the connection ends with it */
    uint8_t *body;
    size_t size;
};

/* The answer that p begins with: how long it is all in all; 0: it is not whole
 * yet; -1 with why.  A body in chunks is joined in place.  That of 101 is
 * empty. */
ssize_t http_read(uint8_t *p, size_t n, struct http_in *a, const char **why);

#endif

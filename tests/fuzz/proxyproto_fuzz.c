/*
 * Fuzz target: PROXY protocol headers.
 *
 * What is found of a header must not depend on how much of it, or behind it,
 * is there; what a right header says lies within it.
 *
 * covers: src/net/proxy_header.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "net/proxy_header.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A copy of its own size, so that reading behind it is seen. */
static ssize_t
parse(const uint8_t *data, size_t n)
{
    uint8_t *copy = malloc(n > 0 ? n : 1);
    struct proxy_header h;
    const char *why = NULL;

    if (n > 0) {
        memcpy(copy, data, n);
    }
    ssize_t len = proxy_parse(copy, n, &h, &why);

    if (len > (ssize_t)n || len > PROXY_HEADER_MAX ||
        (len < 0 && why == NULL) || (n >= PROXY_HEADER_MAX && len == 0)) {
        abort();
    }
    if (len > 0 && !h.local && h.client.family == AF_UNSPEC) {
        abort();
    }
    if (len > 0 && h.authority.len > 0 &&
        ((const uint8_t *)h.authority.ptr < copy ||
         (const uint8_t *)h.authority.ptr + h.authority.len > copy + len)) {
        abort();
    }
    free(copy);
    return len;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ssize_t whole = parse(data, size);

    if (whole > 0) {
        for (size_t i = 0; i < (size_t)whole; i++) {
            if (parse(data, i) != 0) {
                abort();
            }
        }
        if (parse(data, (size_t)whole) != whole) {
            abort();
        }
    } else if (size > 0 && whole == 0 && parse(data, size - 1) != 0) {
        abort();
    }
    return 0;
}

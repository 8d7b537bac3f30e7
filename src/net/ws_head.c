/*
 * Headers of the frames of a WebSocket.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/ws_head.h"

enum { IN_16_BITS = 126, IN_64_BITS = 127 };

/* Of the length, behind the first two. */
static size_t
length_bytes(size_t len)
{
    return len < IN_16_BITS ? 0 : len < 65536 ? 2 : 8;
}

size_t
ws_head_size(size_t len)
{
    return 2 + length_bytes(len);
}

uint8_t *
ws_put_head(uint8_t *end, unsigned first, size_t len)
{
    size_t bytes = length_bytes(len);
    uint8_t *p = end;

    for (size_t i = 0; i < bytes; i++) {
        *--p = (uint8_t)((uint64_t)len >> (8 * i));
    }
    *--p = (uint8_t)(bytes == 0 ? len : bytes == 2 ? IN_16_BITS : IN_64_BITS);
    *--p = (uint8_t)first;
    return p;
}

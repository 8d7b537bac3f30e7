/*
 * WebSocket frames as a client reads and writes them (RFC 6455, 5).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_WS_WIRE_H
#define BENCH_WS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    WS_CONTINUATION = 0,
    WS_TEXT = 1,
    WS_BINARY = 2,
    WS_CLOSE = 8,
    WS_PING = 9,
    WS_PONG = 10,
    WS_HEAD_MAX = 14, /* bytes of a frame beside its data */
};

struct ws_in {
    bool final;
    uint8_t opcode;
    const uint8_t *data; /* in the bytes that were read */
    size_t size;
};

/* The frame that p begins with: how long it is all in all; 0: it is not whole
 * yet; -1 with why: no server may send that. */
ssize_t ws_read(const uint8_t *p, size_t n, struct ws_in *f, const char **why);
/* Writes a masked frame that is final; to has room for WS_HEAD_MAX + n bytes.
 * Returns its length. */
size_t ws_write(uint8_t *to, uint8_t opcode, uint32_t mask, const void *data,
                size_t n);

#endif

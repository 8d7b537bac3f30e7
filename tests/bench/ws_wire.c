/*
 * Heads of frames and masks.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "ws_wire.h"

#include "common.h"

enum { FRAME_MAX = 1 << 28 };

/* Bytes of the head; 0: it is not whole. */
static size_t
read_length(const uint8_t *p, size_t n, uint64_t *length)
{
    unsigned said = p[1] & 0x7f;

    if (said < 126) {
        *length = said;
        return 2;
    }
    if (said == 126) {
        *length = n < 4 ? 0 : get_be16(p + 2);
        return n < 4 ? 0 : 4;
    }
    *length = n < 10 ? 0 : (uint64_t)get_be32(p + 2) << 32 | get_be32(p + 6);
    return n < 10 ? 0 : 10;
}

/* NULL, or what is wrong with a head. */
static const char *
judge(const uint8_t *p, uint64_t length)
{
    bool control = (p[0] & 8) != 0;

    if ((p[0] & 0x70) != 0) {
        return "a frame with a reserved bit";
    }
    if ((p[1] & 0x80) != 0) {
        return "a frame of a server with a mask";
    }
    if ((p[0] & 0xf) > WS_PONG ||
        ((p[0] & 0xf) > WS_BINARY && (p[0] & 0xf) < WS_CLOSE)) {
        return "a frame of an unknown kind";
    }
    if (control && (length > 125 || (p[0] & 0x80) == 0)) {
        return "a control frame that is long or cut";
    }
    return length > FRAME_MAX ? "a frame of more than 256 MB" : NULL;
}

ssize_t
ws_read(const uint8_t *p, size_t n, struct ws_in *f, const char **why)
{
    uint64_t length = 0;
    size_t head = n < 2 ? 0 : read_length(p, n, &length);

    if (head == 0) {
        return 0;
    }
    *why = judge(p, length);
    if (*why != NULL) {
        return -1;
    }
    if (n - head < length) {
        return 0;
    }
    *f = (struct ws_in){ .final = (p[0] & 0x80) != 0,
                         .opcode = p[0] & 0xf,
                         .data = p + head,
                         .size = (size_t)length };
    return (ssize_t)(head + length);
}

size_t
ws_write(uint8_t *to, uint8_t opcode, uint32_t mask, const void *data, size_t n)
{
    const uint8_t *from = data;
    uint8_t *p = to;
    uint8_t key[4];

    put_be32(key, mask);
    *p++ = (uint8_t)(0x80 | opcode);
    if (n < 126) {
        *p++ = (uint8_t)(0x80 | n);
    } else if (n < 65536) {
        *p++ = 0x80 | 126;
        p = put_be16(p, (uint32_t)n);
    } else {
        *p++ = 0x80 | 127;
        p = put_be32(p, (uint32_t)((uint64_t)n >> 32));
        p = put_be32(p, (uint32_t)n);
    }
    p = put_bytes(p, key, sizeof(key));
    for (size_t i = 0; i < n; i++) {
        *p++ = from[i] ^ key[i % 4];
    }
    return (size_t)(p - to);
}

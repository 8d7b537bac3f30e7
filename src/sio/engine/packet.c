/*
 * Packets in text.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sio/engine/packet.h"

#include <string.h>

#include "base/base64.h"
#include "base/mem.h"

/* Header of a frame from the server (RFC 6455 5.2). */
#define HEADER 2
#define HEADER_16 4 /* from 126 bytes on */
#define HEADER_64 10

struct packet
packet_read(struct str text)
{
    struct packet p = { PACKET_BAD, str_skip(text, 1) };
    char type = text.len > 0 ? text.ptr[0] : '\0';

    if ((type >= PACKET_OPEN && type <= PACKET_NOOP) || type == PACKET_BINARY) {
        p.type = (enum packet_type)type;
    }
    return p;
}

bool
packet_cut(struct str *payload, struct str *text)
{
    bool more = str_find(*payload, PACKET_SEPARATOR, 0) < payload->len;

    *text = str_cut(payload, PACKET_SEPARATOR);
    return more;
}

int
packet_decode(struct str base64, uint8_t **out, size_t *n)
{
    uint8_t *bytes = try_alloc(base64.len / 4 * 3 + 3);

    if (bytes == NULL) {
        return -1;
    }
    if (!base64_decode_to(BASE64, base64, bytes, n)) {
        mem_free(&bytes);
        return -1;
    }
    *out = bytes;
    return 0;
}

size_t
packet_length(const struct ws_frame *f, enum packet_form form)
{
    if (f->binary && form != PACKET_FRAME) {
        return 1 + (f->len + 2) / 3 * 4;
    }
    return f->len;
}

size_t
packet_size(const struct ws_frame *f, enum packet_form form)
{
    size_t n = packet_length(f, form);

    if (form == PACKET_PAYLOAD) {
        return n + 1;
    }
    if (n < 126) {
        return n + HEADER;
    }
    return n + (n <= UINT16_MAX ? HEADER_16 : HEADER_64);
}

size_t
packet_write(const struct ws_frame *f, char *out)
{
    if (!f->binary) {
        memcpy(out, f->data, f->len);
        return f->len;
    }
    *out = PACKET_BINARY;
    base64_encode(BASE64, f->data, f->len, out + 1);
    return packet_length(f, PACKET_PAYLOAD);
}

/*
 * Writes RTMP chunks.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rtmp_wire.h"

#include "common.h"

#include <stdbool.h>

enum { EXTENDED = 0xffffff }; /* this timestamp: the real one follows */

size_t
rtmp_room(size_t size, uint32_t chunk_size)
{
    return size + 16 + (size / chunk_size + 1) * 5;
}

uint8_t *
rtmp_put(uint8_t *p, const struct rtmp_head *head, const uint8_t *body,
         size_t size, uint32_t chunk_size)
{
    bool extended = head->timestamp >= EXTENDED;

    *p++ = (uint8_t)head->csid;
    p = put_be24(p, extended ? EXTENDED : head->timestamp);
    p = put_be24(p, (uint32_t)size);
    *p++ = (uint8_t)head->type;
    p = put_le32(p, head->msid);
    for (;;) {
        size_t part = size < chunk_size ? size : chunk_size;

        if (extended) {
            p = put_be32(p, head->timestamp);
        }
        p = put_bytes(p, body, part);
        body += part;
        size -= part;
        if (size == 0) {
            return p;
        }
        *p++ = (uint8_t)(0xc0 | head->csid);
    }
}

static uint8_t *
put_on_control(uint8_t *p, enum rtmp_type type, const uint8_t *body,
               size_t size)
{
    struct rtmp_head head = { .csid = CSID_CONTROL, .type = type };

    return rtmp_put(p, &head, body, size, RTMP_DEFAULT_CHUNK);
}

uint8_t *
rtmp_put_control(uint8_t *p, enum rtmp_type type, uint32_t value)
{
    uint8_t body[5];
    size_t size = type == RTMP_PEER_BANDWIDTH ? 5 : 4;

    put_be32(body, value);
    body[4] = 2; /* limit type: dynamic */
    return put_on_control(p, type, body, size);
}

uint8_t *
rtmp_put_event(uint8_t *p, uint32_t event, uint32_t first)
{
    uint8_t body[6];

    put_be32(put_be16(body, event), first);
    return put_on_control(p, RTMP_USER_CONTROL, body, sizeof(body));
}

uint8_t *
rtmp_put_buffer_length(uint8_t *p, uint32_t msid, uint32_t ms)
{
    uint8_t body[10];

    put_be32(put_be32(put_be16(body, EVENT_BUFFER_LENGTH), msid), ms);
    return put_on_control(p, RTMP_USER_CONTROL, body, sizeof(body));
}

uint8_t *
rtmp_put_command(uint8_t *p, uint32_t msid, const uint8_t *body, size_t size,
                 uint32_t chunk_size)
{
    struct rtmp_head head = {
        .csid = CSID_COMMAND,
        .type = RTMP_COMMAND,
        .msid = msid,
    };

    return rtmp_put(p, &head, body, size, chunk_size);
}

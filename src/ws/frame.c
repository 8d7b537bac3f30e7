/*
 * Messages that are made once and sent many times.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "ws/frame.h"

#include <assert.h>

#include "base/mem.h"
#include "ws/ws_impl.h"

struct ws_frame *
ws_frame_new(size_t len, bool binary)
{
    struct ws_frame *f = try_alloc(sizeof(*f) + WS_HEAD_ROOM + len);

    if (f != NULL) {
        *f = (struct ws_frame){ .holders = 1, .binary = binary, .len = len };
        f->data = (unsigned char *)(f + 1) + WS_HEAD_ROOM;
    }
    return f;
}

uint8_t *
ws_put_head(uint8_t *end, unsigned first, size_t len)
{
    size_t bytes = len < IN_16_BITS ? 0 : len < 65536 ? 2 : 8;
    uint8_t *p = end;

    for (size_t i = 0; i < bytes; i++) {
        *--p = (uint8_t)((uint64_t)len >> (8 * i));
    }
    *--p = (uint8_t)(bytes == 0 ? len : bytes == 2 ? IN_16_BITS : IN_64_BITS);
    *--p = (uint8_t)first;
    return p;
}

struct ws_frame *
ws_frame_hold(struct ws_frame *f)
{
    f->holders++;
    return f;
}

void
ws_frame_let_go(struct ws_frame **f)
{
    struct ws_frame *it = *f;

    *f = NULL;
    if (it != NULL) {
        assert(it->holders > 0);
        if (--it->holders == 0) {
            ws_frame_let_go(&it->deflated);
            mem_free(&it);
        }
    }
}

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

/*
 * A message of a WebSocket (RFC 6455), made once and shared by all connections
 * that send it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef WS_FRAME_H
#define WS_FRAME_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct ws_frame {
    uint32_t holders; /* it is freed when the last one lets it go */
    bool binary;
    bool bounded;        /* few such frames are alive at once: queues of clients
                            do not count its bytes */
    size_t len;          /* bytes of the message */
    unsigned char *data; /* owned; the header's room lies in front of it */
    struct ws_frame *deflated; /* owned; the layer's: the same, compressed */
    bool stiff;                /* compressing it is no use */
};

/* One holder, with len bytes to be filled in.  NULL: memory is out. */
struct ws_frame *ws_frame_new(size_t len, bool binary);
struct ws_frame *ws_frame_hold(struct ws_frame *f);
void ws_frame_let_go(struct ws_frame **f); /* NULL is fine */

static inline struct str
ws_frame_str(const struct ws_frame *f)
{
    return str_of(f->data, f->len);
}

#endif

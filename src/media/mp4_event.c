/*
 * Messages beside samples: the event message box (ISO/IEC 23009-1, 5.10.3.3,
 * version 1, whose times are those of the tracks).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "media/mp4_impl.h"

#define TIMESCALE 1000 /* ms */

static void
add_string(struct mp4_out *o, struct str s)
{
    mp4_add(o, s.ptr, s.len);
    mp4_u8(o, 0);
}

void
mp4_event(struct mp4_out *o, const struct media_event *e)
{
    size_t box = mp4_open_full(o, "emsg", 1, 0);

    mp4_u32(o, TIMESCALE);
    mp4_u64(o, e->time > 0 ? (uint64_t)e->time : 0);
    mp4_u32(o, 0); /* how long it lasts: no time */
    mp4_u32(o, e->id);
    add_string(o, e->scheme);
    add_string(o, e->value);
    mp4_add(o, e->data.ptr, e->data.len);
    mp4_close(o, box);
}

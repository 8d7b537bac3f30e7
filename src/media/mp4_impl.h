/*
 * Fragmented MP4 in parts.
 *
 *   mp4.c           the container: file type and movie box
 *   mp4_box.c       boxes and their numbers
 *   mp4_entry.c     sample entries, of each codec its own
 *   mp4_fragment.c  the boxes before samples
 *   mp4_event.c     messages beside them
 *   mp4_shift.c     other times for one player
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MEDIA_MP4_IMPL_H
#define MEDIA_MP4_IMPL_H

#include "media/container.h"

/* ---- boxes (ISO/IEC 14496-12, 4.2) ---- */

/* Where boxes are written to; once it is full nothing more is added. */
struct mp4_out {
    struct buf *buf; /* borrowed */
    size_t start;    /* its length before */
    bool full;
};

struct mp4_out mp4_out_to(struct buf *buf);
/* 0; or -1 when there was no room, with nothing left of what was added. */
int mp4_out_end(struct mp4_out *o);

void mp4_add(struct mp4_out *o, const void *data, size_t n);
void mp4_zeros(struct mp4_out *o, size_t n);
void mp4_u8(struct mp4_out *o, uint32_t v);
void mp4_u16(struct mp4_out *o, uint32_t v);
void mp4_u32(struct mp4_out *o, uint32_t v);
void mp4_u64(struct mp4_out *o, uint64_t v);
/* Begins a box of four letters; returns its place, for mp4_close(). */
size_t mp4_open(struct mp4_out *o, const char *type);
/* The same with a version (8 bits) and flags (24). */
size_t mp4_open_full(struct mp4_out *o, const char *type, uint32_t version,
                     uint32_t flags);
/* Ends it: its size is known. */
void mp4_close(struct mp4_out *o, size_t place);

/* ---- parts ---- */

bool mp4_carries(const struct media_track *t);
/* The sample entry of a track that is carried. */
void mp4_entry(struct mp4_out *o, const struct media_track *t);
/* A message: "emsg". */
void mp4_event(struct mp4_out *o, const struct media_event *e);
/* As media_container.fragment. */
int mp4_fragment(struct buf *out, const struct media_fragment *f);

#endif

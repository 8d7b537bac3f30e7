/*
 * Batches: ranges of the arena for one writev, in a player's framing.
 *
 * A batch is built from numbers alone (stream, frame, offset) and lives for one
 * turn; it may begin and end inside a frame.  Nothing here sends.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/batch.h"

#include <string.h>

/* One frame on its way into a batch. */
struct filling {
    struct batch *batch;
    struct stream *stream;
    const struct frame *frame;
    uint64_t number;
    uint32_t skip; /* bytes of the frame that have gone out before */
    uint32_t done; /* bytes of it passed or taken */
};

bool
batch_is_common(const struct batch_view *v)
{
    return (v->framing == LIVE_FLV || v->stream_id == 1) && !v->no_audio &&
           !v->no_video;
}

static bool
is_wanted(const struct batch_view *v, const struct frame *f)
{
    return !(v->no_audio && f->type == MEDIA_AUDIO) &&
           !(v->no_video && f->type == MEDIA_VIDEO);
}

static uint32_t
size_of(const struct batch_view *v, const struct frame *f)
{
    if (!is_wanted(v, f)) {
        return 0;
    }
    return v->framing == LIVE_RTMP
               ? f->wire_len
               : FLV_TAG_HEADER + f->payload_len + FLV_TAG_TRAILER;
}

uint32_t
batch_frame_size(struct stream *s, const struct batch_view *v, uint64_t frame)
{
    return size_of(v, frame_at(s, frame));
}

/* Adds a range, or what is left of it behind skip; false: no place. */
static bool
add_range(struct filling *fill, const uint8_t *bytes, uint32_t len)
{
    struct batch *b = fill->batch;
    uint32_t skip = fill->skip < len ? fill->skip : len;
    struct iovec *last = b->count > 0 ? &b->ranges[b->count - 1] : NULL;

    fill->skip -= skip;
    bytes += skip;
    len -= skip;
    if (len > 0) {
        if (last != NULL &&
            (const uint8_t *)last->iov_base + last->iov_len == bytes) {
            last->iov_len += len;
        } else if (b->count == BATCH_RANGES) {
            fill->done += skip;
            return false;
        } else {
            b->ranges[b->count].iov_base = (void *)(uintptr_t)bytes;
            b->ranges[b->count++].iov_len = len;
        }
        b->bytes += len;
    }
    fill->done += skip + len;
    return true;
}

/* Bytes of the media ring, split where segments end. */
static bool
add_media(struct filling *fill, uint64_t position, uint32_t len)
{
    while (len > 0) {
        uint32_t room = SEGMENT_SIZE - (uint32_t)(position % SEGMENT_SIZE);
        uint32_t n = len < room ? len : room;

        if (!add_range(fill, media_at(fill->stream, position), n)) {
            return false;
        }
        position += n;
        len -= n;
    }
    return true;
}

/* The frame's header rewritten for another message stream id. */
static bool
add_own_header(struct filling *fill, uint32_t stream_id)
{
    struct batch *b = fill->batch;
    uint8_t *header;

    if (b->count == BATCH_RANGES) {
        return false;
    }
    header = b->headers[b->count];
    media_rtmp_header(header, (enum media_type)fill->frame->type,
                      fill->frame->timestamp, fill->frame->payload_len,
                      stream_id);
    return add_range(fill, header, fill->frame->header_len);
}

static bool
add_rtmp(struct filling *fill, const struct batch_view *v)
{
    const struct frame *f = fill->frame;

    if (v->stream_id == 1) {
        return add_media(fill, f->position, f->wire_len);
    }
    return add_own_header(fill, v->stream_id) &&
           add_media(fill, f->position + f->header_len,
                     f->wire_len - f->header_len);
}

/* The payload without the chunk headers between its parts. */
static bool
add_payload(struct filling *fill)
{
    const struct frame *f = fill->frame;
    uint32_t chunk = fill->stream->chunk_size;
    uint64_t position = f->position + f->header_len;
    uint32_t left = f->payload_len;

    while (left > 0) {
        uint32_t n = left < chunk ? left : chunk;

        if (!add_media(fill, position, n)) {
            return false;
        }
        position += n + f->continue_len;
        left -= n;
    }
    return true;
}

static bool
add_flv(struct filling *fill)
{
    uint8_t *flv =
        index_of(fill->stream, fill->number)->flv[fill->number % INDEX_FRAMES];

    return add_range(fill, flv, FLV_TAG_HEADER) && add_payload(fill) &&
           add_range(fill, flv + FLV_TAG_HEADER, FLV_TAG_TRAILER);
}

static void
count_frame(const struct frame *f, uint64_t *video, uint64_t *audio)
{
    if (f->type == MEDIA_VIDEO) {
        *video += f->payload_len;
    } else if (f->type == MEDIA_AUDIO) {
        *audio += f->payload_len;
    }
}

/* Adds the frame at b->to and moves b->to behind what was added; false when
 * the batch is full. */
static bool
add_frame(struct batch *b, struct stream *s, const struct batch_view *v)
{
    struct filling fill = {
        .batch = b,
        .stream = s,
        .frame = frame_at(s, b->to.frame),
        .number = b->to.frame,
        .skip = b->to.offset,
    };
    bool whole = true;

    if (is_wanted(v, fill.frame)) {
        whole = v->framing == LIVE_RTMP ? add_rtmp(&fill, v) : add_flv(&fill);
        if (whole) {
            count_frame(fill.frame, &b->video, &b->audio);
        }
    }
    if (!whole) {
        b->to.offset = fill.done;
        return false;
    }
    b->to = (struct cursor){ .frame = b->to.frame + 1 };
    return true;
}

void
batch_fill(struct batch *b, struct stream *s, const struct batch_view *v,
           struct cursor from, uint64_t end)
{
    b->from = b->to = from;
    b->count = 0;
    b->bytes = 0;
    b->video = b->audio = 0;
    while (b->to.frame < end && b->bytes < BATCH_BYTES) {
        if (!add_frame(b, s, v)) {
            break;
        }
    }
    b->message =
        (struct msghdr){ .msg_iov = b->ranges, .msg_iovlen = (size_t)b->count };
}

struct cursor
batch_cursor(const struct batch *b, struct stream *s,
             const struct batch_view *v, size_t sent, uint64_t *video,
             uint64_t *audio)
{
    struct cursor at = b->from;

    *video = *audio = 0;
    while (at.frame < b->to.frame || at.offset < b->to.offset) {
        const struct frame *f = frame_at(s, at.frame);
        uint32_t left = size_of(v, f) - at.offset;

        if (is_wanted(v, f)) {
            if (sent < left) {
                at.offset += (uint32_t)sent;
                break;
            }
            count_frame(f, video, audio);
        } else {
            left = 0;
        }
        sent -= left;
        at = (struct cursor){ .frame = at.frame + 1 };
    }
    return at;
}

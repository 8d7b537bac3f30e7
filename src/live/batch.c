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

#include "net/ws_head.h"

#define MESSAGE_MAX 0xffffffu /* bytes; RTMP and FLV have no longer ones */

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
    return (v->framing != LIVE_RTMP || v->stream_id == 1) && !v->no_audio &&
           !v->no_video && !v->set_data_frame;
}

static bool
is_wanted(const struct batch_view *v, const struct frame *f)
{
    return !(v->no_audio && f->type == MEDIA_AUDIO) &&
           !(v->no_video && f->type == MEDIA_VIDEO);
}

/* Metadata of a player that is a publisher elsewhere. */
static bool
is_announced(const struct batch_view *v, const struct frame *f)
{
    return v->set_data_frame && (f->flags & MEDIA_META) != 0;
}

/* Bytes of a frame as an FLV tag. */
static uint32_t
tag_size(const struct frame *f)
{
    return FLV_TAG_HEADER + f->payload_len + FLV_TAG_TRAILER;
}

/* Bytes of a frame in a player's framing, in chunks as its stream has them. */
static uint32_t
size_of(const struct stream *s, const struct batch_view *v,
        const struct frame *f)
{
    if (!is_wanted(v, f)) {
        return 0;
    }
    if (is_announced(v, f)) {
        return (uint32_t)media_rtmp_size(
            f->timestamp, f->payload_len + MEDIA_SET_DATA_FRAME, s->chunk_size);
    }
    switch (v->framing) {
    case LIVE_RTMP:
        return f->wire_len;
    case LIVE_FLV:
        return tag_size(f);
    case LIVE_FLV_WS:
        return (uint32_t)ws_head_size(tag_size(f)) + tag_size(f);
    }
    return 0;
}

uint32_t
batch_frame_size(struct stream *s, const struct batch_view *v, uint64_t frame)
{
    return size_of(s, v, frame_at(s, frame));
}

bool
batch_is_whole(struct stream *s, uint64_t frame)
{
    const struct frame *f = frame_at(s, frame);

    return f->payload_len <= MESSAGE_MAX && s->chunk_size >= LIVE_CHUNK_MIN &&
           f->wire_len ==
               media_rtmp_size(f->timestamp, f->payload_len, s->chunk_size);
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

/* The frame's header rewritten for another message stream id or length. */
static bool
add_own_header(struct filling *fill, uint32_t stream_id, uint32_t len)
{
    struct batch *b = fill->batch;
    uint8_t *header;

    if (b->count == BATCH_RANGES) {
        return false;
    }
    header = b->headers[b->count];
    /* As long as it was written, whatever the frame says of its own. */
    size_t n = media_rtmp_header(header, (enum media_type)fill->frame->type,
                                 fill->frame->timestamp, len, stream_id);

    return add_range(fill, header, (uint32_t)n);
}

/* The header between two chunks, where they are not the arena's. */
static bool
add_own_continue(struct filling *fill)
{
    struct batch *b = fill->batch;
    uint8_t *header;

    if (b->count == BATCH_RANGES) {
        return false;
    }
    header = b->headers[b->count];
    return add_range(fill, header,
                     (uint32_t)media_rtmp_continue(
                         header, (enum media_type)fill->frame->type,
                         fill->frame->timestamp));
}

static bool
add_rtmp(struct filling *fill, const struct batch_view *v)
{
    const struct frame *f = fill->frame;

    if (v->stream_id == 1) {
        return add_media(fill, f->position, f->wire_len);
    }
    return add_own_header(fill, v->stream_id, f->payload_len) &&
           add_media(fill, f->position + f->header_len,
                     f->wire_len - f->header_len);
}

/* Up to n bytes from byte `at` of "@setDataFrame" and the payload behind it, as
 * many as lie in one piece; how many, 0: no place. */
static uint32_t
add_announced_part(struct filling *fill, uint32_t at, uint32_t n)
{
    const struct frame *f = fill->frame;
    uint32_t chunk = fill->stream->chunk_size;
    uint32_t from = at - MEDIA_SET_DATA_FRAME; /* in the payload */
    uint32_t piece;

    if (at < MEDIA_SET_DATA_FRAME) {
        piece = MEDIA_SET_DATA_FRAME - at;
        n = n < piece ? n : piece;
        return add_range(fill, media_set_data_frame + at, n) ? n : 0;
    }
    piece = chunk - from % chunk;
    n = n < piece ? n : piece;
    return add_media(fill,
                     f->position + f->header_len + from +
                         (uint64_t)(from / chunk) * f->continue_len,
                     n)
               ? n
               : 0;
}

/* Metadata with "@setDataFrame" before it, in chunks of its own. */
static bool
add_announced(struct filling *fill, const struct batch_view *v)
{
    uint32_t len = fill->frame->payload_len + MEDIA_SET_DATA_FRAME;
    uint32_t chunk = fill->stream->chunk_size;
    uint32_t done = 0;

    if (!add_own_header(fill, v->stream_id, len)) {
        return false;
    }
    while (done < len) {
        uint32_t left = chunk - done % chunk;
        uint32_t n;

        if (done > 0 && left == chunk && !add_own_continue(fill)) {
            return false;
        }
        n = add_announced_part(fill, done,
                               left < len - done ? left : len - done);
        if (n == 0) {
            return false;
        }
        done += n;
    }
    return true;
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

/* Header and trailer of the frame's tag. */
static const uint8_t *
flv_of(const struct filling *fill)
{
    return index_of(fill->stream, fill->number)
        ->flv[fill->number % INDEX_FRAMES];
}

static bool
add_flv(struct filling *fill)
{
    const uint8_t *flv = flv_of(fill);

    return add_range(fill, flv, FLV_TAG_HEADER) && add_payload(fill) &&
           add_range(fill, flv + FLV_TAG_HEADER, FLV_TAG_TRAILER);
}

/* Adds a copy of bytes that go before or behind a payload. */
static bool
add_around(struct filling *fill, const uint8_t *bytes, size_t n)
{
    struct batch *b = fill->batch;
    uint8_t *copy = b->around + b->around_len;

    if (b->around_len + n > sizeof(b->around)) {
        return false;
    }
    memcpy(copy, bytes, n);
    b->around_len += n;
    return add_range(fill, copy, (uint32_t)n);
}

/* Each tag is a message of its own: so its header is the same for all, and a
 * player stands in a message when it stands in a frame. */
static bool
add_flv_ws(struct filling *fill)
{
    const uint8_t *flv = flv_of(fill);
    uint8_t both[WS_HEAD_ROOM + FLV_TAG_HEADER];
    uint8_t *tag = both + WS_HEAD_ROOM;
    uint8_t *head = ws_put_head(tag, WS_HEAD_BINARY, tag_size(fill->frame));

    memcpy(tag, flv, FLV_TAG_HEADER);
    return add_around(fill, head, (size_t)(tag - head) + FLV_TAG_HEADER) &&
           add_payload(fill) &&
           add_around(fill, flv + FLV_TAG_HEADER, FLV_TAG_TRAILER);
}

static bool
add_framed(struct filling *fill, const struct batch_view *v)
{
    if (is_announced(v, fill->frame)) {
        return add_announced(fill, v);
    }
    switch (v->framing) {
    case LIVE_RTMP:
        return add_rtmp(fill, v);
    case LIVE_FLV:
        return add_flv(fill);
    case LIVE_FLV_WS:
        return add_flv_ws(fill);
    }
    return false;
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
        whole = add_framed(&fill, v);
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
    b->around_len = 0;
    b->video = b->audio = 0;
    while (b->to.frame < end && b->bytes < BATCH_BYTES) {
        if (!batch_is_whole(s, b->to.frame) || !add_frame(b, s, v)) {
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
        uint32_t left = size_of(s, v, f) - at.offset;

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

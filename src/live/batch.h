/*
 * The bytes that a player is sent in one go: ranges of the arena, the same for
 * all players at the same place.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_BATCH_H
#define LIVE_BATCH_H

#include "live/arena.h"

#include <sys/socket.h>
#include <sys/uio.h>

#define BATCH_RANGES 64
#define BATCH_BYTES (512u * 1024)

/* The form in which a player gets its frames. */
struct batch_view {
    enum live_framing framing;
    uint32_t stream_id; /* RTMP: not 1 means headers of its own */
    bool no_audio, no_video;
    bool set_data_frame; /* before metadata; RTMP only */
};

/* A place between bytes: inside a frame when offset > 0. */
struct cursor {
    uint64_t frame;
    uint32_t offset; /* bytes of the frame (in its framing) that are sent */
};

struct batch {
    struct cursor from, to;
    struct iovec ranges[BATCH_RANGES];
    int count;
    size_t bytes;
    struct msghdr message; /* of these ranges */
    uint64_t video, audio; /* payload bytes of frames that end in it */
    union {
        /* Chunk headers of players that need their own; a byte between them, so
         * that two are never one range. */
        uint8_t headers[BATCH_RANGES][RTMP_HEADER_MAX + 1];
        /* LIVE_FLV_WS: all that goes around payloads.  The bytes behind one and
         * those before the next are one range, as in the arena. */
        uint8_t around[BATCH_RANGES * RTMP_HEADER_MAX];
    };
    size_t around_len;
};

/* Whether all players with this framing get the same bytes. */
bool batch_is_common(const struct batch_view *v);

/* Fills b with the bytes between from and frame number end, as many as fit.
 * The ranges are good until the turn ends. */
void batch_fill(struct batch *b, struct stream *s, const struct batch_view *v,
                struct cursor from, uint64_t end);

/* The place of a player after `sent` bytes of the batch; *video and *audio are
 * the payload bytes of the frames that end in them. */
struct cursor batch_cursor(const struct batch *b, struct stream *s,
                           const struct batch_view *v, size_t sent,
                           uint64_t *video, uint64_t *audio);

/* Whether a frame has the lengths that its writer gave it.  Another process may
 * have written there: a batch ends in front of it. */
bool batch_is_whole(struct stream *s, uint64_t frame);

/* Bytes of a frame in a player's framing; 0 when the player does not get it. */
uint32_t batch_frame_size(struct stream *s, const struct batch_view *v,
                          uint64_t frame);

#endif

/*
 * Fuzz target: what payloads are recognised as, and what headers say.
 *
 * The first byte chooses the message type, the rest is the payload.
 *
 * covers: src/media/inspect.c src/media/describe.c src/media/h264.c
 * covers: src/media/hevc.c src/media/av1.c src/media/audio.c src/media/bits.c
 * covers: src/media/vpx.c src/media/pieces.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "media/describe.h"
#include "media/pieces.h"
#include "media/track.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each lies behind the one before, and says the same alone. */
static void
look_at_pieces(enum media_type type, struct str message)
{
    static struct media_pieces p;
    static uint8_t alone[1 << 16];
    struct media_source source = media_source_of(&message);
    size_t end = 0;

    if (message.len > sizeof(alone) - MEDIA_PIECE_HEAD_MAX ||
        media_pieces(&p, type, &source) == -1) {
        return;
    }
    for (uint32_t i = 0; i < p.count; i++) {
        const struct media_piece *piece = &p.all[i];
        size_t head = media_piece_head(alone, &p, piece);

        if (piece->at < end || piece->len > message.len - piece->at) {
            abort();
        }
        end = piece->at + piece->len;
        memcpy(alone + head, message.ptr + piece->at, piece->len);
        struct media_info info = media_inspect(type, alone, head + piece->len);
        if (info.track != piece->track || info.codec != piece->codec ||
            (info.flags | MEDIA_MANY) != p.flags) {
            abort();
        }
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum media_type types[] = { MEDIA_AUDIO, MEDIA_VIDEO,
                                             MEDIA_DATA };
    if (size == 0) {
        return 0;
    }
    enum media_type type = types[data[0] % 3];
    struct media_info info = media_inspect(type, data + 1, size - 1);
    if ((info.flags & MEDIA_KEY) != 0 && (info.flags & MEDIA_KEPT) != 0) {
        abort();
    }
    struct str all = { (const char *)data + 1, size - 1 };
    struct str rest = media_data_content(all);
    if (rest.ptr + rest.len != all.ptr + all.len) {
        abort();
    }
    look_at_pieces(type, all);
    media_codec_name(info.codec);
    struct media_video video = media_describe_video(data + 1, size - 1);
    struct media_audio audio = media_describe_audio(data + 1, size - 1);
    if (video.width > 65536 || video.height > 65536 || audio.channels > 255) {
        abort();
    }
    uint32_t width, height;
    if (media_frame_size(data + 1, size - 1, &width, &height) &&
        (width - 1 >= 65536 || height - 1 >= 65536)) {
        abort();
    }
    struct media_track t;
    if (media_track_of(&t, type, all) == 0 && *media_video_range(&t) == 0) {
        abort();
    }
    return 0;
}

/*
 * Messages that tell nothing of their track.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/stray.h"

/* The end of a sequence of another codec, which ends nothing. */
static bool
ends_another(const struct stray_watch *w, enum media_type type,
             struct media_info info)
{
    unsigned kind = type == MEDIA_VIDEO ? 1 : 0;

    return (info.flags & MEDIA_END) != 0 &&
           w->tracks[kind][info.track].codec != info.codec;
}

/* Whether a track may have it: the track changes by it, or stays. */
static bool
is_of_track(struct stray_watch *w, enum media_type type, struct media_info info)
{
    unsigned kind = type == MEDIA_VIDEO ? 1 : 0;
    uint8_t *codec = &w->tracks[kind][info.track].codec;
    uint8_t *strays = &w->tracks[kind][info.track].strays;

    if (*codec == CODEC_NONE && info.codec == CODEC_OTHER) {
        return true; /* also of messages that are no frames */
    }
    if (*codec != info.codec && *codec != CODEC_NONE &&
        (info.flags & MEDIA_HEADER) == 0 && ++*strays < STRAYS_MOST) {
        return false;
    }
    *codec = info.codec;
    *strays = 0;
    return true;
}

struct media_info
stray_look(struct stray_watch *w, enum media_type type, struct str payload)
{
    const uint8_t *bytes = (const uint8_t *)payload.ptr;
    struct media_info info = media_inspect(type, bytes, payload.len);

    if (type != MEDIA_DATA && ends_another(w, type, info)) {
        return (struct media_info){ info.flags, CODEC_NONE, info.track };
    }
    if (type == MEDIA_DATA ||
        (info.flags & (MEDIA_END | MEDIA_TRACK_META)) != 0) {
        return info;
    }
    if (media_body(type, bytes, payload.len).len == 0 ||
        !is_of_track(w, type, info)) {
        return (struct media_info){ 0, CODEC_NONE, 0 };
    }
    return info;
}

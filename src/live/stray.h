/*
 * Messages that tell nothing of their track: those without a body, those of
 * several tracks that do not fit together, and single ones of another codec.
 *
 * Encoders send such (of drones, say); they go to players as they are, but
 * change nothing: no codec, no place to start at, no clock.  A track becomes
 * one of another codec with a codec header, or when so many frames of the other
 * one came in a row.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_STRAY_H
#define LIVE_STRAY_H

#include "media/media.h"

#define STRAYS_MOST 10 /* that many in a row are none */

/* Of one session; all zero when it begins. */
struct stray_watch {
    struct {
        uint8_t codec;  /* enum media_codec */
        uint8_t strays; /* since the last frame of it */
    } tracks[2][256];   /* of sound, of pictures, by their ids */
};

/* media_inspect(), but flags 0 and CODEC_NONE for messages that tell nothing:
 * such a codec header is none, such a key frame is none. */
struct media_info stray_look(struct stray_watch *w, enum media_type type,
                             struct str payload);

#endif

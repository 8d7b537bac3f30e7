/*
 * What a stream looks and sounds like, for statistics: what the codec headers
 * say, and what the writer finds out about its pictures.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_MEASURE_H
#define LIVE_MEASURE_H

#include "live/arena.h"

/* The writer's own: where it stands in a group of pictures, and in the time
 * over which pictures are counted. */
struct measure {
    bool has_key, counting;
    uint32_t key_time, group; /* of the last key frame; pictures since */
    uint32_t from, pictures;
};

/* Writer: an earlier publisher's are forgotten. */
void measure_start(struct stream *s);
/* Writer: a new codec header. */
void measure_header(struct stream *s, enum media_type type, struct str payload);
/* Writer: a frame; of a codec without a header it is all there is, and of some
 * the size of the picture stands there. */
void measure_frame(struct stream *s, enum media_type type,
                   struct media_info info, struct str payload);
/* Writer: a picture with these flags (enum media_flag) and timestamp. */
void measure_picture(struct measure *m, struct stream *s, unsigned flags,
                     uint32_t time);
/* Anybody: fills in what of v is known. */
void measure_view(struct stream *s, struct live_stream_view *v);

#endif

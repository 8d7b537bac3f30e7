/*
 * The properties of a stream's picture and sound, for statistics: from the
 * codec headers, and from the writer's counts of pictures.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_STREAM_STATS_H
#define LIVE_STREAM_STATS_H

#include "live/arena.h"

/* The writer's own: where it stands in a group of pictures, and in the time
 * over which pictures are counted. */
struct measure {
    bool has_key, has_last, counting;
    uint32_t last;            /* timestamp of the last picture */
    uint32_t key_time, group; /* of the last key frame; pictures since */
    uint32_t from, pictures;
};

/* Writer: forgets the properties of an earlier publisher. */
void measure_start(struct stream *s);
/* Writer: a new codec header. */
void measure_header(struct stream *s, enum media_type type, struct str payload);
/* Writer: a frame, for codecs without a header, and for those whose key frames
 * hold the size of the picture. */
void measure_frame(struct stream *s, enum media_type type,
                   struct media_info info, struct str payload);
/* Writer: a picture with these flags (enum media_flag) and timestamp. */
void measure_picture(struct measure *m, struct stream *s, unsigned flags,
                     uint32_t time);
/* Anybody: fills in the members of v that are known. */
void measure_view(struct stream *s, struct live_stream_view *v);

#endif

/*
 * The inside of a source, for source.c and source_file.c only.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_SOURCE_IMPL_H
#define BENCH_SOURCE_IMPL_H

#include "source.h"

/* One audio or video message of a file. */
struct source_tag {
    enum media_kind kind;
    bool key;
    uint32_t timestamp;  /* ms since the first */
    const uint8_t *body; /* borrowed from the file */
    size_t size;
    uint32_t sum; /* Adler-32 of what follows the stamp */
};

struct source {
    uint8_t *metadata; /* owned, like all below */
    size_t metadata_size;
    uint8_t *video_header;
    size_t video_header_size;
    uint8_t *audio_header;
    size_t audio_header_size;
    size_t room;

    /* Made up: */
    unsigned fps;
    unsigned gop_frames;
    size_t unit; /* mean size of a frame that is not a key frame */
    size_t audio_size;

    /* From a file; tags is NULL otherwise: */
    uint8_t *file;
    struct source_tag *tags;
    size_t tag_count;
    int64_t length_ms; /* after which it begins again */
};

/* Size of the message made from a tag. */
size_t source_stamped_size(const struct source_tag *tag);

#endif

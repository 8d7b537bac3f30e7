/*
 * Where the coded bytes of a payload lie.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MEDIA_INSPECT_IMPL_H
#define MEDIA_INSPECT_IMPL_H

#include "media/media.h"

/* The body of a payload: of one track all that follows, of several ones that of
 * the lowest. */
struct inspect_place {
    struct media_info info;
    bool coded;      /* a picture or a sound, not a header or anything else */
    uint32_t offset; /* bytes of the payload before the body */
    size_t size;     /* bytes of the body */
    int32_t cts;     /* composition time less decode time, ms */
};

/* payload: the first bytes of a message of sound or pictures, or all of them.
 * -1: they end before the body begins, or it has several tracks. */
int inspect_place(struct inspect_place *place, enum media_type type,
                  struct str payload);
/* The same of all of a message, which may have several tracks. */
int inspect_whole(struct inspect_place *place, enum media_type type,
                  struct str message);

/* A message of several tracks, each with its size: what stands in front of
 * them. */
struct inspect_many {
    uint8_t flags;         /* enum media_flag */
    uint8_t codec;         /* of all of them */
    uint8_t first, packet; /* bytes of the message: its first one, and the
                              packet type */
    bool coded;            /* pictures or sounds, not headers or others */
    bool codecs;           /* a FourCC stands in front of each instead */
    bool timed;            /* a composition time stands before each body, of
                              codecs that have such */
    uint32_t offset;       /* where the tracks begin */
};

/* front: the first bytes of a message, or all of them.  False: it is of one
 * track, or ends before. */
bool inspect_many(struct inspect_many *m, enum media_type type,
                  struct str front);

uint8_t inspect_codec(const uint8_t fourcc[4]);
/* All zero: it has none. */
void inspect_fourcc(uint8_t dst[4], uint8_t codec);
/* Whether pictures of a codec have a composition time in CodedFrames, and in
 * legacy tags a packet type, too. */
bool inspect_is_timed(uint8_t codec);

/* pieces.c: media_inspect() and inspect_whole() of several tracks; first: what
 * the front says. */
struct media_info pieces_info(enum media_type type, struct str message,
                              struct media_info first);
int pieces_place(struct inspect_place *place, enum media_type type,
                 struct str message);

#endif

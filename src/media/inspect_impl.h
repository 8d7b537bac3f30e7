/*
 * Where the coded bytes of a payload lie.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MEDIA_INSPECT_IMPL_H
#define MEDIA_INSPECT_IMPL_H

#include "media/media.h"

/* The one body of a payload, or the first one of several tracks. */
struct inspect_place {
    struct media_info info;
    bool coded;      /* a picture or a sound, not a header or anything else */
    bool many;       /* several tracks in one message, each with its size */
    uint32_t offset; /* bytes of the payload before the body */
    size_t size;     /* bytes of the body; of a lone track all that follow */
    int32_t cts;     /* composition time less decode time, ms */
};

/* payload: the first bytes of a message of sound or pictures, or all of them.
 * -1: they end before the body begins. */
int inspect_place(struct inspect_place *place, enum media_type type,
                  struct str payload);

#endif

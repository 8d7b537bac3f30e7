/*
 * The meaning of a picture's numbers as colours (ITU-T H.273).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MEDIA_COLOURS_IMPL_H
#define MEDIA_COLOURS_IMPL_H

#include "media/media.h"

struct media_colours {
    bool known;
    bool full_range;
    uint8_t primaries, transfer, matrix;
};

enum { TRANSFER_PQ = 16, TRANSFER_HLG = 18 };

/* As the codec's configuration tells them; mostly it does not. */
struct media_colours colours_of(enum media_codec codec, struct str config);

/* ---- for each codec: its configuration, as in describe.h ---- */

struct media_colours h264_colours(struct str config);
struct media_colours hevc_colours(struct str config);
struct media_colours av1_colours(struct str config);

/* colour_primaries, transfer_characteristics, matrix_coefficients. */
struct bits;
void colours_read(struct media_colours *c, struct bits *b);

#endif

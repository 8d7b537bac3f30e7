/*
 * Several tracks in one message (Enhanced RTMP v2, AvMultitrackType ManyTracks
 * and ManyTracksManyCodecs): where the bytes of each lie.  No I/O, no memory.
 *
 * A message counts only as a whole: all sizes lie in it, the last one ends
 * where it does, and no track comes twice.  So it has at most 256 pieces.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MEDIA_PIECES_H
#define MEDIA_PIECES_H

#include "media/media.h"

#define MEDIA_PIECES_MAX 256u

/* Where the bytes of a message are.  read copies some, which lie within len;
 * false: they are gone. */
struct media_source {
    uint32_t len;
    bool (*read)(const void *of, uint32_t at, uint8_t *to, uint32_t len);
    const void *of;
};
/* Of a message that lies in one piece. */
struct media_source media_source_of(const struct str *message);

/* One track of a message. */
struct media_piece {
    uint32_t at, len; /* of the coded bytes, or the codec's configuration; len
                         0: nothing */
    int32_t cts;      /* composition time less decode time, ms */
    uint8_t codec;    /* enum media_codec */
    uint8_t track;
};
struct media_pieces {
    uint8_t type;  /* enum media_type */
    uint8_t flags; /* enum media_flag */
    bool coded;    /* pictures or sounds, not headers or anything else */
    bool key;      /* pictures decoding can start at, or sounds */
    bool timed;    /* composition times stand in it, of codecs that have such */
    uint8_t first, packet; /* for media_piece_head() */
    uint32_t count;
    struct media_piece all[MEDIA_PIECES_MAX];
};

/* -1: it has not several tracks, or they are not whole. */
int media_pieces(struct media_pieces *p, enum media_type type,
                 const struct media_source *source);
/* The lowest track that has bytes; of a message without any the lowest. */
const struct media_piece *media_pieces_lowest(const struct media_pieces *p);

/* Writes the front of a message of that track alone; its bytes follow.  Returns
 * its length. */
#define MEDIA_PIECE_HEAD_MAX 10u
size_t media_piece_head(uint8_t dst[MEDIA_PIECE_HEAD_MAX],
                        const struct media_pieces *p,
                        const struct media_piece *piece);

#endif

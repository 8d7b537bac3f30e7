/*
 * Noting cuts: several tracks in one message.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/cut.h"

#include <string.h>

#include "media/pieces.h"

/* Longer than any codec header that is kept: one that is not is told by its
 * length. */
#define ALONE_MAX \
    (sizeof(((struct live_cut_headers *)0)->bytes) + MEDIA_PIECE_HEAD_MAX + 1)

/* The message as it would be of that track alone: a codec header whole, of
 * another one the front. */
static struct str
alone(const struct cut_frame *f, const struct media_pieces *p,
      const struct media_piece *piece)
{
    static uint8_t bytes[ALONE_MAX];
    bool header = (p->flags & MEDIA_HEADER) != 0;
    size_t head = media_piece_head(bytes, p, piece);
    size_t room = (header ? sizeof(bytes) : MEDIA_FRONT_MAX) - head;
    struct str body = str_first(str_skip(f->payload, piece->at),
                                piece->len < room ? piece->len : room);

    memcpy(bytes + head, body.ptr, body.len);
    return str_of(bytes, head + body.len);
}

static void
note_piece(struct cutter *c, const struct cut_frame *f,
           const struct media_pieces *p, const struct media_piece *piece)
{
    struct cut_frame one = *f;
    bool leads = piece->track == f->info.track;

    if (piece->len == 0) {
        return;
    }
    one.info.flags &= (uint8_t)~MEDIA_MANY;
    one.info.codec = piece->codec;
    one.info.track = piece->track;
    one.leading = f->leading && leads;
    one.start = f->start && leads;
    one.payload = alone(f, p, piece);
    cut_note_track(c, &one);
}

/* The lowest track goes first: a cut that it makes stands in front of the
 * message, where the sound of no other one has gone on yet. */
void
cut_note_pieces(struct cutter *c, const struct cut_frame *f)
{
    static struct media_pieces p;
    struct media_source source = media_source_of(&f->payload);
    const struct media_piece *lowest;

    if (media_pieces(&p, (enum media_type)f->frame->type, &source) == -1 ||
        ((p.flags & MEDIA_HEADER) == 0 && !p.coded)) {
        return;
    }
    lowest = media_pieces_lowest(&p);
    note_piece(c, f, &p, lowest);
    for (uint32_t i = 0; i < p.count; i++) {
        if (&p.all[i] != lowest) {
            note_piece(c, f, &p, &p.all[i]);
        }
    }
}

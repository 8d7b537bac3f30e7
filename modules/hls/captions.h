/*
 * Lines of text of a publisher (onTextData) as segments of WebVTT (RFC 8216,
 * 3.5) and parts of them, a rendition with the numbers and lengths of the
 * others.  It has parts where those have them.
 *
 * A line is shown until the next one comes, an empty one takes it away, and it
 * goes by itself after CAPTION_TARGETS target durations.  So nobody knows how
 * long it is shown when the first part with it is due: each segment, and each
 * part, has the stretch of it that lies there, and players may begin anywhere.
 * The text of a segment depends on frames before it: it is offered as long as
 * those are kept.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_HLS_CAPTIONS_H
#define MODULES_HLS_CAPTIONS_H

#include "object.h"

#define CAPTION_TARGETS 3
#define CAPTION_RENDITION "t"

/* Stands for the container of the rendition; it carries no track. */
extern const struct media_container captions_container;

/* Whether a line is in a part that is kept and whole. */
bool captions_are_there(const struct live_cuts *c);
/* Whether all that the text of a segment depends on is there; cut begins it. */
bool captions_are_kept(const struct live_cuts *c, const struct live_cut *cut);
/* The text of the stretch from a cut to the frame s->end.  -1: frames are gone,
 * or out has no room. */
int captions_write(const struct live_cuts *c, const struct object_stretch *s,
                   struct buf *out);

#endif

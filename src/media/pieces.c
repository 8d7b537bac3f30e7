/*
 * Several tracks in one message.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "media/pieces.h"

#include <string.h>

#include "base/bytes.h"
#include "media/inspect_impl.h"
#include "media/track.h"

#define FOURCC 4u
#define ID_AND_SIZE 4u
#define TIME 3u
#define AUDIO_MULTITRACK 5u
#define VIDEO_MULTITRACK 6u

static bool
copy(const void *of, uint32_t at, uint8_t *to, uint32_t len)
{
    const struct str *message = of;

    memcpy(to, message->ptr + at, len);
    return true;
}

struct media_source
media_source_of(const struct str *message)
{
    return (struct media_source){ (uint32_t)message->len, copy, message };
}

/* ---- walking ---- */

struct walk {
    const struct media_source *source;
    struct inspect_many many;
    uint32_t at;
    uint64_t seen[4]; /* tracks */
};

/* The next bytes; false: there are less. */
static bool
take(struct walk *w, uint8_t *to, uint32_t len)
{
    if (len > w->source->len - w->at ||
        !w->source->read(w->source->of, w->at, to, len)) {
        return false;
    }
    w->at += len;
    return true;
}

/* False: it came before. */
static bool
is_new(struct walk *w, uint8_t track)
{
    uint64_t bit = UINT64_C(1) << track % 64;
    bool new = (w->seen[track / 64] & bit) == 0;

    w->seen[track / 64] |= bit;
    return new;
}

/* The composition time is part of the size. */
static bool
take_time(struct walk *w, struct media_piece *p)
{
    uint8_t time[TIME];

    if (!w->many.timed || !inspect_is_timed(p->codec)) {
        return true;
    }
    if (p->len < TIME) {
        p->len = 0;
        return true;
    }
    if (!take(w, time, TIME)) {
        return false;
    }
    p->cts = (int32_t)(get_be24(time) << 8) / 256;
    p->at = w->at;
    p->len -= TIME;
    return true;
}

static bool
take_piece(struct walk *w, struct media_piece *p)
{
    uint8_t head[FOURCC + ID_AND_SIZE], *last = head + FOURCC;
    uint32_t end;

    if ((w->many.codecs && !take(w, head, FOURCC)) ||
        !take(w, last, ID_AND_SIZE)) {
        return false;
    }
    *p = (struct media_piece){
        .at = w->at,
        .len = get_be24(last + 1),
        .codec = w->many.codecs ? inspect_codec(head) : w->many.codec,
        .track = last[0],
    };
    if (p->len > w->source->len - w->at || !is_new(w, p->track)) {
        return false;
    }
    end = p->at + p->len;
    if (!take_time(w, p)) {
        return false;
    }
    w->at = end;
    return true;
}

/* Reads no more of the front than those have who see nothing else of a
 * message. */
static bool
begin(struct walk *w, enum media_type type, const struct media_source *source)
{
    uint8_t front[MEDIA_FRONT_MAX];
    uint32_t len =
        source->len < MEDIA_FRONT_MAX ? source->len : MEDIA_FRONT_MAX;

    *w = (struct walk){ .source = source };
    if ((type != MEDIA_VIDEO && type != MEDIA_AUDIO) ||
        !source->read(source->of, 0, front, len) ||
        !inspect_many(&w->many, type, str_of(front, len))) {
        return false;
    }
    w->at = w->many.offset;
    return true;
}

int
media_pieces(struct media_pieces *p, enum media_type type,
             const struct media_source *source)
{
    struct walk w;

    p->count = 0;
    if (!begin(&w, type, source)) {
        return -1;
    }
    p->type = (uint8_t)type;
    p->flags = w.many.flags;
    p->coded = w.many.coded;
    p->key = type == MEDIA_AUDIO || (w.many.flags & MEDIA_KEY) != 0;
    p->first = w.many.first;
    p->packet = w.many.packet;
    p->timed = w.many.timed;
    while (w.at < source->len) {
        if (p->count == MEDIA_PIECES_MAX ||
            !take_piece(&w, &p->all[p->count])) {
            return -1;
        }
        p->count++;
    }
    return p->count > 0 ? 0 : -1;
}

/* ---- what it says ---- */

const struct media_piece *
media_pieces_lowest(const struct media_pieces *p)
{
    const struct media_piece *lowest = &p->all[0];

    for (uint32_t i = 1; i < p->count; i++) {
        const struct media_piece *piece = &p->all[i];
        bool empty = piece->len == 0;

        if (empty == (lowest->len == 0) ? piece->track < lowest->track
                                        : !empty) {
            lowest = piece;
        }
    }
    return lowest;
}

struct media_info
pieces_info(enum media_type type, struct str message, struct media_info first)
{
    struct media_source source = media_source_of(&message);
    struct media_pieces p;
    const struct media_piece *lowest;

    if (media_pieces(&p, type, &source) == -1) {
        return (struct media_info){ MEDIA_MULTITRACK | MEDIA_MANY, CODEC_NONE,
                                    0 };
    }
    lowest = media_pieces_lowest(&p);
    return (struct media_info){ first.flags, lowest->codec, lowest->track };
}

int
pieces_place(struct inspect_place *place, enum media_type type,
             struct str message)
{
    struct media_source source = media_source_of(&message);
    struct media_pieces p;
    const struct media_piece *lowest;

    if (media_pieces(&p, type, &source) == -1) {
        return -1;
    }
    lowest = media_pieces_lowest(&p);
    *place = (struct inspect_place){
        .info = { p.flags, lowest->codec, lowest->track },
        .coded = p.coded,
        .offset = lowest->at,
        .size = lowest->len,
        .cts = lowest->cts,
    };
    return 0;
}

size_t
media_piece_head(uint8_t dst[MEDIA_PIECE_HEAD_MAX],
                 const struct media_pieces *p, const struct media_piece *piece)
{
    bool video = p->type == MEDIA_VIDEO;
    dst[0] = (uint8_t)((p->first & 0xf0) |
                       (video ? VIDEO_MULTITRACK : AUDIO_MULTITRACK));
    dst[1] = p->packet; /* OneTrack */
    inspect_fourcc(dst + 2, piece->codec);
    dst[6] = piece->track;
    if (!p->timed || !inspect_is_timed(piece->codec)) {
        return MEDIA_PIECE_HEAD_MAX - TIME;
    }
    put_be24(dst + 7, (uint32_t)piece->cts & 0xffffff);
    return MEDIA_PIECE_HEAD_MAX;
}

/*
 * From cuts to lists of segments.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "offer.h"

#include <stdio.h>
#include <string.h>

#include "object.h"

#define PEAKS 1024 /* streams whose peaks are kept */
#define FEW_SEGMENTS 4

static struct playlist_segment segments[LIVE_CUT_RING];
static struct playlist_part parts[LIVE_CUT_RING];

struct list_making {
    const struct live_cuts *c;
    const struct offer_wish *wish;
    uint32_t header; /* of the set that was looked at; 0: none was */
    uint8_t track;   /* the id of the only one */
    int place;       /* of the track among the sounds in it; -1: it is not in */
    size_t segments, parts;
    int64_t began; /* the segment under way */
};

static uint32_t
span(int64_t from, int64_t to)
{
    return to > from ? (uint32_t)(to - from) : 0;
}

static bool
is_key(const struct list_making *m, const struct live_cut *cut)
{
    return m->wish->anywhere || (cut->flags & LIVE_CUT_KEY) != 0;
}

/* ---- gaps ---- */

static void
look_up(struct list_making *m, uint32_t header)
{
    static struct live_cut_headers h;
    int sounds = 0;

    if (m->header == header) {
        return;
    }
    m->header = header;
    m->place = -1;
    if (!live_cut_headers(m->c, header, &h)) {
        return;
    }
    for (uint32_t i = 0; i < h.count; i++) {
        if (h.items[i].type == m->wish->type &&
            (m->wish->type == MEDIA_VIDEO ||
             h.items[i].track == m->wish->track)) {
            m->place = sounds;
            m->track = h.items[i].track;
        }
        sounds += h.items[i].type == MEDIA_AUDIO;
    }
}

/* Whether codec headers have the list's only track. */
static bool
is_in(struct list_making *m, uint32_t header)
{
    if (m->wish->type != MEDIA_DATA) {
        look_up(m, header);
    }
    return m->wish->type == MEDIA_DATA || m->place >= 0;
}

static void
begin_segment(struct list_making *m, const struct live_cut *cut)
{
    segments[m->segments] = (struct playlist_segment){
        .number = cut->segment,
        .discontinuity = cut->discontinuity,
        .header = cut->header,
        .key = is_key(m, cut),
        .plain = (cut->flags & LIVE_CUT_PLAIN) != 0,
        .bare = !is_in(m, cut->header),
        .gap = true,
        .tag = (cut->flags & LIVE_CUT_DISCONTINUITY) != 0 &&
               cut->number != m->c->run,
        .wall_ms = cut->wall_ms,
        .parts = &parts[m->parts],
    };
    m->segments++;
    m->began = cut->time;
}

/* Whether a part, which ends in front of that frame, has samples of the track.
 * Frames that are left out are none: what is listed has something in it. */
static bool
has_samples(const struct list_making *m, const struct live_cut *cut,
            uint64_t end)
{
    static struct live_cut_headers h;
    const struct object_stretch s = { .cut = *cut, .end = end };
    struct object_track tracks[OBJECT_TRACKS];
    struct object_samples samples;
    char name[sizeof("a255")] = "v";
    size_t count = 0;

    if (m->wish->type == MEDIA_AUDIO) {
        snprintf(name, sizeof(name), "a%u", (unsigned)m->track);
    }
    if (live_cut_headers(m->c, cut->header, &h)) {
        count = object_tracks(&h, str_from(name), &media_mp4, tracks);
    }
    return count > 0 &&
           (object_gather(m->c, &s, tracks, count, &samples) != 0 ||
            samples.runs[0].count > 0);
}

/* Whether the part between two cuts has nothing of the list's only track. */
static bool
is_gap(struct list_making *m, const struct live_cut *cut,
       const struct live_cut *next)
{
    if (m->wish->type == MEDIA_DATA || !is_in(m, cut->header)) {
        return m->wish->type != MEDIA_DATA;
    }
    if (m->wish->type == MEDIA_VIDEO) {
        return (next->flags & LIVE_CUT_DARK) != 0;
    }
    if (m->place < (int)LIVE_CUT_SOUNDS &&
        (cut->sound[m->place] & LIVE_CUT_OTHER) != 0) {
        return true; /* to the end of the segment */
    }
    if (next->header != cut->header || next->ended_frame != next->frame ||
        m->place >= (int)LIVE_CUT_SOUNDS ||
        (next->sound[m->place] & LIVE_CUT_OTHER) != 0) {
        return !has_samples(m, cut, next->ended_frame);
    }
    return ((cut->sound[m->place] ^ next->sound[m->place]) & ~LIVE_CUT_ANEW) ==
           0;
}

/* The last part of a stream that is over. */
static bool
is_last_gap(struct list_making *m, const struct live_cut *cut)
{
    return m->wish->type != MEDIA_DATA &&
           (!is_in(m, cut->header) || !has_samples(m, cut, m->c->end_frame));
}

/* ---- all of it ---- */

/* A part that is whole: it ended at that time. */
static void
add_part(struct list_making *m, const struct live_cut *cut, int64_t end,
         bool gap)
{
    struct playlist_segment *s = &segments[m->segments - 1];

    if (!s->plain) {
        parts[m->parts++] = (struct playlist_part){
            .duration = span(cut->time, end),
            .independent = is_key(m, cut) && !gap,
            .gap = gap,
        };
        s->part_count++;
    }
    s->gap = s->gap && gap;
    s->duration = span(m->began, end);
}

/* Walks the cuts from `from` on.  False: one of them is gone. */
static bool
walk(struct list_making *m, uint64_t from)
{
    struct live_cut cut, next;
    bool found = live_cut_at(m->c, from, &cut);

    for (uint64_t n = from; found && n < m->c->end; n++) {
        if (cut.part == 0 || m->segments == 0) {
            begin_segment(m, &cut);
        }
        if (n + 1 < m->c->end) {
            found = live_cut_at(m->c, n + 1, &next);
            if (found) {
                add_part(m, &cut, next.ended, is_gap(m, &cut, &next));
            }
            cut = next;
        } else if (m->c->over) {
            add_part(m, &cut, m->c->end_time, is_last_gap(m, &cut));
        }
    }
    return found;
}

/* The first cut of this run that begins a segment that is kept whole. */
static bool
first_cut(const struct live_cuts *c, uint64_t *number)
{
    struct live_cut cut;
    uint64_t n = c->first > c->run ? c->first : c->run;

    for (; n < c->end; n++) {
        if (live_cut_at(c, n, &cut) && cut.part == 0) {
            *number = n;
            return true;
        }
    }
    return false;
}

/* How many of the first segments are left out: the list has so many target
 * durations at least, if that much is there.  The same when it is over: what
 * has left does not come back. */
static size_t
too_old(const struct live_cuts *c, size_t count)
{
    uint64_t most = (uint64_t)OFFER_TARGETS * c->target, have = 0;
    size_t i = count;

    while (i > 0 && have < most) {
        have += segments[--i].duration;
    }
    return i;
}

static uint64_t
listed_ms(const struct offer *o)
{
    uint64_t ms = 0;

    for (size_t i = 0; i < o->count; i++) {
        ms += o->segments[i].duration;
    }
    return ms;
}

/* The newest segment of which something is there. */
static void
find_last(const struct list_making *m, struct offer *o)
{
    const struct playlist_segment *s = &segments[m->segments - 1];

    if (o->open && s->part_count == 0) {
        s--;
    }
    o->last = s->number;
    o->last_part = (int64_t)s->part_count - 1;
}

enum offer_state
offer_make(const struct live_cuts *c, const struct offer_wish *wish,
           struct offer *o)
{
    struct list_making m = { .c = c, .wish = wish };
    uint64_t from;

    memset(o, 0, sizeof(*o));
    if (c->target == 0 || !first_cut(c, &from) || !walk(&m, from) ||
        !live_cut_at(c, c->end - 1, &o->cut)) {
        return OFFER_EARLY;
    }
    o->open = !c->over;
    if (o->open && !wish->parts) {
        m.segments--;
        o->open = false;
    }
    size_t whole = m.segments - (o->open && m.segments > 0);

    if (whole == 0) {
        return from > c->run ? OFFER_FAT : OFFER_EARLY;
    }
    size_t old = too_old(c, m.segments);

    o->segments = segments + old;
    o->count = m.segments - old;
    find_last(&m, o);
    if (from > c->run && old == 0 &&
        listed_ms(o) < (uint64_t)OFFER_TARGETS_LEAST * c->target) {
        return OFFER_FAT;
    }
    return OFFER_GOOD;
}

enum offer_state
offer_state(const struct live_cuts *c)
{
    if (c->short_of_memory) {
        return OFFER_FAT;
    }
    return c->failed ? OFFER_LOOSE : OFFER_EARLY;
}

bool
offer_edge(const struct live_cuts *c, struct offer_edge *e)
{
    struct live_cut cut;

    if (c->end == c->first || !live_cut_at(c, c->end - 1, &cut)) {
        return false;
    }
    e->segment = cut.segment;
    e->part = (cut.flags & LIVE_CUT_PLAIN) != 0 ? 0 : cut.part;
    e->last_whole = c->over ? cut.segment : cut.segment - 1;
    return true;
}

/* The most that was told of a stream, which is never lowered: by its word, one
 * for each place. */
static uint64_t
peak_of(uint64_t word, uint64_t most)
{
    static struct {
        uint64_t word, most;
    } peaks[PEAKS];
    size_t i = word % PEAKS;

    if (peaks[i].word != word || peaks[i].most < most) {
        peaks[i].word = word;
        peaks[i].most = most;
    }
    return peaks[i].most;
}

uint64_t
offer_newest_bytes(const struct live_cuts *c, bool part)
{
    struct live_cut to, from;
    uint64_t n = c->end - 1;

    if (c->end < c->first + 2 || !live_cut_at(c, n, &to)) {
        return 0;
    }
    while (!part && to.part != 0 && n > c->first) {
        if (!live_cut_at(c, --n, &to)) {
            return 0;
        }
    }
    from = to;
    do {
        if (n == c->first || !live_cut_at(c, --n, &from)) {
            return 0;
        }
    } while (!part && from.part != 0);
    return to.bytes - from.bytes;
}

/* A later segment may have more than the ones before: of few of them one is
 * seldom the largest.  Encoders overdraw what they promise, but not by much. */
static uint64_t
with_margin(uint64_t seen, size_t count, uint64_t promised)
{
    uint64_t one = seen + seen / (count < FEW_SEGMENTS ? 2 : 8);
    uint64_t other = promised + promised / 8;

    return one > other ? one : other;
}

/* A time that jumps between two segments is neither's. */
void
offer_speeds(const struct live_cuts *c, uint64_t promised, uint64_t *most,
             uint64_t *mean)
{
    struct live_cut cut, from;
    uint64_t n, seen = 0, bytes = 0, time = 0;
    size_t count = 0;

    *most = *mean = 0;
    if (!first_cut(c, &n) || !live_cut_at(c, n, &from)) {
        return;
    }
    for (; n < c->end && live_cut_at(c, n, &cut); n++) {
        uint64_t ms = span(from.time, cut.ended);

        if (cut.part != 0 || ms == 0) {
            continue;
        }
        uint64_t speed = (cut.bytes - from.bytes) * 8000 / ms;

        seen = speed > seen ? speed : seen;
        bytes += cut.bytes - from.bytes;
        time += ms;
        count++;
        from = cut;
    }
    *most = peak_of(c->word, with_margin(seen, count, promised));
    *mean = time > 0 ? bytes * 8000 / time : 0;
}

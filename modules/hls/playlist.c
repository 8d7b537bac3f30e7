/*
 * Media playlists.
 *
 * Sections are those of draft-pantos-hls-rfc8216bis; they are nearly the same
 * in all its versions.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "playlist.h"

#include "base/clock.h"
#include "lines.h"

/* Of target durations: how far behind the end of the list players begin, how
 * long parts are listed, and from where on a delta update has everything. */
#define HOLD_BACK_TARGETS 3
#define PART_TARGETS 3
#define SKIP_TARGETS 6
/* Of parts: how far behind the end players of low latency begin. */
#define HOLD_BACK_PARTS 3

struct writer {
    struct lines lines;
    const struct playlist *p;
    size_t count;   /* segments that are listed */
    size_t whole;   /* of them those that have an end, [0, whole) */
    size_t skipped; /* [0, skipped) */
    size_t parted;  /* the first whose parts are listed */
    bool in_parts;  /* parts are listed, or will be with the next ones */
};

uint32_t
playlist_seconds(uint32_t ms)
{
    uint32_t seconds = ms / 1000 + (ms % 1000 >= 500 ? 1 : 0);

    return seconds > 0 ? seconds : 1;
}

uint32_t
playlist_advance_limit(uint32_t part_target)
{
    if (part_target == 0 || part_target >= 1000) {
        return 3;
    }
    return (3000 + part_target - 1) / part_target;
}

static uint64_t
target_ms(const struct playlist *p)
{
    return (uint64_t)playlist_seconds(p->target) * 1000;
}

/* Whether a player may ask for what is not there yet, or for less. */
static bool
is_blocking(const struct playlist *p)
{
    return p->part_target > 0 && !p->ended;
}

/* ---- which segments are listed, and how ---- */

/* How many of [0, end) end more than `distance` before the end of the last of
 * them, of which `behind` follows already. */
static size_t
count_older(const struct playlist *p, size_t end, uint64_t distance)
{
    uint64_t behind = 0;

    while (end > 0 && behind <= distance) {
        behind += p->segments[--end].duration;
    }
    return end;
}

/* Parts of segments before one that has none are not listed: a player that has
 * them would wait for those of that one (hls.js does). */
static size_t
behind_plain(const struct writer *w)
{
    size_t i = w->whole;

    while (i > 0 && !w->p->segments[i - 1].plain) {
        i--;
    }
    return i;
}

static bool
lists_parts(const struct writer *w)
{
    const struct playlist_segment *s = w->p->segments;
    bool listed = w->whole < w->count && !s[w->whole].plain;

    for (size_t i = w->parted; i < w->count && !listed; i++) {
        listed = s[i].part_count > 0;
    }
    return listed;
}

static void
choose(struct writer *w)
{
    const struct playlist *p = w->p;
    bool open = p->open && !p->ended && p->count > 0;

    w->whole = p->count - (open ? 1 : 0);
    w->count = p->part_target > 0 ? p->count : w->whole;
    w->parted = w->count;
    if (p->part_target > 0) {
        /* 6.2.2: parts SHOULD be removed when they are more than three target
         * durations from the end of the playlist.  Those of a segment go
         * together, because players know them by their place in it. */
        bool hidden = w->whole < w->count && p->segments[w->whole].plain;

        w->parted = count_older(p, hidden ? w->whole : w->count,
                                target_ms(p) * PART_TARGETS);
        size_t plain = behind_plain(w);

        w->parted = plain > w->parted ? plain : w->parted;
        w->in_parts = lists_parts(w);
    }
    if (p->skip && is_blocking(p)) {
        /* 6.2.5.1: segments that are further from the end of the last whole
         * segment than the skip boundary. */
        w->skipped = count_older(p, w->whole, target_ms(p) * SKIP_TARGETS);
    }
}

/* ---- the head ---- */

static void
add_server_control(struct writer *w)
{
    struct lines *l = &w->lines;
    uint64_t target = target_ms(w->p);

    if (w->p->part_target == 0) {
        return;
    }
    lines_add(l, STR("#EXT-X-SERVER-CONTROL:"));
    if (is_blocking(w->p)) {
        /* 4.4.3.8: the skip boundary MUST be six target durations at least. */
        lines_add(l, STR("CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL="));
        lines_thousandths(l, target * SKIP_TARGETS);
        lines_add(l, STR(","));
    }
    /* 4.4.3.8: HOLD-BACK MUST be three target durations at least,
     * PART-HOLD-BACK SHOULD be three part targets at least. */
    lines_add(l, STR("HOLD-BACK="));
    lines_thousandths(l, target * HOLD_BACK_TARGETS);
    if (!w->in_parts) {
        /* shaka-player wants it in each list once one had parts. */
        lines_add(l, STR(",PART-HOLD-BACK="));
        lines_thousandths(l, target * HOLD_BACK_TARGETS);
        lines_add(l, STR("\n"));
        return;
    }
    lines_add(l, STR(",PART-HOLD-BACK="));
    lines_thousandths(l, (uint64_t)w->p->part_target * HOLD_BACK_PARTS);
    /* 4.4.3.7: needed where there is a part. */
    lines_add(l, STR("\n#EXT-X-PART-INF:PART-TARGET="));
    lines_thousandths(l, w->p->part_target);
    lines_add(l, STR("\n"));
}

/* 4.4.3.3, 6.2.2: the number of the first segment, before a tag of its own
 * counts; it grows when that tag leaves the list.  A delta update does not
 * change it (4.4.5.2). */
static void
add_discontinuity_sequence(struct writer *w)
{
    const struct playlist_segment *first = w->p->segments;
    uint32_t number = w->count > 0 ? first->discontinuity : 0;

    if (number > 0 && first->tag) {
        number--;
    }
    lines_add(&w->lines, STR("\n#EXT-X-DISCONTINUITY-SEQUENCE:"));
    lines_number(&w->lines, number);
    lines_add(&w->lines, STR("\n"));
}

static void
add_head(struct writer *w)
{
    struct lines *l = &w->lines;

    /* 8: EXT-X-SKIP needs 9, EXT-X-MAP 6.  10 is for a SKIP that stands for
     * date ranges, too, of which there are none here. */
    lines_add(l, STR("#EXTM3U\n#EXT-X-VERSION:"));
    lines_number(l, w->p->part_target > 0 ? 9 : 6);
    lines_add(l, STR("\n#EXT-X-TARGETDURATION:"));
    lines_number(l, playlist_seconds(w->p->target));
    lines_add(l, STR("\n"));
    add_server_control(w);
    if (w->p->independent) {
        lines_add(l, STR("#EXT-X-INDEPENDENT-SEGMENTS\n"));
    }
    lines_add(l, STR("#EXT-X-MEDIA-SEQUENCE:"));
    lines_number(l, w->count > 0 ? w->p->segments[0].number : 0);
    add_discontinuity_sequence(w);
    if (w->skipped > 0) {
        lines_add(l, STR("#EXT-X-SKIP:SKIPPED-SEGMENTS="));
        lines_number(l, w->skipped);
        lines_add(l, STR("\n"));
    }
}

/* ---- segments ---- */

static void
add_object_front(struct writer *w)
{
    lines_add(&w->lines, w->p->base);
    if (w->p->rendition.len > 0) {
        lines_add(&w->lines, w->p->rendition);
        lines_add(&w->lines, STR("-"));
    }
}

static void
add_object_end(struct writer *w, const char *suffix)
{
    lines_add(&w->lines, str_from(suffix));
    lines_add(&w->lines, w->p->map_query);
}

static void
add_part_name(struct writer *w, uint64_t segment, size_t part)
{
    add_object_front(w);
    lines_number(&w->lines, segment);
    lines_add(&w->lines, STR("."));
    lines_number(&w->lines, part);
    add_object_end(w, w->p->container->suffix);
}

/* Whether EXT-X-MAP stands before segment i; none where it
 * has not the track.  It holds until
 * the next one (4.4.4.5), and a player keeps that of the segments that it is
 * not sent. hls.js takes the newest it knows instead: so where another one
 * follows, the one in force behind a SKIP is said again. */
static bool
needs_map(const struct writer *w, size_t i)
{
    const struct playlist_segment *s = w->p->segments;
    size_t before = i;

    if (w->p->container->init_suffix == NULL || s[i].bare) {
        return false;
    }
    while (before > 0 && s[before - 1].bare) {
        before--;
    }
    return before == 0 || s[i].header != s[before - 1].header ||
           (i == w->skipped && s[i].header != s[w->count - 1].header);
}

static void
add_map(struct writer *w, uint32_t header)
{
    lines_add(&w->lines, STR("#EXT-X-MAP:URI=\""));
    add_object_front(w);
    lines_add(&w->lines, STR("init-"));
    lines_number(&w->lines, header);
    add_object_end(w, w->p->container->init_suffix);
    lines_add(&w->lines, STR("\"\n"));
}

static void
add_parts(struct writer *w, const struct playlist_segment *s)
{
    for (size_t i = 0; i < s->part_count; i++) {
        lines_add(&w->lines, STR("#EXT-X-PART:DURATION="));
        lines_thousandths(&w->lines, s->parts[i].duration);
        lines_add(&w->lines, STR(",URI=\""));
        add_part_name(w, s->number, i);
        lines_add(&w->lines, s->parts[i].gap ? STR("\",GAP=YES\n")
                             : s->parts[i].independent
                                 ? STR("\",INDEPENDENT=YES\n")
                                 : STR("\"\n"));
    }
}

static void
add_segment(struct writer *w, size_t i)
{
    const struct playlist_segment *s = &w->p->segments[i];
    struct lines *l = &w->lines;
    char date[25];

    /* 4.4.4.9: these stand before the first part. */
    if (s->tag && s->discontinuity > 0) {
        lines_add(l, STR("#EXT-X-DISCONTINUITY\n"));
    }
    if (needs_map(w, i)) {
        add_map(w, s->header);
    }
    clock_iso8601(date, sizeof(date), s->wall_ms);
    lines_add(l, STR("#EXT-X-PROGRAM-DATE-TIME:"));
    lines_add(l, str_from(date));
    lines_add(l, STR("\n"));
    if (i >= w->parted) {
        add_parts(w, s);
    }
    if (i >= w->whole) {
        return;
    }
    if (s->gap) { /* 4.4.4.7 */
        lines_add(l, STR("#EXT-X-GAP\n"));
    }
    lines_add(l, STR("#EXTINF:"));
    lines_thousandths(l, s->duration);
    lines_add(l, STR(",\n"));
    add_object_front(w);
    lines_number(l, s->number);
    add_object_end(w, w->p->container->suffix);
    lines_add(l, STR("\n"));
}

/* ---- the tail ---- */

/* 4.4.5.3: the part that follows the last one listed. */
static void
add_hint(struct writer *w)
{
    const struct playlist_segment *last = &w->p->segments[w->count - 1];
    bool open = w->whole < w->count;

    if (open && last->plain) {
        return;
    }
    lines_add(&w->lines, STR("#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\""));
    add_part_name(w, last->number + (open ? 0 : 1),
                  open ? last->part_count : 0);
    lines_add(&w->lines, STR("\"\n"));
}

/* 4.4.5.4, B.1: one for each other rendition. */
static void
add_report(struct writer *w, const struct playlist_sibling *s)
{
    lines_add(&w->lines, STR("#EXT-X-RENDITION-REPORT:URI="));
    lines_quoted(&w->lines, s->uri);
    lines_add(&w->lines, STR(",LAST-MSN="));
    lines_number(&w->lines, s->last_segment);
    if (s->last_part >= 0) {
        lines_add(&w->lines, STR(",LAST-PART="));
        lines_number(&w->lines, (uint64_t)s->last_part);
    }
    lines_add(&w->lines, STR("\n"));
}

static void
add_tail(struct writer *w)
{
    if (w->p->ended) { /* 4.4.5.3: no hint beside it */
        lines_add(&w->lines, STR("#EXT-X-ENDLIST\n"));
        return;
    }
    if (!is_blocking(w->p)) {
        return;
    }
    if (w->count > 0) {
        add_hint(w);
    }
    for (size_t i = 0; i < w->p->sibling_count; i++) {
        add_report(w, &w->p->siblings[i]);
    }
}

int
playlist_write(struct buf *out, const struct playlist *p)
{
    struct writer w = { .lines = { .out = out }, .p = p };

    choose(&w);
    add_head(&w);
    for (size_t i = w.skipped; i < w.count; i++) {
        add_segment(&w, i);
    }
    add_tail(&w);
    return w.lines.full ? -1 : 0;
}

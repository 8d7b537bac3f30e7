/*
 * Noting cuts: when parts and segments end.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/cut.h"

#include "base/log.h"
#include "live/metrics.h"
#include "live/stream.h"
#include "media/describe.h"

/* Media missing for so long make a discontinuity. */
#define GAP_MS 500
/* Sound that is set anew by more makes one, too. */
#define LEAP_MS 100
/* A track without frames for so long has ended. */
#define TRACK_ENDS_MS 2000
#define LOOK_MS 250 /* how often that is looked at */
/* Sound leads when no picture came for so much of it. */
#define PAUSE_MS 500
/* A stream begins with sound alone if no picture came for so much of it. */
#define BEGIN_MS 3000
/* A part has at least so much of its target, in hundredths. */
#define PART_LEAST 85
/* The last part of a segment is not shorter, where those before it can be
 * longer: hls.js takes a segment for whole that lacks less than 200 ms at its
 * end, and then asks for no part until it has nothing left to play. */
#define LAST_PART_MS 150
/* Of frames that lead, microseconds; another process may have written there. */
#define INTERVAL_MAX (LIVE_CUT_TARGET_MAX * 1000)
/* A segment may be so much longer than the rounded target. */
#define ROUNDING_MS 400

/* ---- lengths ---- */

static uint32_t
seconds(uint32_t ms)
{
    return (ms + 500) / 1000;
}

/* The first whole segment is there, as long as that: the run's lengths are
 * fixed. */
static void
get_ready(struct cutter *c, const struct cut_frame *f, int64_t length)
{
    const struct live_cut_rules *rules = &c->stream->cut_rules;
    struct cut_run *run = cut_run_of(c->page);
    uint64_t interval =
        (uint64_t)length * 1000 / (c->frames > 0 ? c->frames : 1);
    uint32_t target =
        length > rules->segment ? (uint32_t)length : rules->segment;
    uint64_t count, aim;

    target = cut_ladder_target(c, f, target);
    if (length > target && seconds((uint32_t)length) > seconds(target)) {
        atomic_store(&run->first, c->last.number);
    }
    interval = interval > 0 ? interval : 1000;
    atomic_store(&c->page->interval, (uint32_t)interval);
    count = ((uint64_t)rules->part * 1000 + 1000) / interval;
    count = count > 0 ? count : 1;
    /* One frame less than a part may have, where that is little: a frame that
     * an encoder leaves out does not make it too long. */
    aim = count >= 8 ? count - 1 : count;
    atomic_store(&run->aim, (uint32_t)((aim * interval + 999) / 1000) + 1);
    atomic_store(&run->part_target,
                 (uint32_t)((count * interval + 999) / 1000) + 1);
    atomic_store_explicit(&run->target, target, memory_order_release);
    c->again = false;
}

/* Of the frame that comes next, microseconds. */
static uint32_t
interval_of(const struct cutter *c)
{
    uint32_t interval =
        atomic_load_explicit(&c->page->interval, memory_order_relaxed);

    return interval < INTERVAL_MAX ? interval : INTERVAL_MAX;
}

static bool
is_too_long(const struct cutter *c, const struct cut_run *run, int64_t time)
{
    uint32_t target = atomic_load(&run->target);
    int64_t interval = interval_of(c);
    int64_t limit =
        target != 0 ? (int64_t)seconds(target) * 1000 + ROUNDING_MS
                    : c->stream->cut_rules.max_segment + interval / 2000 + 1;

    return (time - c->segment_time - limit) * 1000 + interval > 0;
}

static bool
is_long_enough(const struct cutter *c, int64_t time)
{
    return time - c->segment_time + interval_of(c) / 2000 + 1 >=
           c->stream->cut_rules.segment;
}

static bool
ends_at_key(struct cutter *c, const struct cut_frame *f, int64_t time)
{
    bool long_enough = is_long_enough(c, time);

    return c->ladder.member ? cut_ladder_ends(c, f, long_enough) : long_enough;
}

/* A part is as long as aimed at, but not shorter than it may be while another
 * frame still fits.  interval: of the frame at that time, microseconds. */
static bool
is_part(const struct cutter *c, const struct cut_run *run, int64_t time,
        int64_t interval)
{
    int64_t aim = atomic_load_explicit(&run->aim, memory_order_relaxed);
    int64_t most =
        atomic_load_explicit(&run->part_target, memory_order_relaxed);
    int64_t length = time - c->last.time;
    int64_t then = length * 1000 + interval;

    if (aim == 0 || then <= aim * 1000) {
        return false;
    }
    return then > most * 1000 || length * 100 >= most * PART_LEAST;
}

/* The part gets a frame more than aimed at: otherwise the last one of its
 * segment would have few, and those in between cannot take them all.  Segments
 * are mostly as long as the first one was. */
static bool
is_stretched(const struct cutter *c, const struct cut_run *run, int64_t time)
{
    int64_t interval = interval_of(c);
    int64_t aim = (int64_t)atomic_load(&run->aim) * 1000;
    int64_t most = (int64_t)atomic_load(&run->part_target) * 1000;
    int64_t end = c->segment_time + atomic_load(&run->target);
    int64_t frames, full, few, spare;

    if (interval == 0 || aim < interval || end <= time ||
        (time - c->last.time) * 1000 + interval > most) {
        return false;
    }
    frames = ((end - time) * 1000 + interval / 2) / interval;
    full = frames / (aim / interval);
    few = frames % (aim / interval);
    spare = most / interval - aim / interval;
    return few * interval < LAST_PART_MS * 1000 && few > full * spare &&
           few <= (full + 1) * spare;
}

/* ---- frames that lead ---- */

static void
give_up(struct cutter *c)
{
    struct cut_run *run = cut_run_of(c->page);

    if (atomic_load(&run->failed) == 0) {
        metric_add(&live_metrics[LIVE_CUTS_LOST], LIVE_CUTS_STRICT, 1);
        atomic_store(&run->failed, 1);
        atomic_store(&run->target, 0);
        log_limited(LOG_WARN,
                    "stream %.*s: no key frame within max_segment, and "
                    "strict_keys is set: it is not offered",
                    STR_ARGS(stream_name(c->stream)));
        wake_cut_readers(c->stream);
    }
}

/* Something broke off in front of this frame. */
static void
cut_anew(struct cutter *c, const struct cut_frame *f, int64_t time, bool key)
{
    uint32_t flags = LIVE_CUT_SEGMENT | (key ? LIVE_CUT_KEY : 0);

    if (c->again && !key) {
        c->begun = false; /* with the next key frame */
        return;
    }
    if (!key) {
        atomic_store(&cut_run_of(c->page)->loose, 1);
    }
    if (c->again) {
        /* Nothing was offered yet. */
        atomic_store(&cut_run_of(c->page)->first, atomic_load(&c->page->next));
    }
    if (c->last.number != 0) {
        flags |= LIVE_CUT_DISCONTINUITY;
    }
    for (unsigned i = 0; i < CUT_TRACKS; i++) {
        struct cut_track *t = &c->tracks[i];

        if (!c->begun && i > 0 && t->known) {
            t->there = true; /* announced: its frames will come */
        }
        if (c->broken) {
            t->last = time;
            t->next |= LIVE_CUT_ANEW; /* where its clock is */
        }
    }
    cut_before(c, f, time, flags);
    c->broken = c->lost = false;
    c->begun = true;
}

static void
end_segment(struct cutter *c, const struct cut_frame *f, int64_t time, bool key)
{
    struct cut_run *run = cut_run_of(c->page);
    int64_t length = time - c->segment_time;
    bool first = atomic_load(&run->target) == 0;
    uint32_t frames = c->frames;

    if (!key && c->stream->cut_rules.strict_keys) {
        give_up(c);
        return;
    }
    if (!key) {
        atomic_store(&run->loose, 1);
    }
    cut_before(c, f, time,
               LIVE_CUT_SEGMENT | (key ? LIVE_CUT_KEY : 0) |
                   (c->differs ? LIVE_CUT_DISCONTINUITY : 0));
    if (first) {
        c->frames = frames;
        get_ready(c, f, length);
        c->frames = 0;
    }
}

/* One frame that comes late, or is left out, changes little. */
static int64_t
deviation(int64_t delta, int64_t interval)
{
    int64_t most = interval / 8 + 1000, d = delta - interval;

    return d > most ? most : d < -most ? -most : d;
}

static void
measure(struct cutter *c, int64_t time, bool sound)
{
    int64_t delta = (time - c->led) * 1000;
    int64_t interval = interval_of(c);

    if (sound != c->sound_led) {
        interval = 0;
    } else if (c->frames > 0 && delta > 0 && delta < 5000000) {
        interval =
            interval == 0 ? delta : interval + deviation(delta, interval) / 16;
    }
    c->sound_led = sound;
    atomic_store_explicit(&c->page->interval, (uint32_t)interval,
                          memory_order_relaxed);
}

/* Behind a frame that led: notes where the media end if no other follows, and
 * whether memory still keeps what a list needs. */
static void
end_at(struct cutter *c, int64_t time)
{
    atomic_store_explicit(&c->page->end_time, time, memory_order_relaxed);
    if (atomic_load(&c->stream->head) > c->keep) {
        cut_hunger(c, false);
    }
}

static void
lead(struct cutter *c, const struct cut_frame *f, int64_t time, bool key)
{
    const struct cut_run *run;

    if (key) {
        cut_run_mend(c);
    }
    run = cut_run_of(c->page);
    if (atomic_load(&run->failed) != 0 || (!c->begun && !key)) {
        return;
    }
    time = time > c->last.time ? time : c->last.time;
    c->broken = !c->begun || c->lost;
    if (c->broken || (c->differs && key)) {
        cut_anew(c, f, time, key);
    } else if ((key && ends_at_key(c, f, time)) || is_too_long(c, run, time)) {
        end_segment(c, f, time, key);
    } else if (is_part(c, run, time, interval_of(c)) &&
               !is_stretched(c, run, time)) {
        cut_before(c, f, time, key ? LIVE_CUT_KEY : 0);
    }
    measure(c, time, f->frame->type == MEDIA_AUDIO);
    c->led = time;
    c->frames++;
    end_at(c, time + interval_of(c) / 1000);
}

/* ---- frames ---- */

/* Frames are missing in front of this one. */
static void
look_for_gap(struct cutter *c, const struct cut_frame *f, int64_t time)
{
    int64_t gap = time - c->clock;

    if (gap <= GAP_MS || gap * 1000 <= 4 * (int64_t)interval_of(c)) {
        return;
    }
    for (unsigned i = 0; i < CUT_TRACKS; i++) {
        c->tracks[i].last += gap; /* no track has ended meanwhile */
    }
    if (!c->lost) {
        atomic_store(&c->page->closed, f->number);
        c->lost = true;
    }
}

/* Tracks that have no frames any more while others go on. */
static void
look_for_ends(struct cutter *c)
{
    int64_t slow = 6 * (int64_t)interval_of(c) / 1000;
    int64_t most = slow > TRACK_ENDS_MS ? slow : TRACK_ENDS_MS;

    c->looked = c->clock;
    for (unsigned i = 0; i < CUT_TRACKS; i++) {
        struct cut_track *t = &c->tracks[i];

        if (t->there && c->clock - t->last > most) {
            t->there = false;
            c->differs |= t->in;
        }
    }
}

static void
join(struct cutter *c, struct cut_track *t)
{
    t->there = true;
    if (t->in || !c->begun) {
        return;
    }
    if (c->again && t->type == MEDIA_AUDIO) {
        cut_tracks_grow(c);
    } else {
        c->differs = true;
    }
}

static void
note_picture(struct cutter *c, struct cut_track *t, const struct cut_frame *f,
             int64_t time)
{
    bool key = (f->info.flags & MEDIA_KEY) != 0;

    if (!t->there && !key) {
        return;
    }
    if (!t->there) {
        join(c, t);
    }
    if (key) {
        cut_track_size(c, t, f);
    }
    lead(c, f, time, key);
    t->last = time;
    c->sound_before = c->sound;
}

/* Pictures pause: sound ends parts and segments, at the times of pictures. */
static void
lead_in_pause(struct cutter *c, const struct cut_track *t,
              const struct cut_frame *f, int64_t time)
{
    const struct cut_run *run = cut_run_of(c->page);
    int64_t interval = (time - t->last) * 1000;

    time = c->led + time - c->sound_before;
    if (is_too_long(c, run, time)) {
        end_segment(c, f, time, false);
    } else if (is_part(c, run, time, interval)) {
        cut_before(c, f, time, 0);
    }
    end_at(c, time);
}

static bool
is_pause(const struct cutter *c, int64_t time)
{
    int64_t silent = time - c->sound_before;

    return silent > PAUSE_MS && c->begun && c->sound_before != 0 &&
           silent * 1000 > 4 * (int64_t)interval_of(c) &&
           atomic_load(&cut_run_of(c->page)->failed) == 0;
}

/* Of a frame of sound, units of its track. */
static uint32_t
duration_of(const struct cut_track *t, const struct cut_frame *f)
{
    const uint8_t *p = (const uint8_t *)f->payload.ptr;

    return t->duration != 0
               ? t->duration
               : media_sound_duration(
                     &t->track, media_body(MEDIA_AUDIO, p, f->payload.len));
}

static void
step_sound(struct cutter *c, struct cut_track *t, const struct cut_frame *f,
           int64_t time)
{
    uint64_t at;

    if (t->timescale == 0 ||
        !live_cut_sound(&t->next, time, t->timescale, duration_of(t, f), &at)) {
        return;
    }
    t->heard = (int64_t)cut_rescale(t->next, t->timescale, 1000);
    if (t->heard >
        atomic_load_explicit(&c->page->heard, memory_order_relaxed)) {
        atomic_store_explicit(&c->page->heard, t->heard, memory_order_relaxed);
    }
}

/* Whether a stream can begin with this sound: none of pictures, or they do not
 * come. */
static bool
may_begin(struct cutter *c, const struct cut_frame *f, int64_t time)
{
    if (c->waits_since == 0) {
        c->waits_since = time;
    }
    return f->start || time - c->waits_since >= BEGIN_MS;
}

/* Its times will be set anew so far behind where they are that players have to
 * know (live_cut_sound()): a segment ends in front of it. */
static void
look_for_leap(struct cutter *c, const struct cut_track *t,
              const struct cut_frame *f, int64_t time)
{
    int64_t apart;

    if (time - t->heard < LEAP_MS || c->lost || !c->begun || !t->in ||
        t->timescale == 0 || (t->next & LIVE_CUT_ANEW) != 0) {
        return;
    }
    apart = time - (int64_t)(t->next * 1000 / t->timescale);
    if (apart > LEAP_MS && (uint64_t)apart * t->timescale / 1000 >
                               2 * (uint64_t)duration_of(t, f)) {
        atomic_store(&c->page->closed, f->number);
        c->lost = true;
    }
}

static void
note_sound(struct cutter *c, struct cut_track *t, const struct cut_frame *f,
           int64_t time)
{
    const struct cut_track *pictures = &c->tracks[0];

    if (!t->there) {
        join(c, t);
    }
    look_for_leap(c, t, f, time);
    if (time - c->sound > PAUSE_MS) {
        c->sound_before += time - c->sound; /* it paused itself */
    }
    c->sound = time;
    if (!f->leading) {
        /* Another one shows what time it is. */
    } else if (!pictures->there) {
        lead(c, f, time,
             c->begun ? !pictures->in || c->differs : may_begin(c, f, time));
    } else if (is_pause(c, time)) {
        lead_in_pause(c, t, f, time);
    }
    step_sound(c, t, f, time);
    t->last = time;
}

/* Takes in what the frame tells of its track.  False: it is a codec header, or
 * the track is not known, or not of that codec. */
static inline bool
meet_track(struct cutter *c, struct cut_track *t, const struct cut_frame *f)
{
    bool header = (f->info.flags & MEDIA_HEADER) != 0;

    if (header || !t->known || t->older || t->codec != f->info.codec) {
        cut_track_learn(c, t, f);
        return !header && t->known && t->codec == f->info.codec;
    }
    return true;
}

void
cut_note(struct cutter *c, const struct cut_frame *f)
{
    struct cut_track *t;
    int64_t time;

    if (c->stream == NULL || f->info.codec == CODEC_NONE ||
        (f->info.flags & (MEDIA_META | MEDIA_TRACK_META | MEDIA_END)) != 0 ||
        (t = cut_track_of(c, f)) == NULL || !meet_track(c, t, f) ||
        (c->page == NULL && !(f->start && cut_page_make(c)))) {
        return;
    }
    time = cut_time_of(c, f->frame);
    if (c->begun) {
        look_for_gap(c, f, time);
        if (c->clock - c->looked >= LOOK_MS) {
            look_for_ends(c);
        }
    }
    if (f->frame->type == MEDIA_VIDEO) {
        note_picture(c, t, f, time);
    } else {
        note_sound(c, t, f, time);
    }
    c->clock = time > c->clock ? time : c->clock;
}

void
cut_note_lost(struct cutter *c)
{
    if (c->page != NULL && !c->lost) {
        atomic_store(&c->page->closed, atomic_load(&c->stream->tail));
        c->lost = true;
    }
}

void
cut_note_clock(struct cutter *c)
{
    c->differs |= c->begun;
}

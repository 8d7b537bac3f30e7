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
/* With each picture, ms: sound may come to be usually later. */
#define LAG_STEP 4
/* A lasting lateness is none after some thousand frames. */
#define SKEW_FRAMES 1024
/* A stream begins with sound alone if no picture came for so much of it. */
#define BEGIN_MS 3000
/* A segment may be so much longer than the rounded target: less than half a
 * second, so that a frame that comes late has room. */
#define ROUNDING_MS 300

/* ---- lengths ---- */

static uint32_t
seconds(uint32_t ms)
{
    return (ms + 500) / 1000;
}

/* The first whole segment is there, as long as that: the run's lengths are
 * fixed.  Later key frames find room as long as they come after no more than
 * the longest group of pictures so far. */
static void
get_ready(struct cutter *c, const struct cut_frame *f, int64_t length)
{
    const struct live_cut_rules *rules = &c->stream->cut_rules;
    struct cut_run *run = cut_run_of(c->page);
    int64_t target = rules->segment + c->group;

    target = target < rules->max_segment ? target : rules->max_segment;
    target = target > length ? target : length;
    target = cut_ladder_target(c, f, (uint32_t)target);
    if (length > target &&
        seconds((uint32_t)length) > seconds((uint32_t)target)) {
        atomic_store(&run->first, c->last.number);
    }
    atomic_store_explicit(&run->target, (uint32_t)target, memory_order_release);
    c->again = false;
    cut_parts_quiet(c);
}

int64_t
cut_limit(const struct cutter *c)
{
    uint32_t target = atomic_load(&cut_run_of(c->page)->target);

    return target != 0
               ? (int64_t)seconds(target) * 1000 + ROUNDING_MS
               : c->stream->cut_rules.max_segment + c->interval / 2000 + 1;
}

static bool
is_too_long(const struct cutter *c, int64_t time)
{
    return (time - c->segment_time - cut_limit(c)) * 1000 + cut_widest(c) > 0;
}

static bool
is_long_enough(const struct cutter *c, int64_t time)
{
    return time - c->segment_time + c->interval / 2000 + 1 >=
           c->stream->cut_rules.segment;
}

static bool
ends_at_key(struct cutter *c, const struct cut_frame *f, int64_t time)
{
    bool long_enough = is_long_enough(c, time);

    return c->ladder.member ? cut_ladder_ends(c, f, long_enough) : long_enough;
}

/* ---- frames that lead ---- */

static void
give_up(struct cutter *c)
{
    struct cut_run *run = cut_run_of(c->page);

    if (atomic_load(&run->failed) == 0) {
        metric_add(&live_metrics[LIVE_CUTS_LOST], LIVE_CUTS_STRICT, 1);
        atomic_store(&run->failed, 1);
        c->parts.quiet = INT64_MIN;
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
    struct cut_spot here;

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
    for (unsigned i = 0; i < CUT_TRACKS; i++) {
        struct cut_track *t = &c->tracks[i];

        if (!c->begun && i > 0 && t->known) {
            t->there = true; /* announced: its frames will come */
        }
        if (c->broken) {
            t->seen = time;
            t->next |= LIVE_CUT_ANEW; /* where its clock is */
        }
    }
    cut_spot_take(&here, c, f, time);
    here.key = key;
    cut_at(c, f, &here,
           LIVE_CUT_SEGMENT |
               (c->last.number != 0 ? LIVE_CUT_DISCONTINUITY : 0));
    c->broken = c->lost = false;
    c->begun = true;
}

/* A segment begins without a key frame: no player can begin there. */
static void
note_loose(struct cutter *c, int64_t length)
{
    if (atomic_exchange(&cut_run_of(c->page)->loose, 1) == 0) {
        log_limited(LOG_WARN,
                    "stream %.*s: no key frame for %lld ms: segments begin "
                    "without one, and players wait for the next; key frames "
                    "should be at most max_segment (%u ms) apart",
                    STR_ARGS(stream_name(c->stream)), (long long)length,
                    c->stream->cut_rules.max_segment);
    }
}

/* The segment ends at that place in front of the frame f or one before it. */
static void
end_segment(struct cutter *c, const struct cut_frame *f,
            const struct cut_spot *spot)
{
    struct cut_run *run = cut_run_of(c->page);
    int64_t length = spot->time - c->segment_time;
    bool first = atomic_load(&run->target) == 0;

    if (!spot->key && c->stream->cut_rules.strict_keys) {
        give_up(c);
        return;
    }
    if (!spot->key) {
        note_loose(c, length);
    }
    if (first) {
        cut_parts_ready(c, length);
    }
    c->usual = length;
    cut_at(c, f, spot,
           LIVE_CUT_SEGMENT | (c->differs ? LIVE_CUT_DISCONTINUITY : 0));
    if (first) {
        get_ready(c, f, length);
    }
}

/* Whether the segment is longer than it may be already: a frame came later than
 * others.  Then it has to end in front of the one before. */
static bool
was_too_long(const struct cutter *c, int64_t time)
{
    const struct cut_led *led = &c->parts.led;

    return cut_limit(c) < time - c->segment_time && !c->differs &&
           led->frame > c->last.frame && led->time > c->last.time;
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
note_key(struct cutter *c, const struct cut_frame *f, int64_t time)
{
    int64_t group = time - c->key_time;

    if (f->frame->type == MEDIA_VIDEO) {
        c->group = c->key_time != 0 && group > c->group ? group : c->group;
        c->key_time = time;
    }
}

/* Ends what the frame ends. */
static void
cut_here(struct cutter *c, const struct cut_frame *f, int64_t time, bool key)
{
    struct cut_spot here;
    bool late = was_too_long(c, time);

    if (late) {
        cut_parts_spot(c, &here);
        end_segment(c, f, &here);
    }
    cut_spot_take(&here, c, f, time);
    here.key = key;
    if ((key && (late || ends_at_key(c, f, time))) || is_too_long(c, time)) {
        end_segment(c, f, &here);
    } else if (cut_parts_end(c, time, c->interval)) {
        cut_at(c, f, &here, 0);
    }
}

/* Nothing that leads is before what led; each picture is later than the one
 * before, as readers take it, too. */
static int64_t
never_back(const struct cutter *c, const struct cut_frame *f, int64_t time)
{
    bool sound = f->frame->type == MEDIA_AUDIO;
    int64_t least = c->last.time + (c->last.number != 0);

    if (c->begun && c->sound_led == sound && c->led >= least) {
        least = c->led + !sound;
    }
    return time > least ? time : least;
}

static void
lead(struct cutter *c, const struct cut_frame *f, int64_t time, bool key)
{
    bool quiet;

    if (key) {
        cut_run_mend(c);
    }
    time = never_back(c, f, time);
    quiet = c->begun && !c->lost && !key && time < c->parts.quiet;
    if (!quiet && (atomic_load(&cut_run_of(c->page)->failed) != 0 ||
                   (!c->begun && !key))) {
        return;
    }
    if (!quiet && c->begun && !c->lost &&
        !cut_parts_lead(c, f, time, key && !is_long_enough(c, time))) {
        atomic_store(&c->page->closed, f->number);
        c->lost = true;
    }
    if (key) {
        note_key(c, f, time);
    }
    c->broken = !c->begun || c->lost;
    if (c->broken || (c->differs && key)) {
        cut_anew(c, f, time, key);
    } else if (!quiet) {
        cut_here(c, f, time, key);
    }
    cut_parts_led(c, f, time, key);
    c->led = time;
    c->frames++;
    end_at(c, time + c->interval / 1000);
}

/* ---- frames ---- */

/* Frames are missing in front of this one. */
static void
look_for_gap(struct cutter *c, const struct cut_frame *f, int64_t time)
{
    int64_t gap = time - c->clock;

    if (gap <= GAP_MS || gap * 1000 <= 4 * (int64_t)c->interval) {
        return;
    }
    for (unsigned i = 0; i < CUT_TRACKS; i++) {
        c->tracks[i].seen += gap; /* no track has ended meanwhile */
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
    int64_t slow = 6 * c->interval / 1000;
    int64_t most = slow > TRACK_ENDS_MS ? slow : TRACK_ENDS_MS;

    c->looked = c->clock;
    for (unsigned i = 0; i < CUT_TRACKS; i++) {
        struct cut_track *t = &c->tracks[i];

        if (t->there && c->clock - t->seen - c->late > most) {
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

/* How far sound is when a picture comes.  It may come late, all at once: that
 * is no pause of pictures. */
static void
note_lag(struct cutter *c, int64_t time)
{
    int64_t lag = time - c->sound;

    if (c->sound != 0) {
        c->lag = c->sound_before == 0 || lag < c->lag ? lag : c->lag + LAG_STEP;
        c->sound_before = c->sound + (lag > c->lag ? lag - c->lag : 0);
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
    note_lag(c, time);
}

/* Pictures pause: sound ends parts and segments, at the times of pictures. */
static void
lead_in_pause(struct cutter *c, const struct cut_track *t,
              const struct cut_frame *f, int64_t time)
{
    int64_t interval = (time - t->last) * 1000;
    struct cut_spot here;

    time = c->led + time - c->sound_before;
    cut_parts_lead(c, f, time, false);
    cut_spot_take(&here, c, f, time);
    if (is_too_long(c, time)) {
        end_segment(c, f, &here);
    } else if (cut_parts_end(c, time, interval)) {
        cut_at(c, f, &here, 0);
    }
    c->parts.heard_count = 0;
    end_at(c, time + interval / 1000);
}

/* Whether no picture came for long, although sound is not late itself: what
 * comes at once behind a silence need not be in order. */
static bool
is_pause(const struct cutter *c, int64_t time)
{
    int64_t silent = time - c->sound_before - c->late;

    return silent > CUT_PAUSE_MS && c->begun && c->sound_before != 0 &&
           silent * 1000 > 4 * (int64_t)c->interval &&
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

    cut_parts_step(c, t);
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
    if (time - c->sound > CUT_PAUSE_MS) {
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
    } else if (c->begun && c->sound_before != 0 &&
               c->led + time - c->sound_before >= c->parts.quiet) {
        cut_parts_hear(c, f, c->led + time - c->sound_before);
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

/* How late a frame is.  Those that are not follow their publisher's clock,
 * which may be a little slower than ours. */
static void
note_lateness(struct cutter *c, int64_t arrived, int64_t time)
{
    int64_t skew = arrived - time;

    if (!c->begun || skew < c->skew) {
        c->skew = skew;
    }
    c->late = skew - c->skew;
    c->skew += c->late / SKEW_FRAMES;
}

void
cut_note_track(struct cutter *c, const struct cut_frame *f)
{
    struct cut_track *t = cut_track_of(c, f);
    int64_t time;

    if (t == NULL || !meet_track(c, t, f) ||
        (c->page == NULL && !(f->start && cut_page_make(c)))) {
        return;
    }
    time = cut_time_of(c, f->frame);
    note_lateness(c, f->frame->arrived_ms, time);
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
    t->seen = c->clock;
}

void
cut_note(struct cutter *c, const struct cut_frame *f)
{
    const uint8_t others = MEDIA_META | MEDIA_TRACK_META | MEDIA_END;

    if (c->stream == NULL || f->info.codec == CODEC_NONE ||
        (f->info.flags & others) != 0) {
        return;
    }
    if ((f->info.flags & MEDIA_MANY) != 0) {
        cut_note_pieces(c, f);
    } else {
        cut_note_track(c, f);
    }
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

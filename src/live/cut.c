/*
 * Noting cuts: what each frame changes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/cut.h"

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

/* ---- frames that lead ---- */

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

/* The frame leads, whatever it ended. */
static inline void
go_on(struct cutter *c, const struct cut_frame *f, int64_t time, bool key)
{
    cut_parts_led(c, f, time, key);
    c->led = time;
    c->frames++;
    end_at(c, time + c->interval / 1000);
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
    if (quiet || cut_ends(c, f, time, key)) {
        cut_parts_way(c, time, f->frame->type == MEDIA_AUDIO);
        go_on(c, f, time, key);
    }
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
    cut_lose(c, f->number);
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

/* It is time for a look, or a gap ends behind that. */
static void
look_around(struct cutter *c, const struct cut_frame *f, int64_t time)
{
    look_for_gap(c, f, time);
    if (c->clock - c->looked >= LOOK_MS) {
        look_for_ends(c);
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

/* Up to there sound is not where the part could end, and pictures do not
 * pause. */
static int64_t
calm(const struct cutter *c)
{
    int64_t sound = c->parts.quiet - c->led;

    return c->sound_before + (sound <= CUT_PAUSE_MS ? sound : CUT_PAUSE_MS + 1);
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
        c->calm = calm(c);
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
    if (!key && cut_parts_usual(c, time)) {
        go_on(c, f, time, false);
    } else {
        lead(c, f, time, key);
    }
    note_lag(c, time);
}

/* Pictures pause: sound leads, at the times of pictures. */
static void
lead_in_pause(struct cutter *c, const struct cut_track *t,
              const struct cut_frame *f, int64_t time)
{
    int64_t interval = (time - t->last) * 1000;

    time = c->led + time - c->sound_before;
    cut_ends_in_pause(c, f, time, interval);
    c->calm = INT64_MIN;
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
        cut_lose(c, f->number);
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
    } else if (time < c->calm) {
        /* Most sound: nothing ends. */
    } else if (is_pause(c, time)) {
        lead_in_pause(c, t, f, time);
    } else if (c->begun && c->sound_before != 0 &&
               c->led + time - c->sound_before >= c->parts.quiet) {
        cut_parts_hear(c, f, c->led + time - c->sound_before);
    }
    step_sound(c, t, f, time);
    t->last = time;
}

/* Takes in what the frame tells of its track.  NULL: it is a codec header, or
 * the track is not known, or not of that codec. */
static struct cut_track *
meet(struct cutter *c, const struct cut_frame *f)
{
    struct cut_track *t = cut_track_of(c, f);
    bool header = (f->info.flags & MEDIA_HEADER) != 0;

    if (t == NULL) {
        return NULL;
    }
    if (header || !t->known || t->older || t->codec != f->info.codec) {
        cut_track_learn(c, t, f);
    }
    t->met = t->known ? t->codec : CUT_UNMET;
    return !header && t->known && t->codec == f->info.codec ? t : NULL;
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

/* A frame of that track comes.  False: there is no room for its cuts. */
static inline bool
arrive(struct cutter *c, const struct cut_frame *f, int64_t *time)
{
    if (c->page == NULL && !(f->start && cut_page_make(c))) {
        return false;
    }
    *time = cut_time_of(c, f->frame);
    note_lateness(c, f->frame->arrived_ms, *time);
    if (c->begun &&
        (*time > c->clock ? *time : c->clock) - c->looked >= LOOK_MS) {
        look_around(c, f, *time);
    }
    return true;
}

static inline void
leave(struct cutter *c, struct cut_track *t, int64_t time)
{
    c->clock = time > c->clock ? time : c->clock;
    t->seen = c->clock;
}

static void
picture(struct cutter *c, struct cut_track *t, const struct cut_frame *f)
{
    int64_t time;

    if (arrive(c, f, &time)) {
        note_picture(c, t, f, time);
        leave(c, t, time);
    }
}

static void
sound(struct cutter *c, struct cut_track *t, const struct cut_frame *f)
{
    int64_t time;

    if (arrive(c, f, &time)) {
        note_sound(c, t, f, time);
        leave(c, t, time);
    }
}

void
cut_note_track(struct cutter *c, const struct cut_frame *f)
{
    struct cut_track *t = meet(c, f);

    if (t == NULL) {
        return;
    }
    if (t->type == MEDIA_VIDEO) {
        picture(c, t, f);
    } else {
        sound(c, t, f);
    }
}

static void
note_any(struct cutter *c, const struct cut_frame *f)
{
    const uint8_t others = MEDIA_META | MEDIA_TRACK_META | MEDIA_END;

    if (f->info.codec == CODEC_NONE || (f->info.flags & others) != 0) {
        return;
    }
    if ((f->info.flags & MEDIA_MANY) != 0) {
        cut_note_pieces(c, f);
    } else {
        cut_note_track(c, f);
    }
}

/* Whether it is one of that track as those before it. */
static inline bool
is_met(const struct cut_track *t, const struct cut_frame *f)
{
    const uint8_t others = MEDIA_KEPT | MEDIA_END | MEDIA_MANY;

    return t->met == f->info.codec && t->id == f->info.track &&
           (f->info.flags & others) == 0;
}

void
cut_note(struct cutter *c, const struct cut_frame *f)
{
    struct cut_track *pictures = &c->tracks[0], *first_sound = &c->tracks[1];

    if (c->stream == NULL) {
        return;
    }
    if (f->frame->type == MEDIA_VIDEO && f->leading && is_met(pictures, f)) {
        picture(c, pictures, f);
    } else if (f->frame->type == MEDIA_AUDIO && is_met(first_sound, f)) {
        sound(c, first_sound, f);
    } else {
        note_any(c, f);
    }
}

void
cut_note_lost(struct cutter *c)
{
    if (c->page != NULL) {
        cut_lose(c, atomic_load(&c->stream->tail));
    }
}

void
cut_note_clock(struct cutter *c)
{
    c->differs |= c->begun;
}

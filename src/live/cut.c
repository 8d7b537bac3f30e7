/*
 * Noting cuts: when parts and segments end.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/cut.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/rand.h"
#include "live/stream.h"

/* Media missing for so long make a discontinuity. */
#define GAP_MS 500
/* A track without frames for so long has ended. */
#define TRACK_ENDS_MS 2000
/* Sound leads when no picture came for so much of it. */
#define PAUSE_MS 500
/* What EXTINF may be above EXT-X-TARGETDURATION, rounded as they are. */
#define ROUNDING_MS 400
/* Wall time and time of the stream may differ by so much. */
#define WALL_MS 1000
#define EPOCH_MS INT64_C(1577836800000) /* 2020-01-01: segments' numbers */
/* A number further ahead was not one of ours. */
#define NUMBERS_AHEAD (UINT64_C(20) * 365 * 24 * 3600)

/* ---- runs ---- */

static struct cut_run *
run_of(struct cut_page *page)
{
    return &page->runs[atomic_load(&page->run_count) % 2];
}

static void
begin_run(struct cut_page *page)
{
    uint32_t count = atomic_load(&page->run_count) + 1;
    struct cut_run *run = &page->runs[count % 2];
    uint64_t word = 0;

    while (word == 0) {
        rand_bytes(&word, sizeof(word));
    }
    memset(run, 0, sizeof(*run));
    run->word = word;
    atomic_store(&run->first, atomic_load(&page->next));
    atomic_store(&page->run_count, count);
}

/* ---- a session begins ---- */

static bool
make_page(struct cutter *c)
{
    struct stream *s = c->stream;
    uint32_t segment = segment_take(stream_number(s));
    struct cut_page *page;

    if (segment == SEGMENT_NONE) {
        return false;
    }
    page = (struct cut_page *)(void *)segment_bytes(segment);
    memset(page, 0, sizeof(*page));
    atomic_store(&page->next, 1);
    begin_run(page);
    c->page = page;
    c->again = true;
    atomic_store(&s->cuts, segment);
    return true;
}

/* Goes on behind the last cut. */
static void
go_on(struct cutter *c, bool over)
{
    struct cut_page *page = c->page;
    uint64_t next = atomic_load(&page->next);

    if (next > 1) {
        c->last = page->cuts[(next - 1) % LIVE_CUT_RING];
    }
    atomic_store(&page->closed, atomic_load(&c->stream->tail));
    if (over || atomic_load(&run_of(page)->failed) != 0) {
        begin_run(page);
    }
    c->again = atomic_load(&run_of(page)->target) == 0;
    c->clock = atomic_load(&page->end_time);
    c->keep_cut = next > LIVE_CUT_RING ? next - LIVE_CUT_RING + 1 : 1;
}

void
cut_start(struct cutter *c, struct stream *s)
{
    bool over = atomic_load(&s->hold_until) <= clock_ms();

    memset(c, 0, sizeof(*c));
    c->keep = FRAME_NONE;
    if (s->cut_rules.segment == 0) {
        return;
    }
    c->stream = s;
    cut_tracks_start(c);
    c->page = cut_page_of(s);
    if (c->page != NULL) {
        go_on(c, over);
    } else {
        make_page(c);
    }
    /* From now on only the end of this session's hold counts. */
    atomic_store(&s->hold_until, INT64_MAX);
}

/* ---- time ---- */

static int64_t
time_of(struct cutter *c, uint32_t timestamp)
{
    struct cut_page *page = c->page;
    uint32_t low;

    if (atomic_load_explicit(&page->timed, memory_order_relaxed) == 0) {
        atomic_store(&page->offset, CUT_BEGIN_MS - timestamp);
        atomic_store(&page->timed, 1);
        c->clock = CUT_BEGIN_MS;
    }
    low = timestamp + atomic_load_explicit(&page->offset, memory_order_relaxed);
    return c->clock + (int32_t)(low - (uint32_t)c->clock);
}

/* ---- what is kept ---- */

/* Frames of the last targets, and what stands before a stream is ready. */
static void
keep_targets(struct cutter *c)
{
    struct cut_page *page = c->page;
    int64_t target = atomic_load(&run_of(page)->target);
    int64_t oldest;

    if (target == 0) {
        target = c->stream->cut_rules.max_segment;
    }
    oldest = c->last.time - LIVE_CUT_TARGETS * target;
    if (c->keep_cut + LIVE_CUT_RING <= c->last.number) {
        c->keep_cut = c->last.number - LIVE_CUT_RING + 1;
    }
    for (uint64_t n = c->keep_cut; n <= c->last.number; n++) {
        const struct live_cut *cut = &page->cuts[n % LIVE_CUT_RING];

        if (cut->time > oldest && c->keep != FRAME_NONE) {
            break;
        }
        if ((cut->flags & LIVE_CUT_SEGMENT) != 0) {
            c->keep_cut = n;
            c->keep = cut->frame;
        }
    }
}

uint64_t
cut_kept(const struct cutter *c)
{
    return c->keep;
}

/* ---- noting a cut ---- */

/* The number of a stream's first segment: nothing that had its name before, on
 * this node or another, had it. */
static uint64_t
first_segment(void)
{
    uint64_t now = (uint64_t)(clock_wall_ms() - EPOCH_MS) / 1000;
    uint64_t most = atomic_load(&arena.head->cut_segments);

    return most >= now && most - now < NUMBERS_AHEAD ? most + 1 : now;
}

static void
number_it(struct cutter *c, struct live_cut *cut)
{
    uint64_t most = atomic_load(&arena.head->cut_segments);

    cut->number = atomic_load(&c->page->next);
    if ((cut->flags & LIVE_CUT_SEGMENT) == 0) {
        cut->segment = c->last.segment;
        cut->part = c->last.part + 1;
        return;
    }
    cut->segment = c->last.number != 0 ? c->last.segment + 1 : first_segment();
    cut->part = 0;
    while (cut->segment > most &&
           !atomic_compare_exchange_weak(&arena.head->cut_segments, &most,
                                         cut->segment)) {
    }
}

static void
place_in_time(struct cutter *c, struct live_cut *cut)
{
    int64_t wall = clock_wall_ms();
    int64_t told = c->wall + cut->time - c->wall_time;
    bool apart = (cut->flags & LIVE_CUT_DISCONTINUITY) != 0 || c->wall == 0 ||
                 told - wall > WALL_MS || wall - told > WALL_MS;

    if ((cut->flags & LIVE_CUT_SEGMENT) != 0 && apart) {
        c->wall = wall;
        c->wall_time = cut->time;
        told = wall;
    }
    cut->wall_ms = told;
}

static void
set_sounds(const struct cutter *c, struct live_cut *cut)
{
    for (unsigned i = 1; i < CUT_TRACKS; i++) {
        const struct cut_track *t = &c->tracks[i];

        if (t->in && t->place < LIVE_CUT_SOUNDS) {
            cut->sound[t->place] = t->next;
        }
    }
}

static void
cut_before(struct cutter *c, const struct cut_frame *f, int64_t time,
           uint32_t flags)
{
    struct cut_page *page = c->page;
    uint64_t closed = atomic_load(&page->closed);
    int64_t end = atomic_load(&page->end_time);
    struct live_cut cut = {
        .frame = f->number,
        .discontinuity = c->last.discontinuity,
        .header = c->last.header,
        .flags = flags,
        .time = time,
        .ended = time,
        .ended_frame = f->number,
        .bytes = atomic_load(&c->stream->bytes) - f->frame->payload_len,
    };

    if (c->last.number != 0 && (flags & LIVE_CUT_DISCONTINUITY) != 0) {
        cut.discontinuity++;
        cut.ended = end < time ? end : time;
        if (closed > c->last.frame && closed < f->number) {
            cut.ended_frame = closed;
        }
    }
    if ((flags & LIVE_CUT_SEGMENT) != 0) {
        cut.header = c->differs || !c->begun || c->last.number == 0
                         ? cut_tracks_set(c)
                         : c->last.header;
        c->segment_time = time;
        c->frames = 0;
    }
    number_it(c, &cut);
    place_in_time(c, &cut);
    set_sounds(c, &cut);
    page->cuts[cut.number % LIVE_CUT_RING] = cut;
    atomic_store_explicit(&page->next, cut.number + 1, memory_order_release);
    c->last = cut;
    if ((flags & LIVE_CUT_SEGMENT) != 0) {
        keep_targets(c);
    }
    wake_cut_readers(c->stream);
}

/* ---- lengths ---- */

static uint32_t
seconds(uint32_t ms)
{
    return (ms + 500) / 1000;
}

/* The first whole segment is there, as long as that: the run's lengths are
 * fixed. */
static void
get_ready(struct cutter *c, int64_t length)
{
    const struct live_cut_rules *rules = &c->stream->cut_rules;
    struct cut_run *run = run_of(c->page);
    uint64_t interval =
        (uint64_t)length * 1000 / (c->frames > 0 ? c->frames : 1);
    uint64_t count, aim;

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
    atomic_store_explicit(&run->target,
                          length > rules->segment ? (uint32_t)length
                                                  : rules->segment,
                          memory_order_release);
    c->again = false;
}

/* Of the frame that comes next, microseconds. */
static uint32_t
interval_of(const struct cutter *c)
{
    return atomic_load_explicit(&c->page->interval, memory_order_relaxed);
}

static bool
is_too_long(const struct cutter *c, int64_t time)
{
    uint32_t target = atomic_load(&run_of(c->page)->target);
    int64_t interval = interval_of(c);
    int64_t limit =
        target != 0 ? (int64_t)seconds(target) * 1000 + ROUNDING_MS
                    : c->stream->cut_rules.max_segment + interval / 2000 + 1;

    return (time - c->segment_time) * 1000 + interval > limit * 1000;
}

static bool
is_long_enough(const struct cutter *c, int64_t time)
{
    return time - c->segment_time + interval_of(c) / 2000 + 1 >=
           c->stream->cut_rules.segment;
}

static bool
is_part(const struct cutter *c, int64_t time)
{
    uint32_t aim =
        atomic_load_explicit(&run_of(c->page)->aim, memory_order_relaxed);

    return aim != 0 &&
           (time - c->last.time) * 1000 + interval_of(c) > (int64_t)aim * 1000;
}

/* ---- frames that lead ---- */

static void
give_up(struct cutter *c)
{
    struct cut_run *run = run_of(c->page);

    if (atomic_load(&run->failed) == 0) {
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

    if (c->again) {
        /* Nothing was offered yet. */
        atomic_store(&run_of(c->page)->first, atomic_load(&c->page->next));
    }
    if (c->last.number != 0) {
        flags |= LIVE_CUT_DISCONTINUITY;
    }
    for (unsigned i = 0; i < CUT_TRACKS && !c->begun; i++) {
        struct cut_track *t = &c->tracks[i];

        if (t->known && !t->there) { /* announced: its frames will come */
            t->there = true;
            t->last = time;
        }
    }
    cut_before(c, f, time, flags);
    c->begun = true;
    c->lost = false;
}

static void
end_segment(struct cutter *c, const struct cut_frame *f, int64_t time, bool key)
{
    struct cut_run *run = run_of(c->page);
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
        get_ready(c, length);
        c->frames = 0;
    }
}

static bool
is_gap(const struct cutter *c, int64_t time)
{
    int64_t gap = time - c->clock;

    return c->lost ||
           (gap > GAP_MS && gap * 1000 > 4 * (int64_t)interval_of(c));
}

static void
measure(struct cutter *c, int64_t time, bool sound)
{
    int64_t delta = (time - c->led) * 1000;
    int64_t interval = interval_of(c);

    if (sound != c->sound_led) {
        interval = 0;
    } else if (c->frames > 0 && delta > 0 && delta < 5000000) {
        interval = interval == 0 ? delta : interval + (delta - interval) / 16;
    }
    c->sound_led = sound;
    atomic_store_explicit(&c->page->interval, (uint32_t)interval,
                          memory_order_relaxed);
}

static void
lead(struct cutter *c, const struct cut_frame *f, int64_t time, bool key)
{
    bool failed = atomic_load(&run_of(c->page)->failed) != 0;

    if (failed || (!c->begun && !(key && f->start))) {
        return;
    }
    time = time > c->last.time ? time : c->last.time;
    if (!c->begun || is_gap(c, time) || (c->differs && key)) {
        cut_anew(c, f, time, key);
    } else if ((key && is_long_enough(c, time)) || is_too_long(c, time)) {
        end_segment(c, f, time, key);
    } else if (is_part(c, time)) {
        cut_before(c, f, time, key ? LIVE_CUT_KEY : 0);
    }
    measure(c, time, f->frame->type == MEDIA_AUDIO);
    c->led = time;
    c->frames++;
    atomic_store_explicit(&c->page->end_time, time + interval_of(c) / 1000,
                          memory_order_relaxed);
}

/* ---- frames ---- */

/* Tracks that have no frames any more. */
static void
look_for_ends(struct cutter *c, int64_t time)
{
    int64_t most = TRACK_ENDS_MS;

    for (unsigned i = 0; i < CUT_TRACKS; i++) {
        struct cut_track *t = &c->tracks[i];

        if (t->there && time - t->last > most) {
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
    lead(c, f, time, key);
    t->last = time;
    c->sound_before = c->sound;
}

static void
note_sound(struct cutter *c, struct cut_track *t, const struct cut_frame *f,
           int64_t time)
{
    bool pictures = c->tracks[0].there;

    if (!t->there) {
        join(c, t);
    }
    c->sound = time;
    if (!pictures && f->leading) {
        lead(c, f, time, !c->tracks[0].in || c->differs);
    } else if (f->leading && c->begun && time - c->sound_before > PAUSE_MS) {
        /* pictures pause */
    }
    cut_track_sound(t, f, time);
    t->last = time;
}

void
cut_note(struct cutter *c, const struct cut_frame *f)
{
    struct cut_track *t;
    int64_t time;

    if (c->stream == NULL || f->frame->type == MEDIA_DATA ||
        (f->info.flags & (MEDIA_META | MEDIA_TRACK_META | MEDIA_END)) != 0 ||
        (t = cut_track_of(c, f)) == NULL) {
        return;
    }
    cut_track_learn(c, t, f);
    if ((f->info.flags & MEDIA_HEADER) != 0 || !t->known ||
        (c->page == NULL && !(f->start && make_page(c)))) {
        return;
    }
    time = time_of(c, f->frame->timestamp);
    if (c->begun) {
        look_for_ends(c, time);
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

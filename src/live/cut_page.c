/*
 * The cut page: made, gone on with, and written to.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/cut.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/rand.h"
#include "live/metrics.h"
#include "live/stream.h"

/* The wall time that is told of cuts goes with the time of the stream,
 * whichever process notes them: players take a jump in it for media that are
 * missing.  It may differ from the clock by WALL_MS; beyond, each part brings
 * it nearer by a WALL_STEP-th of its length.  Beyond WALL_LOST_MS, which only a
 * clock that was set explains, it jumps. */
#define WALL_MS 1000
#define WALL_STEP 20
#define WALL_LOST_MS 60000
#define EPOCH_MS INT64_C(1577836800000) /* 2020-01-01: segments' numbers */
/* A number further ahead was not one of ours. */
#define NUMBERS_AHEAD (UINT64_C(20) * 365 * 24 * 3600)

/* So long no part is, nor its sound, ms. */
#define BEHIND_MS (INT64_C(24) * 3600 * 1000)
/* So many cuts no stream ever has. */
#define CUTS_MOST (UINT64_C(1) << 62)

/* ---- runs ---- */

/* The number of the next cut; 1 where no stream has come to what stands
 * there. */
static uint64_t
next_number(const struct cut_page *page)
{
    uint64_t next = atomic_load(&page->next);

    return next > 0 && next < CUTS_MOST ? next : 1;
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
    atomic_store(&run->first, next_number(page));
    atomic_store(&page->run_count, count);
}

/* Whether a list can be made of it.  Strict rules alone make one fail. */
static bool
is_run(const struct cutter *c)
{
    struct cut_run *run = cut_run_of(c->page);
    const struct cut_run *older = &c->page->runs[run == c->page->runs];
    uint32_t target = atomic_load(&run->target);

    return run->word != 0 &&
           atomic_load(&older->first) <= atomic_load(&run->first) &&
           atomic_load(&run->first) <= next_number(c->page) &&
           target <= 2 * LIVE_CUT_TARGET_MAX &&
           (target == 0) == (atomic_load(&run->part_target) == 0) &&
           (atomic_load(&run->failed) == 0 || c->stream->cut_rules.strict_keys);
}

void
cut_run_mend(struct cutter *c)
{
    if (is_run(c)) {
        return;
    }
    log_limited(LOG_ERROR,
                "stream %.*s: its cuts were damaged, they begin anew",
                STR_ARGS(stream_name(c->stream)));
    begin_run(c->page);
    begin_run(c->page); /* the one before is not believed either */
    c->again = c->lost = true;
}

/* ---- a session begins ---- */

bool
cut_page_make(struct cutter *c)
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

/* ---- what is kept ---- */

/* How long nothing was published before a cut, which another process may have
 * spoilt. */
static int64_t
hole(const struct live_cut *cut)
{
    return (cut->flags & LIVE_CUT_DISCONTINUITY) != 0 &&
                   cut_is_time(cut->time) && cut_is_time(cut->ended)
               ? cut->time - cut->ended
               : 0;
}

/* Frames of the last targets, and what stands before a stream is ready.  The
 * time that a publisher was away does not count. */
static void
keep_targets(struct cutter *c)
{
    struct cut_page *page = c->page;
    int64_t target = atomic_load(&cut_run_of(page)->target);
    int64_t oldest;

    if (target == 0) {
        target = c->stream->cut_rules.max_segment;
    }
    oldest = c->last.time - LIVE_CUT_TARGETS * target;
    if (c->keep_cut + LIVE_CUT_RING <= c->last.number) {
        c->keep_cut = c->last.number - LIVE_CUT_RING + 1;
    }
    for (uint64_t n = c->keep_cut; n <= c->torn; n++) {
        oldest -= hole(&page->cuts[n % LIVE_CUT_RING]);
    }
    for (uint64_t n = c->keep_cut; n <= c->last.number; n++) {
        const struct live_cut *cut = &page->cuts[n % LIVE_CUT_RING];

        oldest += n <= c->torn ? hole(cut) : 0;
        if (cut->time > oldest && c->keep != FRAME_NONE) {
            break;
        }
        if ((cut->flags & LIVE_CUT_SEGMENT) != 0) {
            c->keep_cut = n;
            c->keep = cut->frame;
        }
    }
}

/* A time at or behind the last cut, which another process may have spoilt. */
static int64_t
time_of(const struct cutter *c, const _Atomic int64_t *at)
{
    int64_t time = atomic_load(at);

    return cut_is_time(time) && time >= c->last.time &&
                   time - c->last.time < BEHIND_MS
               ? time
               : c->last.time;
}

/* Goes on behind the last cut; where that is spoilt, as a stream whose hold was
 * over. */
static void
go_on(struct cutter *c, bool over)
{
    struct cut_page *page = c->page;
    uint64_t next = next_number(page);

    if (next != atomic_load(&page->next) ||
        (next > 1 && !cut_copy(page, next - 1, &c->last))) {
        c->last = (struct live_cut){ .number = 0 };
        atomic_store(&page->next, next);
        over = true;
    }
    atomic_store(&page->closed, atomic_load(&c->stream->tail));
    if (!is_run(c)) {
        begin_run(page);
        over = true;
    }
    if (over || atomic_load(&cut_run_of(page)->failed) != 0) {
        begin_run(page);
    }
    c->again = atomic_load(&cut_run_of(page)->target) == 0;
    for (unsigned i = 1; i < CUT_TRACKS; i++) {
        c->tracks[i].heard = time_of(c, &page->heard);
    }
    cut_tracks_expect(c);
    c->clock = time_of(c, &page->end_time);
    c->keep_cut = next > LIVE_CUT_RING ? next - LIVE_CUT_RING + 1 : 1;
    c->torn = c->last.number;
    if (c->last.number != 0) {
        keep_targets(c);
    }
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
    cut_ladder_start(c);
    c->page = cut_page_of(s);
    if (c->page != NULL) {
        go_on(c, over);
    } else {
        cut_page_make(c);
    }
    /* From now on only the end of this session's hold counts. */
    atomic_store(&s->hold_until, INT64_MAX);
}

/* ---- what memory keeps ---- */

/* Of the segments to keep, what memory keeps, ms. */
static int64_t
kept_ms(struct cutter *c)
{
    uint64_t head = atomic_load(&c->stream->head);
    uint64_t n = c->keep_cut;

    if (c->keep >= head) {
        return INT64_MAX;
    }
    while (n <= c->last.number &&
           (c->page->cuts[n % LIVE_CUT_RING].frame < head ||
            (c->page->cuts[n % LIVE_CUT_RING].flags & LIVE_CUT_SEGMENT) == 0)) {
        n++;
    }
    return n > c->last.number ? 0
                              : atomic_load(&c->page->end_time) -
                                    c->page->cuts[n % LIVE_CUT_RING].time;
}

void
cut_hunger(struct cutter *c, bool segment)
{
    struct cut_run *run = cut_run_of(c->page);
    int64_t target = atomic_load(&run->target);
    bool starved = atomic_load(&run->starved) != 0;
    int64_t kept = target != 0 ? kept_ms(c) : INT64_MAX;

    if (!starved && kept < LIVE_CUT_LEAST * target) {
        atomic_store(&run->starved, 1);
        metric_add(&live_metrics[LIVE_CUTS_LOST], LIVE_CUTS_MEMORY, 1);
        log_limited(LOG_WARN,
                    "stream %.*s: live.max_stream_memory keeps less than %d "
                    "segments: it is not offered until there are %d",
                    STR_ARGS(stream_name(c->stream)), LIVE_CUT_LEAST,
                    LIVE_CUT_AGAIN);
    } else if (starved && segment && kept >= LIVE_CUT_AGAIN * target) {
        atomic_store(&run->starved, 0);
    }
}

uint64_t
cut_kept(const struct cutter *c)
{
    return c->keep;
}

/* ---- noting a cut ---- */

uint64_t
cut_seconds(void)
{
    return (uint64_t)(clock_wall_ms() - EPOCH_MS) / 1000;
}

/* The number of a stream's first segment: nothing that had its name before, on
 * this node or another, had it. */
static uint64_t
first_segment(void)
{
    uint64_t now = cut_seconds();
    uint64_t most = atomic_load(&arena.head->cut_segments);

    return most >= now && most - now < NUMBERS_AHEAD ? most + 1 : now;
}

static void
number_it(struct cutter *c, const struct cut_frame *f, struct live_cut *cut)
{
    uint64_t most = atomic_load(&arena.head->cut_segments);

    cut->number = next_number(c->page);
    if ((cut->flags & LIVE_CUT_SEGMENT) == 0) {
        cut->segment = c->last.segment;
        cut->part = c->last.part + 1;
        return;
    }
    cut->segment = c->last.number != 0 ? c->last.segment + 1 : first_segment();
    if (cut->number == atomic_load(&cut_run_of(c->page)->first)) {
        cut->segment = cut_ladder_number(c, f, cut->segment);
    }
    cut->part = 0;
    while (cut->segment > most &&
           !atomic_compare_exchange_weak(&arena.head->cut_segments, &most,
                                         cut->segment)) {
    }
}

/* How far the wall time behind a part is moved that lies so far behind the
 * clock. */
static int64_t
wall_step(int64_t behind, int64_t length)
{
    int64_t step = length / WALL_STEP;

    if (behind > -WALL_MS && behind < WALL_MS) {
        return 0;
    }
    if (behind < -WALL_LOST_MS || behind > WALL_LOST_MS) {
        return behind;
    }
    return behind > 0 ? step : -step;
}

/* The same of a member of a ladder, which lies behind its leader. */
static int64_t
ladder_step(const struct cutter *c, int64_t behind)
{
    int64_t step = c->stream->cut_rules.segment / WALL_STEP;

    return behind > step ? step : behind < -step ? -step : behind;
}

static void
place_in_time(struct cutter *c, const struct cut_frame *f, struct live_cut *cut)
{
    int64_t wall = clock_wall_ms();
    int64_t length = cut->time - c->last.time;
    int64_t told = c->last.wall_ms + length;
    bool shared = c->ladder.member && cut_ladder_wall(c, f, cut, &wall);

    if (c->last.number == 0 || (cut->flags & LIVE_CUT_DISCONTINUITY) != 0) {
        cut->wall_ms = wall;
    } else if (shared) {
        cut->wall_ms = told + ladder_step(c, wall - told);
    } else {
        cut->wall_ms = told + wall_step(wall - told, length);
    }
}

void
cut_spot_take(struct cut_spot *spot, const struct cutter *c,
              const struct cut_frame *f, int64_t time)
{
    *spot = (struct cut_spot){
        .frame = f->number,
        .time = time,
        .arrived_ms = f->frame->arrived_ms,
        .bytes = cut_bytes_before(c, f),
    };
    for (unsigned i = 1; i < CUT_TRACKS; i++) {
        const struct cut_track *t = &c->tracks[i];

        if (t->in && t->place < LIVE_CUT_SOUNDS) {
            spot->sound[t->place] = cut_next_of(t);
        }
    }
}

/* Where the part before the cut ended. */
static void
set_end(const struct cutter *c, struct live_cut *cut)
{
    uint64_t closed = atomic_load(&c->page->closed);
    int64_t end = atomic_load(&c->page->end_time);

    if (c->broken || cut_parts_over(c, cut->time)) {
        end = end > c->last.time ? end : c->last.time + 1;
        cut->ended = end < cut->time ? end : cut->time;
    }
    if (closed > c->last.frame && closed < cut->frame) {
        cut->ended_frame = closed;
    }
}

/* The headers that a segment has. */
static uint32_t
header_of(struct cutter *c)
{
    if (c->differs || !c->begun || c->last.number == 0) {
        return cut_tracks_set(c);
    }
    cut_tracks_mend(c);
    return c->last.header;
}

static void
publish(struct cutter *c, const struct live_cut *cut)
{
    struct cut_page *page = c->page;

    page->cuts[cut->number % LIVE_CUT_RING] = *cut;
    atomic_store_explicit(&page->next, cut->number + 1, memory_order_release);
    c->last = *cut;
    if ((cut->flags & LIVE_CUT_DISCONTINUITY) != 0) {
        c->torn = cut->number;
    }
    if ((cut->flags & LIVE_CUT_SEGMENT) != 0) {
        keep_targets(c);
        cut_hunger(c, true);
    }
    wake_cut_readers(c->stream);
}

void
cut_at(struct cutter *c, const struct cut_frame *f, const struct cut_spot *spot,
       uint32_t flags)
{
    const uint64_t *sound = spot->sound;
    struct cut_spot now;
    bool dark = cut_parts_dark(c, spot);
    struct live_cut cut = {
        .frame = spot->frame,
        .discontinuity = c->last.discontinuity,
        .header = c->last.header,
        .time = spot->time,
        .ended = spot->time,
        .ended_frame = spot->frame,
        .bytes = spot->bytes,
    };

    if (c->last.number != 0 && (flags & LIVE_CUT_DISCONTINUITY) != 0) {
        cut.discontinuity++;
        set_end(c, &cut);
    }
    if ((flags & LIVE_CUT_SEGMENT) != 0) {
        cut.header = header_of(c);
        cut_parts_segment(c, spot->time);
        c->segment_time = spot->time;
        c->frames = 0;
        atomic_store(&c->page->segment_ms, spot->arrived_ms);
        if (spot->frame == f->number) {
            cut_spot_take(&now, c, f, spot->time); /* by the new headers */
            sound = now.sound;
        }
    }
    memcpy(cut.sound, sound, sizeof(cut.sound));
    cut.flags = flags | (spot->key ? LIVE_CUT_KEY : 0) |
                (c->parts.plain ? LIVE_CUT_PLAIN : 0) |
                (dark ? LIVE_CUT_DARK : 0) | (spot->heard ? LIVE_CUT_HEARD : 0);
    number_it(c, f, &cut);
    place_in_time(c, f, &cut);
    publish(c, &cut);
    cut_parts_quiet(c);
    c->parts.usual = 0;
}

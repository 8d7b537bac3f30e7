/*
 * Noting cuts: when segments end, and what ends in front of a frame that leads.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/cut.h"

#include "base/log.h"
#include "live/metrics.h"
#include "live/stream.h"

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

/* ---- ends ---- */

static void
give_up(struct cutter *c)
{
    struct cut_run *run = cut_run_of(c->page);

    if (atomic_load(&run->failed) == 0) {
        metric_add(&live_metrics[LIVE_CUTS_LOST], LIVE_CUTS_STRICT, 1);
        atomic_store(&run->failed, 1);
        c->parts.quiet = -CUT_TIME_MAX;
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

bool
cut_ends(struct cutter *c, const struct cut_frame *f, int64_t time, bool key)
{
    bool anew = c->differs && key;

    if (atomic_load(&cut_run_of(c->page)->failed) != 0 || (!c->begun && !key)) {
        return false;
    }
    if (c->begun && !c->lost &&
        (anew ? cut_parts_over(c, time)
              : !cut_parts_lead(c, f, time, key && !is_long_enough(c, time)))) {
        cut_lose(c, f->number);
    }
    if (key) {
        note_key(c, f, time);
    }
    c->broken = !c->begun || c->lost;
    if (c->broken || anew) {
        cut_anew(c, f, time, key);
    } else {
        cut_here(c, f, time, key);
    }
    return true;
}

void
cut_ends_in_pause(struct cutter *c, const struct cut_frame *f, int64_t time,
                  int64_t interval)
{
    struct cut_spot here;

    cut_parts_lead(c, f, time, false);
    cut_spot_take(&here, c, f, time);
    if (is_too_long(c, time)) {
        end_segment(c, f, &here);
    } else if (cut_parts_end(c, time, interval)) {
        cut_at(c, f, &here, 0);
    }
}

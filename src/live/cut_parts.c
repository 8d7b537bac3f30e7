/*

 * Noting parts: when they end, however a publisher's frames come.
 *
 * A part is 85 to 100 % of the part target, but for the last of a segment (RFC
 * 8216bis, 4.4.4.9), and nothing that was told of it is taken back.  So a part
 * ends early enough for the longest way to the next frame that was seen lately,
 * and the target leaves room for it.  When a frame comes even later, the part
 * ends where it should have: in front of the last frame, or of sound that came
 * meanwhile.
 *
 * Where frames are so far apart that no parts can be made of them, segments
 * have none.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/cut.h"

#include "base/log.h"
#include "live/metrics.h"
#include "live/stream.h"

/* A part has at least so much of its target, in hundredths. */
#define PART_LEAST 85
/* The last part of a segment is not shorter, where those before it can be
 * longer: hls.js takes a segment for whole that lacks less than 200 ms at its
 * end, and then asks for no part until it has nothing left to play. */
#define LAST_PART_MS 150
/* The part target may be so much of `part`, in hundredths, to leave room for
 * ways that differ. */
#define PART_MOST 150
/* Ways that differ by less are all the same, microseconds and a share of them:
 * timestamps are rounded. */
#define ROUNDED_US 2000
#define ROUNDED_SHARE 8
/* So many parts that are too short, or ways that are too wide, in a segment are
 * no accident. */
#define ACCIDENTS 2
/* A way is wide when this share of it, in hundredths, is more than what parts
 * may differ by. */
#define WIDE 80
/* A way that is longer than frames ever are apart is none. */
#define WAY_MAX_US 5000000

/* ---- ways ---- */

uint32_t
cut_widest(const struct cutter *c)
{
    const struct cut_parts *p = &c->parts;
    uint32_t widest = p->widest > p->before ? p->widest : p->before;

    return widest > c->interval ? widest : c->interval;
}

static int64_t
target_us(const struct cutter *c)
{
    return (int64_t)atomic_load_explicit(&cut_run_of(c->page)->part_target,
                                         memory_order_relaxed) *
           1000;
}

/* Whether parts can hardly keep to such a way. */
static bool
is_wide(const struct cutter *c, uint32_t way)
{
    return (int64_t)way * WIDE > target_us(c) * (100 - PART_LEAST);
}

/* Whether all ways but one are as long as the usual one. */
static bool
is_steady(uint32_t second, uint64_t interval)
{
    return second <= interval + interval / ROUNDED_SHARE + ROUNDED_US;
}

/* The shortest target, microseconds, to which frames so far apart keep. */
static uint64_t
target_for(uint64_t way)
{
    return (way * 100 + 100 - PART_LEAST - 1) / (100 - PART_LEAST);
}

/* The way is a pause of pictures. */
static bool
is_pause(const struct cutter *c, int64_t way)
{
    return way > CUT_PAUSE_MS * 1000 && c->interval != 0 &&
           way > 4 * (int64_t)c->interval;
}

/* From one frame to the next in the segment that ends at that time, but for
 * pauses, microseconds. */
static int64_t
usual_way(const struct cutter *c, int64_t end)
{
    int64_t length = (end - c->segment_time) * 1000 - c->parts.paused;
    int64_t rest = (end - c->led) * 1000;

    length -= is_pause(c, rest) ? rest : 0;
    return length > 0 ? length / (c->frames > 0 ? c->frames : 1) : 0;
}

void
cut_parts_ready(struct cutter *c, int64_t length)
{
    const uint64_t part = (uint64_t)c->stream->cut_rules.part * 1000;
    struct cut_parts *p = &c->parts;
    struct cut_run *run = cut_run_of(c->page);
    uint64_t interval = (uint64_t)usual_way(c, c->segment_time + length);
    bool steady;
    uint64_t way, count, target, aim;

    interval = interval > 0 ? interval : 1000;
    steady = is_steady(p->second, interval);
    way = steady ? interval : p->second;
    count = (part + 1000) / interval;
    count = count > 0 ? count : 1;
    if (target_for(way) > count * interval &&
        target_for(way) <= part * PART_MOST / 100) {
        count = (target_for(way) + interval - 1) / interval;
    }
    target = steady ? count * interval : count * interval + way - interval;
    target = target <= part * PART_MOST / 100 ? target : count * interval;
    /* One frame less than a part may have, where that is little: so the last
     * part of a segment can have one more. */
    aim = steady && count >= 8 ? target - interval : target;
    c->interval = (uint32_t)interval;
    atomic_store(&run->aim, (uint32_t)((aim + 999) / 1000) + 1);
    atomic_store(&run->part_target, (uint32_t)((target + 999) / 1000) + 1);
    p->wide = is_wide(c, p->second) ? ACCIDENTS : 0;
}

/* ---- segments without parts ---- */

static bool
are_too_far_apart(const struct cutter *c, int64_t way)
{
    const struct cut_parts *p = &c->parts;
    uint32_t accidents = p->plain ? p->wide : p->pieces;

    if (target_us(c) == 0) {
        return true; /* nothing is known of its frames yet */
    }
    if (c->frames == 0) {
        return p->plain;
    }
    return way * 100 > (target_us(c) + 1000) * (100 - PART_LEAST) ||
           accidents >= ACCIDENTS;
}

static void
tell(const struct cutter *c, int64_t way, bool plain)
{
    if (plain) {
        log_limited(LOG_WARN,
                    "stream %.*s: frames are %lld ms apart, too far for parts "
                    "of %lld ms: its segments have none",
                    STR_ARGS(stream_name(c->stream)), (long long)(way / 1000),
                    (long long)(target_us(c) / 1000));
    } else {
        log_limited(LOG_INFO, "stream %.*s: its segments have parts again",
                    STR_ARGS(stream_name(c->stream)));
    }
}

void
cut_parts_segment(struct cutter *c, int64_t time)
{
    struct cut_parts *p = &c->parts;
    int64_t way = usual_way(c, time);
    bool plain = are_too_far_apart(c, way), ready = target_us(c) != 0;

    if (ready && c->frames > 0 && plain != (p->plain && !c->again)) {
        tell(c, way, plain);
    }
    if (plain && ready) {
        metric_add(&live_metrics[LIVE_PLAIN_SEGMENTS], 0, 1);
    }
    *p = (struct cut_parts){ .plain = plain,
                             .before = p->widest,
                             .pictures = p->pictures,
                             .led.count = p->led.count };
}

bool
cut_parts_dark(struct cutter *c, const struct cut_spot *spot)
{
    struct cut_parts *p = &c->parts;
    uint32_t behind = p->pictures > 0 && p->led.frame >= spot->frame;
    bool dark = p->pictures == behind;

    p->pictures = behind;
    return dark;
}

/* ---- ends ---- */

static bool
has_parts(const struct cutter *c)
{
    return !c->parts.plain && target_us(c) != 0;
}

static bool
is_over(const struct cutter *c, int64_t time)
{
    return (time - c->last.time) * 1000 > target_us(c);
}

bool
cut_parts_over(const struct cutter *c, int64_t time)
{
    return has_parts(c) && is_over(c, time);
}

static bool
is_short(const struct cutter *c, int64_t time)
{
    return (time - c->last.time) * 1000 * 100 < target_us(c) * PART_LEAST;
}

/* The part gets a frame more than aimed at: otherwise the last one of its
 * segment would have few, and those in between cannot take them all.  Segments
 * are mostly as long as the one before was. */
static bool
is_stretched(const struct cutter *c, int64_t time)
{
    int64_t interval = c->interval;
    int64_t aim = (int64_t)atomic_load(&cut_run_of(c->page)->aim) * 1000;
    int64_t most = target_us(c) + interval - cut_widest(c);
    int64_t end = c->segment_time + c->usual;
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

bool
cut_parts_end(const struct cutter *c, int64_t time, int64_t interval)
{
    int64_t aim = (int64_t)atomic_load_explicit(&cut_run_of(c->page)->aim,
                                                memory_order_relaxed) *
                  1000;
    int64_t length = (time - c->last.time) * 1000;
    int64_t way = cut_widest(c);

    if (aim == 0 || is_short(c, time)) {
        return false;
    }
    way = way > interval ? way : interval;
    return length + way > target_us(c) ||
           (length + interval > aim && !is_stretched(c, time));
}

/* The part that should have ended ends at a place behind its beginning.  False:
 * that is none. */
static bool
end_at(struct cutter *c, const struct cut_frame *f, const struct cut_spot *spot)
{
    if (spot->frame <= c->last.frame || spot->time <= c->last.time ||
        is_over(c, spot->time)) {
        return false;
    }
    cut_at(c, f, spot, 0);
    return true;
}

bool
cut_parts_lead(struct cutter *c, const struct cut_frame *f, int64_t time,
               bool key)
{
    struct cut_parts *p = &c->parts;
    struct cut_spot led;
    bool small;

    if (!cut_parts_over(c, time)) {
        return true;
    }
    cut_parts_spot(c, &led);
    small = is_short(c, led.time);
    /* Players want pictures to begin where a part does. */
    if (!small || (time - led.time) * 1000 <= target_us(c)) {
        p->pieces += end_at(c, f, &led) && small;
    }
    for (uint32_t i = 0; i < p->heard_count && is_over(c, time); i++) {
        p->heard[i].heard = f->frame->type == MEDIA_VIDEO;
        p->heard[i].key = key && i + 1 == p->heard_count;
        end_at(c, f, &p->heard[i]);
    }
    return !is_over(c, time);
}

/* ---- what comes ---- */

void
cut_parts_spot(const struct cutter *c, struct cut_spot *spot)
{
    const struct cut_led *led = &c->parts.led;

    *spot = (struct cut_spot){
        .frame = led->frame,
        .time = led->time,
        .arrived_ms = led->arrived_ms,
        .bytes = led->bytes,
        .key = led->key,
    };
    for (unsigned i = 1; i < CUT_TRACKS; i++) {
        const struct cut_track *t = &c->tracks[i];

        if (t->in && t->place < LIVE_CUT_SOUNDS) {
            spot->sound[t->place] =
                t->then == led->count ? t->next_then : cut_next_of(t);
        }
    }
}

void
cut_parts_quiet(struct cutter *c)
{
    int64_t segment = c->segment_time + cut_limit(c) - cut_widest(c) / 1000 - 2;
    int64_t part = c->last.time + target_us(c) * PART_LEAST / 100000 - 1;

    c->parts.wide_from = (uint32_t)(target_us(c) * (100 - PART_LEAST) / WIDE);
    c->parts.quiet = target_us(c) != 0 && part < segment ? part : segment;
}

static void
note_way(struct cutter *c, int64_t way)
{
    struct cut_parts *p = &c->parts;

    c->interval =
        c->interval == 0 ? (uint32_t)way : cut_smoothed(c->interval, way);
    if (way > p->widest) {
        p->second = p->widest;
        p->widest = (uint32_t)way;
        cut_parts_quiet(c);
    } else if (way > p->second) {
        p->second = (uint32_t)way;
    }
    p->wide += way > p->wide_from;
}

/* Up to which way pictures are as they were before. */
static uint32_t
usual(const struct cutter *c)
{
    const struct cut_parts *p = &c->parts;
    uint32_t most = p->second < p->wide_from ? p->second : p->wide_from;

    if (!c->begun || c->lost || c->sound_led || c->interval == 0) {
        return 0;
    }
    return most < CUT_PAUSE_MS * 1000 ? most : CUT_PAUSE_MS * 1000;
}

void
cut_parts_way(struct cutter *c, int64_t time, bool sound)
{
    int64_t way = (time - c->led) * 1000;

    if (sound != c->sound_led) {
        c->interval = 0;
    } else if (c->frames > 0 && way > 0 && way < WAY_MAX_US) {
        note_way(c, way);
    }
    if (is_pause(c, way)) {
        int64_t within = (time - c->segment_time) * 1000;

        c->parts.paused += way < within ? way : within;
    }
    c->sound_led = sound;
    c->parts.usual = usual(c);
}

void
cut_parts_hear(struct cutter *c, const struct cut_frame *f, int64_t time)
{
    struct cut_parts *p = &c->parts;
    uint32_t n = p->heard_count;
    bool at_led = p->led.frame > c->last.frame && !is_short(c, p->led.time);
    int64_t from = n > 0    ? p->heard[n - 1].time
                   : at_led ? p->led.time
                            : c->last.time;

    if (n == CUT_HEARD || !has_parts(c) || time <= c->led ||
        (time - from) * 100000 < target_us(c) * PART_LEAST ||
        (time - from) * 1000 > target_us(c)) {
        return;
    }
    cut_spot_take(&p->heard[p->heard_count++], c, f, time);
}

/*
 * The time of a stream: joining clocks, and mending those that jump back.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/timeline.h"

#include "base/log.h"
#include "live/metrics.h"
#include "live/stream.h"

/* A timestamp is far from those before it when it lies further back than this,
 * or further ahead than that beyond the time that went by. */
#define BACK_MS 1000
#define FAR_MS 500
/* So many in a row that go on from each other are where the clock is now. */
#define STRAYS_MOST 3
/* A clock that jumped ahead by less is followed: media are missing. */
#define AHEAD_MS 10000
/* The clocks of sound and pictures that are further apart have nothing to do
 * with each other. */
#define APART_MS 10000
/* Shifts of both that differ by less come from one jump. */
#define SAME_JUMP_MS 500
/* A way of so many bits is taken for one: of a negative difference, or a
 * clock without extended timestamps. */
#define WAY_24_BITS (INT32_C(1) << 24)

/* Of the arrays of two. */
static unsigned
kind_of(const struct frame *f)
{
    return f->type == MEDIA_VIDEO ? 1 : 0;
}

/* On the circle of 32 bits. */
static bool
is_later(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) > 0;
}

/* The latest time the stream has reached, of sound or picture. */
static uint32_t
latest(struct stream *s)
{
    uint32_t timed = atomic_load(&s->timed);
    uint32_t sound = atomic_load(&s->last_times[0]);
    uint32_t picture = atomic_load(&s->last_times[1]);

    if (timed == (TRACK_AUDIO | TRACK_VIDEO)) {
        return is_later(sound, picture) ? sound : picture;
    }
    return timed == TRACK_AUDIO ? sound : picture;
}

void
timeline_start(struct timeline *t, struct stream *s)
{
    *t = (struct timeline){ .later = atomic_load(&s->timed) != 0 };
}

/* This frame comes as much later than the stream's last sound or picture as it
 * arrived later; data have the time of those.  Earlier times of the clock do
 * not count any more. */
static void
join_clock(struct timeline *t, struct stream *s, const struct frame *f,
           uint32_t timestamp)
{
    int64_t gap = f->arrived_ms - atomic_load(&s->timed_ms);

    gap = gap < 1 ? 1 : gap;
    t->offset = latest(s) + (uint32_t)gap - timestamp;
    for (unsigned i = 0; i < 2; i++) {
        t->kinds[i] = (struct timeline_kind){
            .behind = (atomic_load(&s->timed) & 1u << i) != 0,
        };
    }
}

/* No frame before its kind's last one, as long as a new clock is behind: until
 * the leading track has caught up. */
static uint32_t
never_back(struct timeline_kind *k, uint32_t last, uint32_t time, bool tells)
{
    bool behind = k->behind && !is_later(time, last);

    k->behind = tells ? behind : k->behind;
    return behind ? last + 1 : time;
}

/* Data are placed by the clock of pictures, or of sound where there are none,
 * but not before this publisher's first frame (metadata often say 0). */
static uint32_t
place_data(const struct timeline *t, struct stream *s, uint32_t timestamp)
{
    uint32_t time = timestamp + t->offset + t->kinds[t->kinds[1].known].shift;

    return t->later && (!t->joined || is_later(t->first, time)) ? latest(s)
                                                                : time;
}

/* ---- timestamps far from those before ---- */

/* The time that went by since the last frame of its kind: by the clock, or by
 * the other kind's, for a publisher may send faster than it plays. */
static int64_t
since_last(const struct timeline *t, const struct frame *f)
{
    const struct timeline_kind *k = &t->kinds[kind_of(f)];
    const struct timeline_kind *other = &t->kinds[1 - kind_of(f)];
    int64_t elapsed = f->arrived_ms - k->arrived_ms;
    int32_t played = other->known ? (int32_t)(other->last - k->other) : 0;

    elapsed = elapsed > played ? elapsed : played;
    return elapsed > 0 ? elapsed : 0;
}

/* A way from one timestamp to the next that nothing explains: not the time that
 * went by, nor that all frames are so far apart, as the second one may be. */
static bool
is_far(const struct timeline *t, const struct frame *f, int32_t way)
{
    const struct timeline_kind *k = &t->kinds[kind_of(f)];
    int64_t steps = k->way == 0 ? AHEAD_MS : 4 * (int64_t)k->way;

    return way < -BACK_MS ||
           way > (steps > FAR_MS ? steps : FAR_MS) + since_last(t, f);
}

/* From the frame before to one of which the timestamp does not tell it. */
static uint32_t
guessed_way(const struct timeline *t, const struct frame *f)
{
    const struct timeline_kind *k = &t->kinds[kind_of(f)];
    int64_t elapsed = since_last(t, f);

    if (elapsed > FAR_MS || k->way == 0) {
        return elapsed > 0 ? (uint32_t)elapsed : 1;
    }
    return k->way;
}

static bool
is_same_jump(uint32_t a, uint32_t b)
{
    int32_t apart = (int32_t)(a - b);

    return apart > -SAME_JUMP_MS && apart < SAME_JUMP_MS;
}

/* The clock is another one: the frame comes that way behind the last of its
 * kind.  Where the other kind was moved by as much, or this one was before, by
 * exactly as much.  False: it is the same clock, of which a piece is missing.
 */
static bool
set_anew(struct timeline *t, const struct frame *f, uint32_t timestamp,
         uint32_t way)
{
    struct timeline_kind *k = &t->kinds[kind_of(f)];
    const struct timeline_kind *other = &t->kinds[1 - kind_of(f)];
    int32_t jump = (int32_t)(timestamp + t->offset + k->shift - k->last);
    uint32_t shift = k->last + way - timestamp - t->offset;

    if (is_same_jump(shift, 0)) {
        shift = 0;
    } else if (other->known && is_same_jump(shift, other->shift)) {
        shift = other->shift;
    } else if (jump >= 0 && jump <= AHEAD_MS) {
        return false;
    }
    k->shift = shift;
    k->behind = true;
    t->anew = true;
    return true;
}

static void
tell_jump(const struct stream *s, const struct frame *f, int32_t way)
{
    metric_add(&live_metrics[LIVE_CLOCK_MENDED], 0, 1);
    log_limited(
        LOG_INFO, "stream %.*s: publisher's clock of %s went %s %u ms, mended",
        STR_ARGS(stream_name(s)), f->type == MEDIA_VIDEO ? "pictures" : "sound",
        way < 0 ? "back" : "ahead", way < 0 ? -(uint32_t)way : (uint32_t)way);
}

/* The difference of two timestamps was taken for one without a sign, or their
 * upper bits are missing. */
static bool
is_way_of_24_bits(int32_t way, uint32_t *shift)
{
    int64_t ahead = (int64_t)way - WAY_24_BITS;
    int64_t back = (int64_t)way + WAY_24_BITS;

    if (ahead > -BACK_MS && ahead < BACK_MS) {
        *shift -= WAY_24_BITS;
        return true;
    }
    if (back > -BACK_MS && back < BACK_MS) {
        *shift += WAY_24_BITS;
        return true;
    }
    return false;
}

/* A frame far from those before: its time.  One alone is placed by its
 * neighbours; when several in a row go on from each other, that is where the
 * clock is now. */
static uint32_t
place_far(struct timeline *t, struct stream *s, const struct frame *f,
          uint32_t timestamp)
{
    struct timeline_kind *k = &t->kinds[kind_of(f)];
    int32_t on = (int32_t)(timestamp - k->stray);
    bool follows =
        k->strays > 0 && on >= -BACK_MS && on <= AHEAD_MS + since_last(t, f);
    uint32_t way = follows && on > 0 ? (uint32_t)on : guessed_way(t, f);
    int32_t jump = (int32_t)(timestamp + t->offset + k->shift - k->last);

    k->strays = follows ? k->strays + 1 : 1;
    k->stray = timestamp;
    if (is_way_of_24_bits(jump, &k->shift)) {
        tell_jump(s, f, jump);
        k->behind = true;
        k->strays = 0;
    } else if (k->strays < STRAYS_MOST) {
        return k->last + way;
    } else {
        k->strays = 0;
        k->way = way;
        if (set_anew(t, f, timestamp, way)) {
            tell_jump(s, f, jump);
        }
    }
    return timestamp + t->offset + k->shift;
}

/* The first frame of its kind.  When it is nowhere near the other one, or near
 * a codec header that came, it begins where that is. */
static void
join_other(struct timeline *t, struct stream *s, const struct frame *f,
           uint32_t timestamp)
{
    struct timeline_kind *k = &t->kinds[kind_of(f)];
    const struct timeline_kind *other = &t->kinds[1 - kind_of(f)];
    bool came = (atomic_load(&s->timed) & 1u << kind_of(f)) != 0;
    uint32_t last = atomic_load(&s->last_times[kind_of(f)]);
    int32_t apart;

    k->shift = other->shift;
    apart = (int32_t)(timestamp + t->offset + k->shift - other->last);
    if (other->known && (apart < -APART_MS || apart > APART_MS)) {
        tell_jump(s, f, apart);
        k->shift -= (uint32_t)apart;
        k->last = other->last;
        return;
    }
    apart = (int32_t)(timestamp + t->offset + k->shift - last);
    if (came && apart < -APART_MS) {
        k->shift -= (uint32_t)apart;
    }
    k->last = timestamp + t->offset + k->shift;
}

static void
note_leading(struct timeline *t, const struct frame *f, uint32_t time)
{
    struct timeline_kind *k = &t->kinds[kind_of(f)];
    struct timeline_kind *other = &t->kinds[1 - kind_of(f)];

    if (is_later(time, k->last)) {
        k->way = k->known ? time - k->last : 0;
        k->last = time;
    }
    if (!k->known) {
        k->known = true;
        other->other = k->last;
    }
    k->arrived_ms = f->arrived_ms;
    k->other = other->last;
}

/* A frame that is no codec header, of the track that leads its kind. */
static uint32_t
place_leading(struct timeline *t, struct stream *s, const struct frame *f,
              uint32_t timestamp)
{
    struct timeline_kind *k = &t->kinds[kind_of(f)];
    uint32_t time = timestamp + t->offset + k->shift;

    if (!k->known) {
        join_other(t, s, f, timestamp);
        time = timestamp + t->offset + k->shift;
    } else if (is_far(t, f, (int32_t)(time - k->last))) {
        time = place_far(t, s, f, timestamp);
    } else {
        k->strays = 0;
    }
    note_leading(t, f, time);
    return time;
}

/* Codec headers and ends of a sequence, which many encoders send with time 0,
 * and frames of other tracks tell no time. */
static uint32_t
place_following(const struct timeline *t, struct stream *s,
                const struct frame *f, uint32_t timestamp)
{
    uint32_t last = atomic_load(&s->last_times[kind_of(f)]);
    bool came = (atomic_load(&s->timed) & 1u << kind_of(f)) != 0;
    const struct timeline_kind *k = &t->kinds[kind_of(f)];
    uint32_t time = timestamp + t->offset + k->shift;
    int32_t ahead = (int32_t)(time - k->last);
    bool header = (f->flags & (MEDIA_KEPT | MEDIA_END)) != 0;

    if (k->known && (header ? ahead > FAR_MS || ahead < -BACK_MS
                            : ahead > APART_MS || ahead < -APART_MS)) {
        return k->behind ? last : k->last;
    }
    if (!k->known && came && (int32_t)(time - last) < -BACK_MS) {
        return last;
    }
    return time;
}

/* The time of sound or pictures by the clock of their publisher, which the
 * first of them joins to the stream. */
static uint32_t
place_by_clock(struct timeline *t, struct stream *s, const struct frame *f,
               uint32_t timestamp, bool tells)
{
    uint32_t time;

    if (!t->joined && t->later) {
        join_clock(t, s, f, timestamp);
    }
    time = tells ? place_leading(t, s, f, timestamp)
                 : place_following(t, s, f, timestamp);
    if (!t->joined) {
        t->joined = true;
        t->first = time;
    }
    return time;
}

/* Headers, and the first frame of their kind, may all be at one time: that is
 * not back. */
static uint32_t
keep_order(struct timeline_kind *k, uint32_t last, uint32_t time, bool tells,
           bool first)
{
    bool at_header = k->headed && time == k->header;

    if (at_header && first) {
        k->behind = false;
    }
    return at_header && !tells ? time : never_back(k, last, time, tells);
}

uint32_t
timeline_place(struct timeline *t, struct stream *s, const struct frame *f,
               uint32_t timestamp, bool leading)
{
    struct timeline_kind *k = &t->kinds[kind_of(f)];
    uint32_t last = atomic_load(&s->last_times[kind_of(f)]);
    bool tells = leading && (f->flags & (MEDIA_KEPT | MEDIA_END)) == 0;
    bool first = tells && !k->known;
    uint32_t time;

    if (f->type == MEDIA_DATA) {
        return place_data(t, s, timestamp);
    }
    time = place_by_clock(t, s, f, timestamp, tells);
    time = keep_order(k, last, time, tells, first);
    if (!tells && leading && !k->known) {
        k->headed = true;
        k->header = time;
    }
    return time;
}

void
timeline_note(struct stream *s, const struct frame *f)
{
    unsigned kind = kind_of(f);
    uint32_t timed = atomic_load_explicit(&s->timed, memory_order_relaxed);
    uint32_t last =
        atomic_load_explicit(&s->last_times[kind], memory_order_relaxed);

    if (f->type == MEDIA_DATA) {
        return;
    }
    if ((timed & 1u << kind) == 0 || is_later(f->timestamp, last)) {
        atomic_store_explicit(&s->last_times[kind], f->timestamp,
                              memory_order_relaxed);
    }
    atomic_store_explicit(&s->timed, timed | 1u << kind, memory_order_relaxed);
    atomic_store_explicit(&s->timed_ms, f->arrived_ms, memory_order_relaxed);
}
